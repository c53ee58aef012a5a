//! Object identifiers, UUIDs and distinguished names (RFC 4512 §1.4, RFC 4530, RFC 4514).

/// Checks for a numeric OID or a descriptor (RFC 4512 §1.4).
pub(crate) fn oid(value: &[u8]) -> Result<(), &'static str> {
    if is_numeric_oid(value) || is_descriptor(value) {
        Ok(())
    } else {
        Err("expected an object identifier or a descriptor")
    }
}

/// Returns whether `value` is dotted numbers without leading zeros.
pub(crate) fn is_numeric_oid(value: &[u8]) -> bool {
    let mut arcs = 0usize;
    let well_formed = value.split(|byte| *byte == b'.').all(|arc| {
        arcs += 1;
        match arc {
            [b'0'] => true,
            [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
            _ => false,
        }
    });
    well_formed && arcs > 1
}

/// Returns whether `value` is a letter followed by letters, digits and hyphens; also underscores,
/// which schema files in use have.
pub(crate) fn is_descriptor(value: &[u8]) -> bool {
    let Some((first, rest)) = value.split_first() else {
        return false;
    };
    first.is_ascii_alphabetic()
        && rest
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Checks for 8-4-4-4-12 hexadecimal digits (RFC 4530 §2.1).
pub(crate) fn uuid(value: &[u8]) -> Result<(), &'static str> {
    const EXPECTED: &str = "expected a UUID such as 597ae2f6-16a6-1027-98f4-d28b5365dc14";
    if value.len() != 36 {
        return Err(EXPECTED);
    }
    let fits = value.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    if fits { Ok(()) } else { Err(EXPECTED) }
}

/// Checks for the text of a distinguished name (RFC 4514); it may be empty.
pub(crate) fn distinguished_name(value: &[u8]) -> Result<(), &'static str> {
    const EXPECTED: &str = "expected a distinguished name";
    let text = std::str::from_utf8(value).map_err(|_| EXPECTED)?;
    protocol::parse_name(text).map(|_| ()).map_err(|_| EXPECTED)
}

/// Checks for a distinguished name with an optional `#'0101'B` behind it (RFC 4517 §3.3.21).
pub(crate) fn name_and_optional_uid(value: &[u8]) -> Result<(), &'static str> {
    distinguished_name(split_uid(value).0)
}

/// Splits a name and optional UID into the name and the bits, if any. A `#` without a whole bit
/// string behind it belongs to the name.
pub(crate) fn split_uid(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    if !value.ends_with(b"'B") {
        return (value, None);
    }
    let Some(at) = value.iter().rposition(|byte| *byte == b'#') else {
        return (value, None);
    };
    let uid = &value[at + 1..];
    match super::number::bit_string(uid) {
        Ok(()) => (&value[..at], Some(&uid[1..uid.len() - 2])),
        Err(_) => (value, None),
    }
}
