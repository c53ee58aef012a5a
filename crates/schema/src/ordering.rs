//! What a schema does with values: check, normalise, and write integers as octets in their order.

use crate::error::InvalidValue;
use crate::matching::{Family, MatchingRule};
use crate::schema::{Schema, TypeId};

impl Schema {
    /// Whether `value` is a value of this attribute type.
    ///
    /// # Errors
    /// The value does not obey the type's syntax, or is a name of unknown attribute types.
    pub fn check_value(&self, type_id: TypeId, value: &[u8]) -> Result<(), InvalidValue> {
        let attribute_type = self.type_of(type_id);
        let syntax = attribute_type.syntax;
        match attribute_type.equality {
            // Normalising a name checks more than its spelling, and costs no more.
            Some(rule) if matches!(rule.family, Family::DistinguishedName | Family::NameAndUid) => {
                rule.normalise(self, value, &mut Vec::new())
            }
            _ => syntax.check(value).map_err(|reason| InvalidValue::Syntax {
                syntax: syntax.description,
                reason,
            }),
        }
    }

    /// Appends the value's normal form under the type's equality rule: equal values, and only
    /// they, have equal normal forms.
    ///
    /// # Errors
    /// [`InvalidValue::NoEqualityRule`], or the value does not obey the syntax.
    pub fn normalise_equality(
        &self,
        type_id: TypeId,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        let rule = self
            .type_of(type_id)
            .equality
            .ok_or(InvalidValue::NoEqualityRule)?;
        rule.normalise(self, value, out)
    }

    /// The rule by which values of a type are put in order: its ordering rule, or for want of one
    /// the order of the normal forms of its equality rule. Few types are defined with an ordering
    /// rule, `cn` and `sn` are not; clients want them sorted all the same.
    pub fn sorting_rule(&self, type_id: TypeId) -> Option<&'static MatchingRule> {
        let attribute_type = self.type_of(type_id);
        attribute_type.ordering.or(attribute_type.equality)
    }

    /// Appends the value's normal form under [`Schema::sorting_rule`]. Normal forms compare as
    /// octets in the order of the values; times are in UTC.
    ///
    /// # Errors
    /// [`InvalidValue::NoOrderingRule`], or the value does not obey the syntax.
    pub fn normalise_ordering(
        &self,
        type_id: TypeId,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        let rule = self
            .sorting_rule(type_id)
            .ok_or(InvalidValue::NoOrderingRule)?;
        rule.normalise(self, value, out)
    }

    /// Appends the value in the form in which the type's substring rule looks for pieces: what
    /// [`crate::substring_grams_of_value`] takes.
    ///
    /// # Errors
    /// [`InvalidValue::NoSubstringRule`], or the value does not obey the syntax.
    pub fn normalise_substring(
        &self,
        type_id: TypeId,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        let rule = self
            .type_of(type_id)
            .substring
            .ok_or(InvalidValue::NoSubstringRule)?;
        rule.normalise_for_pieces(value, out)
    }
}

/// Marks numbers below zero; their magnitude is complemented, so that more is less.
const NEGATIVE: u8 = 0x01;
/// Marks zero and numbers above.
const POSITIVE: u8 = 0x02;

/// Appends a decimal integer (already checked) as sign, number of digits, digits. Octets of such
/// forms compare like the numbers. Digits stay decimal: converting numbers of any size to binary
/// would take quadratic time, and nobody computes with them.
pub(crate) fn put_integer(decimal: &[u8], out: &mut Vec<u8>) {
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

/// One octet up to 254, beyond that 255 and eight octets; all of them xor `mask`.
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
        put_integer(text.as_bytes(), &mut out);
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
