//! Tests of requests: bytes as other implementations send them, and malformed requests, which must
//! be refused.

use super::*;
use crate::ber::{OCTET_STRING, SEQUENCE, put_integer, put_nested, put_octets};
use crate::{Component, DecodeError, DecodeLimits, Message, OwnedControl, decode_header, oid};

fn decode(bytes: &[u8]) -> Result<Message<'_>, DecodeError> {
    Message::decode(bytes, &DecodeLimits::default())
}

/// A message with id 1 whose operation has this content.
fn operation(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_nested(&mut out, SEQUENCE, |out| {
        put_integer(out, 2, 1);
        put_octets(out, tag, content);
    });
    out
}

/// Decodes these bytes to this, and encodes this to these bytes.
#[track_caller]
fn check(bytes: &[u8], id: MessageId, request: Request<'_>) {
    let message = decode(bytes).unwrap();
    assert_eq!((message.id, &message.request), (id, &request));
    assert_eq!(message.controls, []);
    let mut out = Vec::new();
    write_request(&mut out, id, &request, &[]);
    assert_eq!(out, bytes);
    assert_eq!(decode_header(bytes), Some((id, request.tag())));
}

fn search<'a>(base: &'a str, filter: Filter<'a>, attributes: Vec<&'a str>) -> SearchRequest<'a> {
    SearchRequest {
        attributes,
        ..SearchRequest::new(base, Scope::WholeSubtree, filter)
    }
}

#[test]
fn bind_and_unbind() {
    let anonymous = BindRequest {
        version: 3,
        name: "",
        authentication: Authentication::Simple(b""),
    };
    check(
        b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00",
        1,
        Request::Bind(anonymous),
    );
    let authentication = Authentication::Sasl {
        mechanism: "EXTERNAL",
        credentials: Some(b""),
    };
    let external = BindRequest {
        version: 3,
        name: "",
        authentication,
    };
    let bytes = b"\x30\x18\x02\x01\x02\x60\x13\x02\x01\x03\x04\x00\xa3\x0c\x04\x08EXTERNAL\x04\x00";
    check(bytes, 2, Request::Bind(external));
    check(b"\x30\x05\x02\x01\x03\x42\x00", 3, Request::Unbind);
    assert_eq!(
        decode(&operation(tag::UNBIND, &[0])),
        Err(DecodeError::NotEmpty)
    );
}

#[test]
fn an_unknown_authentication_choice_is_for_the_server_to_refuse() {
    let bytes = operation(tag::BIND, b"\x02\x01\x03\x04\x00\x8a\x03abc");
    let Request::Bind(bind) = decode(&bytes).unwrap().request else {
        panic!("not a bind")
    };
    assert_eq!(bind.authentication, Authentication::Unknown(0x8A));
}

#[test]
fn search_by_equality() {
    let filter = Filter::Equality {
        attribute: "uid",
        value: b"ada",
    };
    let bytes = b"\x30\x2d\x02\x02\x04\xd2\x63\x27\x04\x04dc=x\x0a\x01\x02\x0a\x01\x00\
        \x02\x01\x00\x02\x01\x00\x01\x01\x00\xa3\x0a\x04\x03uid\x04\x03ada\x30\x04\x04\x02cn";
    check(
        bytes,
        1234,
        Request::Search(search("dc=x", filter, vec!["cn"])),
    );
}

#[test]
fn the_other_operations() {
    check(
        b"\x30\x09\x02\x01\x05\x4a\x04dc=x",
        5,
        Request::Delete(DeleteRequest { entry: "dc=x" }),
    );
    check(b"\x30\x06\x02\x01\x06\x50\x01\x05", 6, Request::Abandon(5));
    let compare = CompareRequest {
        entry: "dc=x",
        attribute: "dc",
        value: b"x",
    };
    let bytes = b"\x30\x14\x02\x01\x07\x6e\x0f\x04\x04dc=x\x30\x07\x04\x02dc\x04\x01x";
    check(bytes, 7, Request::Compare(compare));
    let rename = ModifyDnRequest {
        entry: "cn=a",
        new_rdn: "cn=b",
        delete_old_rdn: true,
        new_superior: Some(""),
    };
    let bytes = b"\x30\x16\x02\x01\x08\x6c\x11\x04\x04cn=a\x04\x04cn=b\x01\x01\xff\x80\x00";
    check(bytes, 8, Request::ModifyDn(rename));
    let whoami = ExtendedRequest {
        name: "1.3.6.1.4.1.4203.1.11.3",
        value: None,
    };
    let bytes = b"\x30\x1e\x02\x01\x09\x77\x19\x80\x171.3.6.1.4.1.4203.1.11.3";
    check(bytes, 9, Request::Extended(whoami));
}

#[test]
fn add_and_modify() {
    let attribute = |values| PartialAttribute {
        description: "dc",
        values: crate::Values::from_checked(values),
    };
    let add = AddRequest {
        entry: "dc=x",
        attributes: vec![attribute(b"\x04\x01x")],
    };
    let bytes =
        b"\x30\x18\x02\x01\x02\x68\x13\x04\x04dc=x\x30\x0b\x30\x09\x04\x02dc\x31\x03\x04\x01x";
    check(bytes, 2, Request::Add(add));
    let changes = vec![Change {
        operation: ChangeOperation::Delete,
        attribute: attribute(b""),
    }];
    let modify = ModifyRequest {
        object: "dc=x",
        changes,
    };
    let bytes =
        b"\x30\x1a\x02\x01\x02\x66\x15\x04\x04dc=x\x30\x0d\x30\x0b\x0a\x01\x01\x30\x06\x04\x02dc\x31\x00";
    check(bytes, 2, Request::Modify(modify));
    // RFC 4511 §4.7: every attribute of an add has a value.
    let empty = operation(tag::ADD, b"\x04\x04dc=x\x30\x08\x30\x06\x04\x02dc\x31\x00");
    let expected = DecodeError::EmptyList {
        what: Component::AttributeValues,
    };
    assert_eq!(decode(&empty), Err(expected));
}

