//! Values of attribute types: validation, and normal forms under the rules of the type.

use crate::error::InvalidValue;
use crate::id::TypeId;
use crate::matching::{Family, MatchingRule};
use crate::schema::Schema;

impl Schema {
    /// Checks that `value` is a value of this attribute type.
    ///
    /// # Errors
    /// The value does not obey the type's syntax, or is a name with unknown attribute types.
    pub fn check_value(&self, type_id: TypeId, value: &[u8]) -> Result<(), InvalidValue> {
        let attribute_type = self.type_of(type_id);
        let syntax = attribute_type.syntax;
        match attribute_type.equality {
            // Normalising a name validates more than its spelling, at the same cost.
            Some(rule) if matches!(rule.family, Family::DistinguishedName | Family::NameAndUid) => {
                rule.normalise(self, value, &mut Vec::new())
            }
            _ => syntax.check(value).map_err(|reason| InvalidValue::Syntax {
                syntax: syntax.description,
                reason,
            }),
        }
    }

    /// Appends the value's normal form under the type's equality rule: values are equal exactly
    /// when their normal forms are.
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

    /// Returns the rule that sorts values of a type: its ordering rule, else its equality rule, by
    /// whose normal forms they are sorted. Few types have an ordering rule, `cn` and `sn` do not;
    /// clients want them sorted all the same.
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

    /// Appends the value in the form in which the type's substring rule searches for pieces, the
    /// input of [`crate::substring_grams_of_value`].
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
