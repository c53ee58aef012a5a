//! The normal form of integers: octets in the order of the numbers.

use crate::error::{InvalidValue, invalid};
use crate::syntaxes::number;

/// Appends the normal form of an integer of any size.
///
/// # Errors
/// The octets are not an integer in decimal digits.
pub(super) fn put(value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
    number::integer(value).map_err(invalid("INTEGER"))?;
    put_checked(value, out);
    Ok(())
}

/// First octet of numbers below zero; their magnitude is complemented, so that more is less.
const NEGATIVE: u8 = 0x01;
/// First octet of zero and numbers above.
const POSITIVE: u8 = 0x02;

/// Appends a decimal integer (already checked) as sign, number of digits, digits. Octets of such
/// forms compare like the numbers. Digits stay decimal: converting numbers of any size to binary
/// would take quadratic time, and nothing computes with them.
fn put_checked(decimal: &[u8], out: &mut Vec<u8>) {
    match decimal.strip_prefix(b"-") {
        None => {
            out.push(POSITIVE);
            put_length(decimal.len(), 0, out);
            out.extend_from_slice(decimal);
        }
        Some(digits) => {
            out.push(NEGATIVE);
            put_length(digits.len(), 0xff, out);
            out.extend(digits.iter().map(|digit| b'9' - digit + b'0'));
        }
    }
}

/// Appends a length: one octet up to 254, beyond that the octet 255 and eight octets; each is
/// combined with `mask` by exclusive or.
fn put_length(length: usize, mask: u8, out: &mut Vec<u8>) {
    match u8::try_from(length) {
        Ok(short) if short < 255 => out.push(short ^ mask),
        _ => {
            out.push(255 ^ mask);
            out.extend((length as u64).to_be_bytes().map(|byte| byte ^ mask));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normal(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        put_checked(text.as_bytes(), &mut out);
        out
    }

    #[test]
    fn long_numbers_stand_after_short_ones() {
        let long = "9".repeat(254);
        let longer = "1".repeat(255);
        let ascending = [
            format!("-{longer}"),
            format!("-{long}"),
            "-1".into(),
            "0".into(),
            long,
            longer,
        ];
        assert!(ascending.iter().map(|text| normal(text)).is_sorted());
    }

    proptest! {
        #[test]
        fn octets_stand_in_numeric_order(a: i128, b: i64, shift in 0..100u32) {
            let (a, b) = (a >> shift, i128::from(b));
            let order = normal(&a.to_string()).cmp(&normal(&b.to_string()));
            prop_assert_eq!(order, a.cmp(&b));
        }
    }
}
