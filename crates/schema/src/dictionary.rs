//! The dictionary: persistent numbers of the attribute descriptions one database uses.
//!
//! Invariants:
//! - a number, once given, means the same description for ever;
//! - the description without options has a number before any description with options of its type;
//! - numbers are given in order of first use, from 1, so equal histories give equal dictionaries.

mod numbers;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::description::Description;
use crate::error::SchemaError;
use crate::id::TypeId;

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

/// The rows of a dictionary, with tables computed from them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dictionary {
    /// By number; 0 and the numbers of unresolved rows are empty.
    known: Vec<Option<KnownAttribute>>,
    /// By `TypeId`: the number of the description without options.
    bases: Vec<Option<AttributeNumber>>,
    /// Descriptions with options.
    tagged: HashMap<Description, AttributeNumber>,
    /// By `TypeId`: the numbers of descriptions of the type and its subtypes, ascending.
    covering: Vec<Vec<AttributeNumber>>,
    /// Rows whose attribute type is not defined.
    unresolved: Vec<DictionaryRow>,
}

impl Dictionary {
    /// The number of a description; `None` when it has none.
    #[inline]
    fn number(&self, description: &Description) -> Option<AttributeNumber> {
        if description.options.is_empty() {
            return self
                .bases
                .get(usize::from(description.type_id.0))
                .copied()
                .flatten();
        }
        self.tagged.get(description).copied()
    }

    /// The number after the highest one ever given, if so many are left from it on.
    fn room_for(&self, count: usize) -> Result<u16, SchemaError> {
        let first = self.known.len().max(1);
        u16::try_from(first + count - 1)
            .map(|_| first as u16)
            .map_err(|_| SchemaError::Full {
                what: "attribute descriptions",
            })
    }

    /// Puts a description under a number, which must be higher than all before. `place` says
    /// whether its type is operational, and names the type and those above it.
    fn insert(
        &mut self,
        place: (bool, &[TypeId]),
        description: &Description,
        row: &DictionaryRow,
    ) -> Result<(), SchemaError> {
        let contradiction = || SchemaError::Dictionary {
            number: row.number.0,
            text: row.text.clone(),
        };
        let type_id = description.type_id;
        let base = match description.options.is_empty() {
            true => Some(row.number),
            false => self.number(&Description::of_type(type_id)),
        };
        let base = base.ok_or_else(contradiction)?;
        if self.number(description).is_some() || description.is_selection() {
            return Err(contradiction());
        }
        self.reserve(row)?;
        let slot = usize::from(row.number.0);
        self.known[slot] = Some(KnownAttribute {
            number: row.number,
            text: row.text.clone(),
            type_id,
            base,
            options: description.options.to_vec(),
            operational: place.0,
        });
        if description.options.is_empty() {
            *slot_of(&mut self.bases, type_id) = Some(row.number);
        } else {
            self.tagged.insert(description.clone(), row.number);
        }
        for id in place.1 {
            slot_of(&mut self.covering, *id).push(row.number);
        }
        Ok(())
    }

    /// Makes the row's number the highest one given.
    fn reserve(&mut self, row: &DictionaryRow) -> Result<(), SchemaError> {
        let slot = usize::from(row.number.0);
        if slot == 0 || slot < self.known.len() {
            return Err(SchemaError::Dictionary {
                number: row.number.0,
                text: row.text.clone(),
            });
        }
        self.known.resize(slot + 1, None);
        Ok(())
    }
}

fn slot_of<T: Clone + Default>(slots: &mut Vec<T>, type_id: TypeId) -> &mut T {
    let index = usize::from(type_id.0);
    if slots.len() <= index {
        slots.resize(index + 1, T::default());
    }
    &mut slots[index]
}
