//! The dictionary: persistent numbers of the attribute descriptions one database uses.
//!
//! Invariants:
//! - a number, once given, means the same description for ever;
//! - the description without options has a number before any description with options of its type;
//! - numbers are given in order of first use, from 1, so equal histories give equal dictionaries.

use crate::description::Description;
use crate::error::SchemaError;
use crate::schema::{Schema, TypeId};

/// The persistent number of an attribute description in one database. Never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeNumber(pub u16);

/// One row of the dictionary, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DictionaryRow {
    /// The number.
    pub number: AttributeNumber,
    /// The description's canonical text, e.g. `cn;lang-de`.
    pub text: String,
}

/// An attribute description that has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAttribute {
    /// Its number.
    pub number: AttributeNumber,
    /// The canonical text a response carries.
    pub text: String,
    /// Its attribute type.
    pub type_id: TypeId,
    /// The number of the description without options; its own if it has none.
    pub base: AttributeNumber,
    /// Its options, lower case and sorted.
    pub options: Vec<String>,
    /// Whether the type is operational.
    pub operational: bool,
}

/// Everything that depends on the rows, precomputed.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    _rows: Vec<DictionaryRow>,
}

impl Schema {
    /// The number of a description; `None`: no entry of this database has it.
    pub fn number(&self, description: &Description) -> Option<AttributeNumber> {
        let _ = description;
        unimplemented!()
    }

    /// A schema in which the description has a number, that number, and the rows to persist.
    ///
    /// # Errors
    /// [`SchemaError::Full`] when all 65,535 numbers are in use, [`SchemaError::Contradiction`]
    /// for a description that only selects.
    pub fn with_number(
        &self,
        description: &Description,
    ) -> Result<(Schema, AttributeNumber, Vec<DictionaryRow>), SchemaError> {
        let _ = description;
        unimplemented!()
    }

    /// A schema with the rows of a database. Rows whose type is not defined yet are kept aside and
    /// take effect when [`Schema::extended`] defines it: stored schema is read with the dictionary.
    ///
    /// # Errors
    /// [`SchemaError::Dictionary`] when rows contradict each other.
    pub fn with_dictionary(&self, rows: &[DictionaryRow]) -> Result<Schema, SchemaError> {
        let _ = rows;
        unimplemented!()
    }

    /// Every row, by number.
    pub fn dictionary_rows(&self) -> Vec<DictionaryRow> {
        unimplemented!()
    }

    /// Rows whose attribute type is not defined in this schema.
    pub fn unresolved_rows(&self) -> &[DictionaryRow] {
        unimplemented!()
    }

    /// The description behind a number.
    pub fn known(&self, number: AttributeNumber) -> Option<&KnownAttribute> {
        let _ = number;
        unimplemented!()
    }

    /// Every numbered description, by number.
    pub fn known_attributes(&self) -> impl Iterator<Item = &KnownAttribute> {
        std::iter::empty()
    }

    /// Every number whose type is this one or a subtype, with any options, ascending.
    pub fn numbers_of(&self, type_id: TypeId) -> &[AttributeNumber] {
        let _ = type_id;
        unimplemented!()
    }

    /// What asking for a description returns (RFC 4511 §4.5.1.8): subtypes, and descriptions with
    /// at least its options; a language range `lang-en-` (RFC 3866) stands for any tag it covers.
    pub fn selected_numbers(&self, description: &Description) -> Vec<AttributeNumber> {
        let _ = description;
        unimplemented!()
    }
}
