//! Numbers of attribute descriptions under a schema: finding them and giving new ones.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{AttributeNumber, Dictionary, DictionaryRow, KnownAttribute};
use crate::description::Description;
use crate::error::{DescribeError, SchemaError};
use crate::id::TypeId;
use crate::schema::Schema;

impl Schema {
    /// Returns the number of a description; `None` when no entry of this database has it.
    pub fn number(&self, description: &Description) -> Option<AttributeNumber> {
        self.dictionary.number(description)
    }

    /// Returns a schema in which the description has a number, the number, and the rows to persist.
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

    /// Gives the description a number in this schema, not in other copies of it. The whole
    /// dictionary is copied if other schemas share it, and little if none does: a caller that gives
    /// many numbers keeps no copy of the schema in between.
    ///
    /// # Errors
    /// The errors of [`Schema::with_number`]; the schema is then unchanged.
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

    /// Returns a type and its supertypes.
    fn covering(&self, type_id: TypeId) -> SmallVec<[TypeId; 4]> {
        let next = |id: &TypeId| self.type_of(*id).superior;
        std::iter::successors(Some(type_id), next).collect()
    }

    /// Returns a schema with the rows of a database in place of its own. Rows with an undefined
    /// type are kept aside and take effect when [`Schema::extended`] defines it, since a database's
    /// schema is read by means of its dictionary.
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

    /// Returns every row by number, unresolved ones included.
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

    /// Returns the description with a number.
    pub fn known(&self, number: AttributeNumber) -> Option<&KnownAttribute> {
        self.dictionary.known.get(usize::from(number.0))?.as_ref()
    }

    /// Iterates over every numbered description, by number.
    pub fn known_attributes(&self) -> impl Iterator<Item = &KnownAttribute> {
        self.dictionary.known.iter().flatten()
    }

    /// Returns the numbers of a type and its subtypes, with any options, ascending.
    pub fn numbers_of(&self, type_id: TypeId) -> &[AttributeNumber] {
        let covering = self.dictionary.covering.get(usize::from(type_id.0));
        covering.map_or(&[], |numbers| numbers.as_slice())
    }

    /// Returns the numbers of the descriptions that a request for `description` selects (RFC 4511
    /// §4.5.1.8): subtypes, and descriptions with at least its options; a language range `lang-en-`
    /// (RFC 3866) stands for any tag that it covers.
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

/// Returns whether the requested option `wanted` covers `present`; both are lower case.
fn covers(wanted: &str, present: &str) -> bool {
    match wanted.strip_suffix('-') {
        None => wanted == present,
        Some(tag) => present == tag || present.starts_with(wanted),
    }
}