#[test]
fn controls_come_with_the_message() {
    let controls = [
        OwnedControl::new(oid::MANAGE_DSA_IT, true),
        OwnedControl::with_value(oid::SUBENTRIES, false, |out| out.extend([1, 1, 255])),
    ];
    let mut out = Vec::new();
    write_request(&mut out, 1, &Request::Unbind, &controls);
    let message = decode(&out).unwrap();
    let decoded: Vec<_> = message
        .controls
        .iter()
        .map(crate::Control::to_owned)
        .collect();
    assert_eq!(decoded, controls);
    let many = vec![OwnedControl::new("1.1", false); 129];
    out.clear();
    write_request(&mut out, 1, &Request::Unbind, &many);
    let expected = DecodeError::TooMany {
        what: Component::Controls,
        limit: 128,
    };
    assert_eq!(decode(&out), Err(expected));
}

/// RFC 4511 §4: trailing components with unknown tags are ignored, at every level.
#[test]
fn unknown_trailing_components_are_ignored() {
    let delete = b"\x30\x0d\x02\x01\x05\x4a\x04dc=x\x9e\x02??";
    assert_eq!(decode(delete).unwrap().request.name(), "delete");
    let compare = b"\x04\x04dc=x\x30\x0a\x04\x02dc\x04\x01x\x9d\x01?\x9e\x00";
    assert_eq!(
        decode(&operation(tag::COMPARE, compare))
            .unwrap()
            .request
            .name(),
        "compare"
    );
    let broken = b"\x04\x04dc=x\x30\x09\x04\x02dc\x04\x01x\x9d\x05";
    assert!(
        decode(&operation(tag::COMPARE, broken)).is_err(),
        "what trails must be elements"
    );
}

#[test]
fn envelopes_that_are_refused() {
    let unbind = b"\x30\x05\x02\x01\x03\x42\x00";
    let trailing = [&unbind[..], &[0]].concat();
    assert_eq!(
        decode(&trailing),
        Err(DecodeError::TrailingBytes { count: 1 })
    );
    assert_eq!(decode(&unbind[..6]), Err(DecodeError::Truncated));
    assert_eq!(
        decode(&operation(0x7F - 1, b"")),
        Err(DecodeError::UnknownOperation { tag: 0x7E })
    );
    let negative = DecodeError::OutOfRange {
        what: Component::MessageId,
        value: -1,
    };
    assert_eq!(decode(b"\x30\x05\x02\x01\xff\x42\x00"), Err(negative));
    assert_eq!(
        decode(b"\x30\x05\x02\x01\x00\x42\x00").unwrap().id,
        0,
        "the server refuses 0"
    );
    let largest = b"\x30\x08\x02\x04\x7f\xff\xff\xff\x42\x00";
    assert_eq!(decode(largest).unwrap().id, MessageId::MAX);
    let limits = DecodeLimits {
        message_bytes_max: 6,
        ..DecodeLimits::default()
    };
    let expected = DecodeError::LengthBeyondLimit { limit: 6 };
    assert_eq!(Message::decode(unbind, &limits), Err(expected));
    assert_eq!(
        decode_header(b"\x30\x05\x02\x01\x03\x63"),
        None,
        "not whole"
    );
    assert_eq!(
        decode_header(b"\x30\x05\x02\x01\x03\x63\x7f"),
        Some((3, tag::SEARCH))
    );
}

#[test]
fn search_parameters_that_are_refused() {
    let parts =
        b"\x04\x04dc=x\x0a\x01\x02\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\x87\x00\x30\x00";
    assert!(decode(&operation(tag::SEARCH, parts)).is_ok());
    for (at, value, what) in [
        (8, 4, Component::Scope),
        (11, 9, Component::DerefAliases),
        (14, -1, Component::SizeLimit),
        (17, -128, Component::TimeLimit),
    ] {
        let mut changed = *parts;
        changed[at] = value as u8;
        let expected = DecodeError::OutOfRange { what, value };
        assert_eq!(decode(&operation(tag::SEARCH, &changed)), Err(expected));
    }
    let mut latin1 = *parts;
    latin1[3] = 0xE4;
    assert_eq!(
        decode(&operation(tag::SEARCH, &latin1)),
        Err(DecodeError::NotUtf8)
    );
}

#[test]
fn selecting_too_many_attributes_is_refused() {
    let mut out = Vec::new();
    let request = search("", Filter::Present("cn"), vec!["a"; 4_097]);
    write_request(&mut out, 1, &Request::Search(request), &[]);
    let expected = DecodeError::TooMany {
        what: Component::SelectedAttributes,
        limit: 4_096,
    };
    assert_eq!(decode(&out), Err(expected));
}

#[test]
fn passwords_do_not_reach_debug_output() {
    let mut out = Vec::new();
    put_octets(&mut out, OCTET_STRING, b"secret");
    let requests = [
        Request::Bind(BindRequest {
            version: 3,
            name: "cn=a",
            authentication: Authentication::Simple(b"secret"),
        }),
        Request::Extended(ExtendedRequest {
            name: oid::PASSWORD_MODIFY,
            value: Some(&out),
        }),
    ];
    for request in requests {
        let shown = format!("{request:?}");
        assert!(
            !shown.contains("secret") && !shown.contains("115, 101"),
            "{shown}"
        );
    }
}
