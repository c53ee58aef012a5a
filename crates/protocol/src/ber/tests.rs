//! Tests of reading and writing elements.

use super::*;

fn read(bytes: &[u8]) -> Result<(u8, &[u8]), DecodeError> {
    Reader::new(bytes).element()
}

#[test]
fn lengths_may_be_long_but_not_indefinite() {
    assert_eq!(read(&[4, 2, 7, 8]), Ok((4, &[7, 8][..])));
    assert_eq!(read(&[4, 0x81, 2, 7, 8]), Ok((4, &[7, 8][..])));
    assert_eq!(read(&[4, 0x84, 0, 0, 0, 2, 7, 8]), Ok((4, &[7, 8][..])));
    assert_eq!(
        read(&[4, 0x89, 0, 0, 0, 0, 0, 0, 0, 0, 1, 7]),
        Ok((4, &[7][..]))
    );
    assert_eq!(read(&[4, 0x80, 0, 0]), Err(DecodeError::IndefiniteLength));
    assert_eq!(read(&[0x1F, 1, 0]), Err(DecodeError::HighTagNumber));
}

#[test]
fn lengths_beyond_the_bytes_are_refused() {
    for bytes in [
        &[][..],
        &[4],
        &[4, 1],
        &[4, 0x81],
        &[4, 0x82, 0],
        &[4, 0x81, 1],
    ] {
        assert_eq!(read(bytes), Err(DecodeError::Truncated), "{bytes:?}");
    }
    let all_ones = [4, 0x88, 255, 255, 255, 255, 255, 255, 255, 255];
    assert_eq!(read(&all_ones), Err(DecodeError::Truncated));
    let more = [4, 0x89, 1, 255, 255, 255, 255, 255, 255, 255, 255];
    assert_eq!(
        read(&more),
        Err(DecodeError::LengthBeyondLimit { limit: u32::MAX })
    );
}

#[test]
fn integers_survive_with_minimal_octets() {
    let edges = [
        0,
        1,
        127,
        128,
        255,
        256,
        32_767,
        32_768,
        1 << 31,
        1 << 39,
        i64::MAX,
    ];
    for value in edges
        .into_iter()
        .flat_map(|it| [it, -it, !it, i64::MIN + it])
    {
        let mut out = Vec::new();
        put_integer(&mut out, INTEGER, value);
        assert_eq!(out.len(), 2 + integer_length(value));
        assert_eq!(Reader::new(&out).integer(INTEGER), Ok(value));
        if let [_, _, first, second, ..] = out[..] {
            assert!(
                !matches!((first, second), (0, 0..0x80) | (0xFF, 0x80..)),
                "{value}: {out:?}"
            );
        }
    }
    assert_eq!(decode_integer(&[0, 0, 0, 5]), Ok(5), "padding is tolerated");
    assert_eq!(
        decode_integer(&[]),
        Err(DecodeError::IntegerLength { octets: 0 })
    );
    assert_eq!(
        decode_integer(&[0; 9]),
        Err(DecodeError::IntegerLength { octets: 9 })
    );
}

#[test]
fn max_int_ends_at_2_to_the_31() {
    let read = |value| {
        let mut out = Vec::new();
        put_integer(&mut out, INTEGER, value);
        Reader::new(&out).max_int(INTEGER, Component::SizeLimit)
    };
    assert_eq!(read(0), Ok(0));
    assert_eq!(read(128), Ok(128));
    assert_eq!(read(0x7FFF_FFFF), Ok(0x7FFF_FFFF));
    for value in [-1, 0x8000_0000, i64::MAX] {
        assert_eq!(
            read(value),
            Err(DecodeError::out_of_range(Component::SizeLimit, value))
        );
    }
}

