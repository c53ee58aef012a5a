//! Values as octets that stand in the order of the values, and the value operations of a schema.

use crate::error::InvalidValue;
use crate::schema::{Schema, TypeId};

impl Schema {
    /// Whether `value` is a value of this attribute type's syntax.
    pub fn check_value(&self, _type_id: TypeId, _value: &[u8]) -> Result<(), InvalidValue> {
        unimplemented!()
    }

    /// Equality.
    pub fn normalise_equality(
        &self,
        _type_id: TypeId,
        _value: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        unimplemented!()
    }

    /// Ordering.
    pub fn normalise_ordering(
        &self,
        _type_id: TypeId,
        _value: &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<(), InvalidValue> {
        unimplemented!()
    }
}
