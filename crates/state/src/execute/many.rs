//! Attributes that one request changes many times, each time by a few values. Their values are kept
//! by normal form, so that each change takes time in proportion to its own values, not to all.

use super::draft::Draft;
use super::modify::{exists_already, form, no_such};
use crate::stop::Stop;
use crate::write::Modification;
use protocol::ChangeOperation;
use schema::{AttributeNumber, Schema, TypeId};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use store::is_linked_type;

/// Minimum number of changes of one attribute for keeping its values this way.
const CHANGES_FROM: usize = 32;

/// The attributes of one request with that many changes, ordered by number.
pub(super) struct Many<'e> {
    attributes: BTreeMap<AttributeNumber, Option<Values<'e>>>,
}

/// Values by normal form.
struct Values<'e> {
    type_id: TypeId,
    /// The values in order; a deleted one is `None`.
    places: Vec<Option<Cow<'e, [u8]>>>,
    count: usize,
    /// Indexes of the values of a form: one, except for values that were imported unchecked.
    forms: HashMap<Vec<u8>, SmallVec<[usize; 1]>>,
}

impl<'e> Many<'e> {
    /// Selects attributes by their number of changes. Links are changed in their sets, and
    /// attributes to be incremented as a whole, so they are left out.
    pub fn of(schema: &Schema, changes: &[Modification], numbers: &[AttributeNumber]) -> Many<'e> {
        let mut counts: BTreeMap<AttributeNumber, usize> = BTreeMap::new();
        for (change, number) in changes.iter().zip(numbers) {
            let counted = !is_linked_type(schema, change.given.description.type_id);
            *counts.entry(*number).or_default() += usize::from(counted);
        }
        let often = counts.into_iter().filter(|it| it.1 >= CHANGES_FROM);
        Many {
            attributes: often.map(|it| (it.0, None)).collect(),
        }
    }

    /// Applies a change; `false` if the attribute is not kept this way.
    pub fn apply(
        &mut self,
        schema: &Schema,
        draft: &mut Draft<'e>,
        change: &'e Modification,
        number: AttributeNumber,
        permissive: bool,
    ) -> Result<bool, Stop> {
        let Some(attribute) = self.attributes.get_mut(&number) else {
            return Ok(false);
        };
        if change.operation == ChangeOperation::Increment {
            put_back(schema, draft, number, attribute.take());
            return Ok(false);
        }
        let values = attribute.get_or_insert_with(|| Values::taken(schema, draft, number));
        values.change(schema, change, permissive)?;
        Ok(true)
    }

    /// Stores the values in the draft.
    pub fn finish(self, schema: &Schema, draft: &mut Draft<'e>) {
        for (number, values) in self.attributes {
            put_back(schema, draft, number, values);
        }
    }
}

fn put_back<'e>(
    schema: &Schema,
    draft: &mut Draft<'e>,
    number: AttributeNumber,
    values: Option<Values<'e>>,
) {
    if let Some(values) = values {
        *draft.values_mut(schema, number) = values.places.into_iter().flatten().collect();
    }
}

impl<'e> Values<'e> {
    fn taken(schema: &Schema, draft: &mut Draft<'e>, number: AttributeNumber) -> Values<'e> {
        let known = schema.known(number).expect("the number was just looked up");
        let mut values = Values {
            type_id: known.type_id,
            places: Vec::new(),
            count: 0,
            forms: HashMap::new(),
        };
        for value in std::mem::take(draft.values_mut(schema, number)) {
            let form = form(schema, values.type_id, &value);
            values.push(form, value);
        }
        values
    }

    fn push(&mut self, form: Vec<u8>, value: Cow<'e, [u8]>) {
        self.forms.entry(form).or_default().push(self.places.len());
        self.places.push(Some(value));
        self.count += 1;
    }

    fn clear(&mut self) {
        self.places.clear();
        self.forms.clear();
        self.count = 0;
    }

    fn change(
        &mut self,
        schema: &Schema,
        change: &'e Modification,
        permissive: bool,
    ) -> Result<(), Stop> {
        let text = || schema.spelled(&change.given.description);
        match change.operation {
            ChangeOperation::Delete if self.count == 0 => {
                return match permissive {
                    true => Ok(()),
                    false => no_such(format!("the entry has no {}", text())),
                };
            }
            ChangeOperation::Delete if change.given.values.is_empty() => self.clear(),
            ChangeOperation::Replace => self.clear(),
            _ => {}
        }
        for value in &change.given.values {
            let form = form(schema, self.type_id, value);
            match change.operation {
                ChangeOperation::Delete => {
                    if !self.remove(&form, value) && !permissive {
                        return no_such(format!("{} has no such value", text()));
                    }
                }
                ChangeOperation::Add if self.forms.contains_key(&form) => {
                    if !permissive {
                        return exists_already(&text());
                    }
                }
                _ => self.push(form, Cow::Borrowed(value)),
            }
        }
        Ok(())
    }

    /// Removes the value spelled like `wanted`, or else the first one of the form; `false` if there
    /// is none.
    fn remove(&mut self, form: &[u8], wanted: &[u8]) -> bool {
        let Some(places) = self.forms.get_mut(form) else {
            return false;
        };
        let spelled = |at: &usize| self.places[*at].as_deref() == Some(wanted);
        let place = places.remove(places.iter().position(spelled).unwrap_or(0));
        self.places[place] = None;
        self.count -= 1;
        if places.is_empty() {
            self.forms.remove(form);
        }
        true
    }
}
