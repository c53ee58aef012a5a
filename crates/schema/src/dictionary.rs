//! The dictionary: persistent numbers of the attribute descriptions one database uses.
//!
//! Invariants:
//! - a number, once given, means the same description for ever;
//! - the description without options has a number before any description with options of its type;
//! - numbers are given in order of first use, from 1, so equal histories give equal dictionaries.

use std::collections::HashMap;
use std::sync::Arc;

use crate::description::Description;
use crate::error::{DescribeError, SchemaError};
use crate::schema::{Schema, TypeId};
use smallvec::SmallVec;

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
#[derive(Debug, Clone, Default)]
pub(crate) struct Dictionary {
    /// By number; 0 and the numbers of unresolved rows are empty.
    known: Vec<Option<KnownAttribute>>,
    /// By `TypeId`: the number of the description without options.
    bases: Vec<Option<AttributeNumber>>,
    /// Descriptions with options.
    tagged: HashMap<Description, AttributeNumber>,
    /// By `TypeId`: what `numbers_of` answers.
    covering: Vec<Vec<AttributeNumber>>,
    unresolved: Vec<DictionaryRow>,
}

impl Dictionary {
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

impl Schema {
    /// The number of a description; `None`: no entry of this database has it.
    pub fn number(&self, description: &Description) -> Option<AttributeNumber> {
        self.dictionary.number(description)
    }

    /// A schema in which the description has a number, that number, and the rows to persist.
    ///
    /// # Errors
    /// [`SchemaError::Full`] when all 65,535 numbers are in use, [`SchemaError::Contradiction`]
    /// for a description that only selects, such as `cn;lang-`.
    pub fn with_number(
        &self,
        description: &Description,
    ) -> Result<(Schema, AttributeNumber, Vec<DictionaryRow>), SchemaError> {
        let mut schema = self.clone();
        let (number, rows) = schema.add_number(description)?;
        Ok((schema, number, rows))
    }

    /// Gives the description a number in this schema, which other copies of it do not have then.
    /// That copies the whole dictionary if others share it, and little if nobody does: whoever
    /// gives many numbers keeps no copy in between.
    ///
    /// # Errors
    /// As [`Schema::with_number`]; the schema is as it was.
    pub fn add_number(
        &mut self,
        description: &Description,
    ) -> Result<(AttributeNumber, Vec<DictionaryRow>), SchemaError> {
        if description.is_selection() {
            let definition = self.spelled(description);
            let rule = "a description with a range selects values and cannot hold any";
            return Err(SchemaError::Contradiction { definition, rule });
        }
        if let Some(number) = self.number(description) {
            return Ok((number, Vec::new()));
        }
        let base = Description::of_type(description.type_id);
        let mut wanted = vec![description];
        if !description.options.is_empty() && self.number(&base).is_none() {
            wanted.insert(0, &base);
        }
        let first = self.dictionary.room_for(wanted.len())?;
        let mut rows = Vec::with_capacity(wanted.len());
        for (number, wanted) in (first..=u16::MAX).zip(wanted) {
            let number = AttributeNumber(number);
            let text = self.spelled(wanted);
            let row = DictionaryRow { number, text };
            let operational = self.type_of(wanted.type_id).operational();
            let covering = self.covering(wanted.type_id);
            let place = (operational, covering.as_slice());
            Arc::make_mut(&mut self.dictionary).insert(place, wanted, &row)?;
            rows.push(row);
        }
        let number = self.number(description).expect("inserted just above");
        Ok((number, rows))
    }

    /// A type and those above it.
    fn covering(&self, type_id: TypeId) -> SmallVec<[TypeId; 4]> {
        let next = |id: &TypeId| self.type_of(*id).superior;
        std::iter::successors(Some(type_id), next).collect()
    }

    /// A schema with the rows of a database in place of its own. Rows whose type is not defined
    /// yet are kept aside and take effect when [`Schema::extended`] defines it, because the schema
    /// a database stores is read by means of its dictionary.
    ///
    /// # Errors
    /// [`SchemaError::Dictionary`] when rows contradict each other.
    pub fn with_dictionary(&self, rows: &[DictionaryRow]) -> Result<Schema, SchemaError> {
        let mut rows: Vec<&DictionaryRow> = rows.iter().collect();
        rows.sort_by_key(|row| row.number);
        let mut dictionary = Dictionary::default();
        for row in rows {
            match self.describe(&row.text) {
                Ok(description) => {
                    let operational = self.type_of(description.type_id).operational();
                    let covering = self.covering(description.type_id);
                    dictionary.insert((operational, &covering), &description, row)?;
                }
                Err(DescribeError::UnknownType(_)) => {
                    dictionary.reserve(row)?;
                    dictionary.unresolved.push(row.clone());
                }
                Err(DescribeError::BadSyntax(text)) => {
                    return Err(SchemaError::Dictionary {
                        number: row.number.0,
                        text,
                    });
                }
            }
        }
        let definitions = Arc::clone(&self.definitions);
        Ok(Schema {
            definitions,
            dictionary: Arc::new(dictionary),
        })
    }

    /// Every row, by number, unresolved ones included.
    pub fn dictionary_rows(&self) -> Vec<DictionaryRow> {
        let known = self.known_attributes().map(|it| DictionaryRow {
            number: it.number,
            text: it.text.clone(),
        });
        let mut rows: Vec<_> = known
            .chain(self.dictionary.unresolved.iter().cloned())
            .collect();
        rows.sort_by_key(|row| row.number);
        rows
    }

    /// Rows whose attribute type is not defined in this schema.
    pub fn unresolved_rows(&self) -> &[DictionaryRow] {
        &self.dictionary.unresolved
    }

    /// The description behind a number.
    pub fn known(&self, number: AttributeNumber) -> Option<&KnownAttribute> {
        self.dictionary.known.get(usize::from(number.0))?.as_ref()
    }

    /// Every numbered description, by number.
    pub fn known_attributes(&self) -> impl Iterator<Item = &KnownAttribute> {
        self.dictionary.known.iter().flatten()
    }

    /// Every number whose type is this one or a subtype, with any options, ascending.
    pub fn numbers_of(&self, type_id: TypeId) -> &[AttributeNumber] {
        let covering = self.dictionary.covering.get(usize::from(type_id.0));
        covering.map_or(&[], |numbers| numbers.as_slice())
    }

    /// What asking for a description returns (RFC 4511 §4.5.1.8): subtypes, and descriptions with
    /// at least its options; a language range `lang-en-` (RFC 3866) stands for any tag it covers.
    pub fn selected_numbers(&self, description: &Description) -> Vec<AttributeNumber> {
        let has = |number: &AttributeNumber| {
            let options = self.known(*number).map_or(&[][..], |known| &known.options);
            description
                .options
                .iter()
                .all(|wanted| options.iter().any(|it| covers(wanted, it)))
        };
        self.numbers_of(description.type_id)
            .iter()
            .copied()
            .filter(has)
            .collect()
    }
}

/// Whether asking for the option `wanted` is satisfied by `present`; both are lower case.
fn covers(wanted: &str, present: &str) -> bool {
    match wanted.strip_suffix('-') {
        None => wanted == present,
        Some(tag) => present == tag || present.starts_with(wanted),
    }
}

#[cfg(test)]
mod tests;
