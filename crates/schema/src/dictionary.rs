//! The dictionary: persistent numbers of the attribute descriptions that a database uses.
//!
//! Invariants:
//! - a number, once given, means the same description forever;
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

/// One row of the dictionary, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DictionaryRow {
    /// Number of the description.
    pub number: AttributeNumber,
    /// Canonical text of the description, e.g. `cn;lang-de`.
    pub text: String,
}

/// An attribute description that has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAttribute {
    /// Number of the description.
    pub number: AttributeNumber,
    /// Canonical text of the description, as in responses.
    pub text: String,
    /// Attribute type of the description.
    pub type_id: TypeId,
    /// Number of the description without options; `number` itself if it has none.
    pub base: AttributeNumber,
    /// Options of the description, lower case and sorted.
    pub options: Vec<String>,
    /// Whether the type is operational.
    pub operational: bool,
}

/// The rows of a dictionary, with look-up tables computed from them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dictionary {
    /// Descriptions by number; 0 and the numbers of unresolved rows are empty.
    known: Vec<Option<KnownAttribute>>,
    /// Numbers of the descriptions without options, by `TypeId`.
    bases: Vec<Option<AttributeNumber>>,
    /// Numbers of the descriptions with options.
    tagged: HashMap<Description, AttributeNumber>,
    /// Numbers of the descriptions of each type and its subtypes, by `TypeId`, ascending.
    covering: Vec<Vec<AttributeNumber>>,
    /// Rows with an undefined attribute type.
    unresolved: Vec<DictionaryRow>,
}

impl Dictionary {
    /// Returns the number of a description; `None` when it has none.
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

    /// Returns the number after the highest one ever given, if at least `count` are free from it
    /// on.
    fn room_for(&self, count: usize) -> Result<u16, SchemaError> {
        let first = self.known.len().max(1);
        u16::try_from(first + count - 1)
            .map(|_| first as u16)
            .map_err(|_| SchemaError::Full {
                what: "attribute descriptions",
            })
    }

    /// Inserts a description under a number higher than all before. `place` gives whether its type
    /// is operational, and the type with its supertypes.
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

    /// Makes the number of a row the highest one given.
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
