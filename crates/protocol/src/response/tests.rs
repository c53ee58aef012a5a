//! Tests of writing and reading responses.

use super::*;
use crate::ber::{ENUMERATED, OCTET_STRING, SEQUENCE, put_integer, put_nested, put_octets};
use crate::{OwnedControl, put_partial_attribute};

/// A result, encoded element by element.
fn plainly(id: i32, kind: ResultKind, code: u16) -> Vec<u8> {
    let mut out = Vec::new();
    put_nested(&mut out, SEQUENCE, |out| {
        put_integer(out, 2, i64::from(id));
        put_nested(out, kind.tag(), |out| {
            put_integer(out, ENUMERATED, i64::from(code));
            put_octets(out, OCTET_STRING, b"");
            put_octets(out, OCTET_STRING, b"");
        });
    });
    out
}

#[test]
fn the_fast_path_writes_what_the_slow_one_does() {
    for id in [
        0,
        1,
        127,
        128,
        255,
        256,
        32_767,
        32_768,
        8_388_607,
        8_388_608,
        i32::MAX,
    ] {
        for code in [0, 32, 127, 128, 255, 4096] {
            let mut out = vec![0x55];
            let result = LdapResult::new(ResultCode(code), "");
            write_result(&mut out, id, ResultKind::SearchDone, &result, &[]);
            assert_eq!(
                out[1..],
                plainly(id, ResultKind::SearchDone, code),
                "{id} {code}"
            );
            let code = u8::try_from(code).unwrap_or(255);
            assert_eq!(
                peek_response(&out[1..]),
                Some((id, tag::SEARCH_DONE, Some(code)))
            );
        }
    }
}

#[test]
fn a_plain_success_is_14_bytes() {
    let mut out = Vec::new();
    write_result(&mut out, 1, ResultKind::Bind, &LdapResult::success(), &[]);
    assert_eq!(
        out,
        b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00"
    );
}

#[test]
fn results_survive() {
    let result = LdapResult {
        code: ResultCode::REFERRAL,
        matched: "dc=example".into(),
        diagnostic: "ask there".into(),
        referrals: vec!["ldap://a/".into(), "ldap://b/".into()],
    };
    let controls = [OwnedControl::with_value(
        crate::oid::POST_READ,
        false,
        |out| out.push(1),
    )];
    for request in [0x60, 0x63, 0x66, 0x68, 0x4A, 0x6C, 0x6E, 0x77] {
        let kind = ResultKind::of(request).unwrap();
        let mut out = Vec::new();
        write_result(&mut out, 77, kind, &result, &controls);
        let message = ResponseMessage::decode(&out).unwrap();
        assert_eq!((message.id, message.response.result()), (77, Some(&result)));
        assert_eq!(message.controls, [controls[0].as_control()]);
    }
    for request in [0x42, 0x50, 0x30] {
        assert_eq!(ResultKind::of(request), None);
    }
}

#[test]
fn the_other_responses() {
    let ok = LdapResult::success();
    let mut out = Vec::new();
    write_bind_result(&mut out, 1, &ok, Some(b"challenge"), &[]);
    let server_credentials = Some(&b"challenge"[..]);
    let expected = Response::Bind {
        result: ok.clone(),
        server_credentials,
    };
    assert_eq!(ResponseMessage::decode(&out).unwrap().response, expected);
    out.clear();
    write_extended_result(&mut out, 1, &ok, Some("1.2"), Some(b"v"), &[]);
    let expected = Response::Extended {
        result: ok,
        name: Some("1.2"),
        value: Some(b"v"),
    };
    assert_eq!(ResponseMessage::decode(&out).unwrap().response, expected);
    out.clear();
    write_intermediate(&mut out, 1, Some("1.2"), None, &[]);
    let expected = Response::Intermediate {
        name: Some("1.2"),
        value: None,
    };
    assert_eq!(ResponseMessage::decode(&out).unwrap().response, expected);
    assert_eq!(peek_response(&out), Some((1, tag::INTERMEDIATE, None)));
    out.clear();
    write_search_reference(&mut out, 1, &["ldap://a/", "ldap://b/"], &[]);
    let expected = Response::SearchReference(vec!["ldap://a/", "ldap://b/"]);
    assert_eq!(ResponseMessage::decode(&out).unwrap().response, expected);
    out.clear();
    let gone = LdapResult::new(ResultCode::UNAVAILABLE, "shutting down");
    write_notice_of_disconnection(&mut out, &gone);
    let name = Some("1.3.6.1.4.1.1466.20036");
    let expected = Response::Extended {
        result: gone,
        name,
        value: None,
    };
    let message = ResponseMessage::decode(&out).unwrap();
    assert_eq!((message.id, message.response), (0, expected));
}