#[test]
fn booleans_have_one_octet() {
    assert_eq!(decode_boolean(&[0]), Ok(false));
    assert_eq!(decode_boolean(&[1]), Ok(true));
    assert_eq!(
        decode_boolean(&[]),
        Err(DecodeError::BooleanLength { octets: 0 })
    );
    assert_eq!(
        decode_boolean(&[0, 0]),
        Err(DecodeError::BooleanLength { octets: 2 })
    );
}

#[test]
fn nested_lengths_are_patched_at_every_size() {
    for size in [
        0, 1, 127, 128, 129, 255, 256, 257, 65_535, 65_536, 16_777_216,
    ] {
        let content = vec![0xAB; size];
        let (mut nested, mut direct) = (vec![1, 2, 3], vec![1, 2, 3]);
        put_nested(&mut nested, SEQUENCE, |out| out.extend_from_slice(&content));
        put_octets(&mut direct, SEQUENCE, &content);
        assert!(nested == direct, "{size}");
        assert_eq!(nested.len(), 3 + header_length(size) + size);
        // Length patched into three reserved octets, as entries do it.
        let mut reserved = vec![1, 2, 3, SEQUENCE, 0, 0, 0];
        reserved.extend_from_slice(&content);
        patch_length(&mut reserved, 7, 3);
        assert!(reserved == direct, "{size} reserved");
    }
}

#[test]
fn nesting_ends_at_the_depth_given() {
    let mut bytes = Vec::new();
    for _ in 0..5 {
        let inner = std::mem::take(&mut bytes);
        put_octets(&mut bytes, SEQUENCE, &inner);
    }
    let depth = |depth_max| {
        let mut reader = Reader::with_depth(&bytes, depth_max);
        let mut levels = 0;
        while !reader.is_empty() {
            reader = reader.nested(SEQUENCE)?;
            levels += 1;
        }
        Ok(levels)
    };
    assert_eq!(depth(5), Ok(5));
    assert_eq!(depth(4), Err(DecodeError::NestedTooDeep));
}

#[test]
fn what_is_expected_is_named() {
    let mut reader = Reader::new(&[4, 1, 0xFF]);
    assert_eq!(
        reader.expect(2),
        Err(DecodeError::UnexpectedTag {
            expected: 2,
            found: 4
        })
    );
    assert_eq!(reader.optional(2), Ok(None));
    assert_eq!(
        reader.finish(),
        Err(DecodeError::TrailingBytes { count: 3 })
    );
    assert_eq!(reader.clone().text(4), Err(DecodeError::NotUtf8));
    assert_eq!(reader.expect(4), Ok(&[0xFF][..]));
    assert_eq!(
        reader.expect(4),
        Err(DecodeError::MissingElement { expected: 4 })
    );
}

#[test]
fn attributes_survive() {
    let long = vec![b'x'; 300];
    for values in [vec![], vec![&b""[..]], vec![&b"a"[..], b"bc", &long]] {
        let mut out = Vec::new();
        put_partial_attribute(&mut out, "mail;lang-de", values.iter().copied());
        let mut reader = Reader::new(&out);
        let attribute = PartialAttribute::decode(&mut reader).unwrap();
        assert!(reader.is_empty());
        assert_eq!(attribute.description, "mail;lang-de");
        assert_eq!(attribute.values.iter().collect::<Vec<_>>(), values);
        assert_eq!(attribute.values.is_empty(), values.is_empty());
        assert_eq!(PartialAttribute::from_checked(&out), Some(attribute));
        let mut again = Vec::new();
        attribute.encode(&mut again);
        assert_eq!(again, out);
    }
}

#[test]
fn values_are_compared_as_values() {
    let minimal = Values::decode(&[4, 1, 7]).unwrap();
    let padded = Values::decode(&[4, 0x81, 1, 7]).unwrap();
    assert_eq!(minimal, padded);
    assert_ne!(minimal, Values::decode(&[4, 1, 8]).unwrap());
    assert!(Values::decode(&[5, 0]).is_err());
    assert_eq!(
        Values::from_checked(&[4, 9, 1]).iter().count(),
        0,
        "malformed ends early"
    );
}
