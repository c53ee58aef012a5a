//! The subschema as published (RFC 4512 §4.2): every definition as text, by attribute.

use crate::schema::Schema;

impl Schema {
    /// The values of the subschema entry, by attribute name.
    pub fn subschema(&self) -> Vec<(&'static str, Vec<String>)> {
        unimplemented!()
    }
}