/// An entry, encoded element by element.
fn entry_plainly(id: i32, name: &[u8], attributes: &[u8], controls: &[OwnedControl]) -> Vec<u8> {
    let mut out = vec![0x55];
    put_nested(&mut out, SEQUENCE, |out| {
        put_integer(out, 2, i64::from(id));
        put_nested(out, tag::SEARCH_ENTRY, |out| {
            put_octets(out, OCTET_STRING, name);
            put_octets(out, SEQUENCE, attributes);
        });
        crate::control::put_controls(out, controls);
    });
    out
}

#[test]
fn entries_have_minimal_lengths_at_every_size() {
    let controls = [OwnedControl::new("1.2.3", false)];
    let sizes = (0..300).chain([65_400, 65_500, 65_530, 65_535, 65_536, 70_000, 17_000_000]);
    for size in sizes {
        let attributes = vec![0x5A; size];
        for (id, name) in [
            (1, &b""[..]),
            (i32::MAX, &[b'n'; 120]),
            (300, &[b'n'; 66_000]),
        ] {
            for controls in [&[][..], &controls] {
                if size > 70_000 && id > 1 {
                    continue;
                }
                let mut out = vec![0x55];
                let mark = begin_search_entry(&mut out, id, name);
                assert_eq!(mark.start(), 1);
                out.extend_from_slice(&attributes);
                finish_search_entry(&mut out, mark, controls);
                let expected = entry_plainly(id, name, &attributes, controls);
                assert!(out == expected, "{size} {} {}", name.len(), controls.len());
            }
        }
    }
}

#[test]
fn entries_survive() {
    let mut out = Vec::new();
    let mark = begin_search_entry(&mut out, 9, b"cn=ada");
    put_partial_attribute(&mut out, "cn", [&b"ada"[..]].into_iter());
    put_partial_attribute(&mut out, "sn", std::iter::empty());
    finish_search_entry(&mut out, mark, &[]);
    let message = ResponseMessage::decode(&out).unwrap();
    let Response::SearchEntry { name, attributes } = message.response else {
        panic!("no entry")
    };
    assert_eq!((message.id, name, attributes.len()), (9, "cn=ada", 2));
    assert_eq!(attributes[0].values.iter().collect::<Vec<_>>(), [b"ada"]);
    assert!(attributes[1].values.is_empty());
    assert_eq!(peek_response(&out), Some((9, tag::SEARCH_ENTRY, None)));
}

#[test]
fn codes_are_spelled_as_in_the_rfcs() {
    assert_eq!(
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS.to_string(),
        "insufficientAccessRights (50)"
    );
    assert_eq!(ResultCode::INVALID_DN_SYNTAX.name(), "invalidDNSyntax");
    assert_eq!(ResultCode(9).name(), "unknown");
    assert_eq!(
        u16::from(ResultCode::from(68)),
        ResultCode::ENTRY_ALREADY_EXISTS.0
    );
    assert!(ResultCode::ALL.is_sorted());
    let mut names: Vec<_> = ResultCode::ALL.iter().map(|code| code.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ResultCode::ALL.len());
    assert!(ResultCode::COMPARE_FALSE.is_success() && !ResultCode::BUSY.is_success());
}
