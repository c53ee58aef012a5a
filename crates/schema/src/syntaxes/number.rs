//! Booleans, integers, bit strings and numeric strings (RFC 4517 §3.3).

/// Checks for `TRUE` or `FALSE`.
pub(crate) fn boolean(value: &[u8]) -> Result<(), &'static str> {
    match value {
        b"TRUE" | b"FALSE" => Ok(()),
        _ => Err("expected TRUE or FALSE"),
    }
}

/// Checks for a decimal number of any size, without leading zeros or a plus sign (RFC 4517
/// §3.3.16).
pub(crate) fn integer(value: &[u8]) -> Result<(), &'static str> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    match digits {
        b"0" if digits.len() == value.len() => Ok(()),
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => Ok(()),
        _ => Err("expected a decimal integer"),
    }
}

/// Checks for `'0101'B` (RFC 4517 §3.3.2).
pub(crate) fn bit_string(value: &[u8]) -> Result<(), &'static str> {
    let bits = value
        .strip_prefix(b"'")
        .and_then(|rest| rest.strip_suffix(b"'B"));
    match bits {
        Some(bits) if bits.iter().all(|bit| matches!(bit, b'0' | b'1')) => Ok(()),
        _ => Err("expected a bit string such as '0101'B"),
    }
}

/// Checks for one or more digits and spaces (RFC 4517 §3.3.23).
pub(crate) fn numeric_string(value: &[u8]) -> Result<(), &'static str> {
    if !value.is_empty()
        && value
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b' ')
    {
        Ok(())
    } else {
        Err("expected digits and spaces")
    }
}
