//! Tests of the binary form of filters.

use super::*;

fn decode(bytes: &[u8]) -> Result<Filter<'_>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let filter = Filter::decode(&mut reader, FILTER_DEPTH_MAX)?;
    reader.finish()?;
    Ok(filter)
}

#[track_caller]
fn check(bytes: &[u8], filter: Filter<'_>) {
    assert_eq!(decode(bytes), Ok(filter.clone()));
    let mut out = Vec::new();
    filter.encode(&mut out);
    assert_eq!(out, bytes);
}

#[test]
fn every_choice() {
    check(
        b"\xa3\x08\x04\x03uid\x04\x01a",
        Filter::Equality {
            attribute: "uid",
            value: b"a",
        },
    );
    check(
        b"\xa5\x05\x04\x01a\x04\x00",
        Filter::GreaterOrEqual {
            attribute: "a",
            value: b"",
        },
    );
    check(
        b"\xa6\x05\x04\x01a\x04\x00",
        Filter::LessOrEqual {
            attribute: "a",
            value: b"",
        },
    );
    check(
        b"\xa8\x05\x04\x01a\x04\x00",
        Filter::Approx {
            attribute: "a",
            value: b"",
        },
    );
    check(b"\x87\x0bobjectClass", Filter::Present("objectClass"));
    check(b"\xa0\x00", Filter::And(vec![]));
    check(b"\xa1\x03\x87\x01a", Filter::Or(vec![Filter::Present("a")]));
    check(
        b"\xa2\x03\x87\x01a",
        Filter::Not(Box::new(Filter::Present("a"))),
    );
    check(
        b"\xa4\x12\x04\x02cn\x30\x0c\x80\x01a\x81\x01b\x81\x01c\x82\x01d",
        Filter::Substrings {
            attribute: "cn",
            initial: Some(b"a"),
            any: vec![b"b", b"c"],
            last: Some(b"d"),
        },
    );
    check(
        b"\xa9\x0f\x81\x032.4\x82\x02cn\x83\x01x\x84\x01\xff",
        Filter::Extensible {
            rule: Some("2.4"),
            attribute: Some("cn"),
            value: b"x",
            dn_attributes: true,
        },
    );
}

/// RFC 4511 §4.5.1.7: filtering that is not implemented is Undefined, not an error.
#[test]
fn an_unknown_choice_is_kept() {
    check(
        b"\xaa\x02\x05\x00",
        Filter::Unrecognised {
            tag: 0xAA,
            content: b"\x05\x00",
        },
    );
}

#[test]
fn substrings_have_an_order() {
    let pieces = |pieces: &[u8]| {
        let mut out = Vec::new();
        put_nested(&mut out, tag::SUBSTRINGS, |out| {
            put_octets(out, OCTET_STRING, b"cn");
            put_octets(out, SEQUENCE, pieces);
        });
        decode(&out).map(|_| ())
    };
    assert_eq!(pieces(b"\x81\x01a"), Ok(()));
    assert_eq!(
        pieces(b""),
        Err(DecodeError::EmptyList {
            what: Component::Substrings
        })
    );
    for wrong in [
        &b"\x82\x01a\x81\x01b"[..],
        b"\x81\x01a\x80\x01b",
        b"\x80\x00\x80\x00",
    ] {
        assert_eq!(
            pieces(wrong),
            Err(DecodeError::SubstringsOutOfOrder),
            "{wrong:?}"
        );
    }
    let unknown = DecodeError::UnknownChoice {
        what: Component::Substring,
        tag: 0x83,
    };
    assert_eq!(pieces(b"\x83\x01a"), Err(unknown));
}

#[test]
fn what_is_refused() {
    assert_eq!(
        decode(b"\xa9\x03\x83\x01x"),
        Err(DecodeError::NoRuleAndNoAttribute)
    );
    let two = decode(b"\xa2\x06\x87\x01a\x87\x01b");
    assert_eq!(two, Err(DecodeError::TrailingBytes { count: 3 }));
    assert_eq!(decode(b"\xa2\x00"), Err(DecodeError::Truncated));
    assert_eq!(decode(b"\x87\x01\xff"), Err(DecodeError::NotUtf8));
    assert!(decode(b"\xa3\x03\x04\x01a").is_err());
}

#[test]
fn depth_is_limited() {
    let nested = |levels: usize| {
        let mut out = b"\x87\x01a".to_vec();
        for level in 0..levels {
            let inner = std::mem::take(&mut out);
            put_octets(&mut out, [tag::NOT, tag::AND, tag::OR][level % 3], &inner);
        }
        out
    };
    assert!(decode(&nested(32)).is_ok());
    assert_eq!(
        decode(&nested(33)),
        Err(DecodeError::FilterTooDeep { limit: 32 })
    );
    assert_eq!(
        decode(&nested(100_000)),
        Err(DecodeError::FilterTooDeep { limit: 32 })
    );
}

#[test]
fn breadth_is_limited() {
    let wide = |count: usize| {
        let mut out = Vec::new();
        put_octets(&mut out, tag::OR, &b"\x87\x00".repeat(count));
        out
    };
    assert!(decode(&wide(65_535)).is_ok());
    let expected = DecodeError::TooMany {
        what: Component::Filters,
        limit: 65_536,
    };
    assert_eq!(decode(&wide(65_536)), Err(expected));
}
