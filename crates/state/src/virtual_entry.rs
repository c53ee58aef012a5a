//! Entries that are not stored: the root DSE (RFC 4512 §5.1) and the subschema subentry (§4.2).

use crate::selected::Selected;
use protocol::ber;
use schema::{AttributeNumber, Schema, TypeId, ValueSource};

/// An entry that is computed when it is read.
#[derive(Debug)]
pub struct VirtualEntry {
    schema: Schema,
    attributes: Vec<VirtualAttribute>,
}

/// An attribute of an entry that is not stored.
#[derive(Debug)]
pub struct VirtualAttribute {
    /// The attribute type.
    pub type_id: TypeId,
    /// The attribute description under which it is returned.
    pub text: String,
    /// Whether the attribute is operational: returned for `+` instead of `*`.
    pub operational: bool,
    /// The values.
    pub values: Vec<Vec<u8>>,
}

impl VirtualEntry {
    /// Returns an entry without attributes.
    pub fn new(schema: &Schema) -> VirtualEntry {
        VirtualEntry {
            schema: schema.clone(),
            attributes: Vec::new(),
        }
    }

    /// Adds values of a type; does nothing if the schema lacks the type or there are no values.
    pub fn put<V: Into<Vec<u8>>>(&mut self, text: &str, values: impl IntoIterator<Item = V>) {
        let schema = &self.schema;
        let Some(type_id) = schema.attribute_type(text) else {
            return;
        };
        let values: Vec<Vec<u8>> = values.into_iter().map(Into::into).collect();
        if values.is_empty() {
            return;
        }
        let operational = schema.type_of(type_id).operational();
        self.attributes.push(VirtualAttribute {
            type_id,
            text: text.to_owned(),
            operational,
            values,
        });
    }

    /// All attributes of the entry.
    pub fn attributes(&self) -> &[VirtualAttribute] {
        &self.attributes
    }

    /// Returns the attributes of a type and its subtypes.
    pub fn of_type(&self, type_id: TypeId) -> impl Iterator<Item = &VirtualAttribute> {
        self.attributes
            .iter()
            .filter(move |it| self.schema.is_subtype(it.type_id, type_id))
    }

    /// Returns whether an attribute's type is one of these or a subtype of one.
    pub fn is_any_of(&self, attribute: &VirtualAttribute, types: &Selected<TypeId>) -> bool {
        let mut at = Some(attribute.type_id);
        while let Some(type_id) = at {
            if types.contains(type_id) {
                return true;
            }
            at = self.schema.type_of(type_id).superior;
        }
        false
    }
}

impl VirtualAttribute {
    /// Appends the attribute as a PartialAttribute (RFC 4511 §4.1.7).
    pub fn encode(&self, out: &mut Vec<u8>, types_only: bool) {
        let values = if types_only {
            &[][..]
        } else {
            &self.values[..]
        };
        ber::put_partial_attribute(out, &self.text, values.iter().map(Vec::as_slice));
    }
}

impl ValueSource for VirtualEntry {
    fn any_value(&self, _: AttributeNumber, _: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        None
    }

    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        let mut values = self.of_type(type_id).flat_map(|it| &it.values).peekable();
        values.peek()?;
        Some(values.any(|value| test(value)))
    }
}
