//! The values of an entry by attribute: given values, values of the RDN, and places for numbers
//! that the import assigns.

use super::attributes::{Role, Slots};
use super::import_state::ImportState;
use super::names::Resolved;
use super::rulebook::Rulebook;
use super::work::Refused;
use protocol::ldif::LdifAttribute;
use schema::Schema;
use std::borrow::Cow;

/// The values of one attribute of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    pub slot: usize,
    /// Index of the first value among the given ones.
    pub start: usize,
    /// Index behind the last value.
    pub end: usize,
}

/// A value separate from the others of its group: index of the group, and the value.
pub(super) type Extra<'e> = (usize, Cow<'e, [u8]>);

/// All values of an entry, grouped by attribute.
pub(super) struct Grouped<'e> {
    /// The values as given.
    pub values: &'e [LdifAttribute<'e>],
    pub groups: Vec<Group>,
    pub extras: Vec<Extra<'e>>,
}

impl<'e> Grouped<'e> {
    /// The values of a group.
    pub fn of(&self, group: usize) -> impl Iterator<Item = &[u8]> + Clone {
        let Group { start, end, .. } = self.groups[group];
        let extras = self
            .extras
            .iter()
            .filter(move |it| it.0 == group)
            .map(|it| &*it.1);
        self.values[start..end]
            .iter()
            .map(|it| &*it.1)
            .chain(extras)
    }

    /// Number of values of a group.
    pub fn count(&self, group: usize) -> usize {
        let Group { start, end, .. } = self.groups[group];
        match self.extras.is_empty() {
            true => end - start,
            false => self.of(group).count(),
        }
    }

    /// Replaces the values of a group.
    pub fn replace(&mut self, group: usize, values: impl Iterator<Item = Vec<u8>>) {
        self.extras.retain(|it| it.0 != group);
        self.groups[group].end = self.groups[group].start;
        let values = values.map(|it| (group, Cow::Owned(it)));
        self.extras.extend(values);
    }

    /// Adds a group of one value.
    fn add(&mut self, slot: usize, value: Cow<'e, [u8]>) {
        self.extras.push((self.groups.len(), value));
        self.groups.push(Group {
            slot,
            start: 0,
            end: 0,
        });
    }
}

/// Groups the values of entries, one entry after the other.
pub(super) struct Grouper<'s> {
    shared: &'s ImportState<'s>,
    rulebook: Rulebook<'s>,
    schema: Schema,
    /// Whether the schema has grown since [`growth`](Grouper::growth) was called.
    has_grown: bool,
    slots: Slots,
    /// Slots of the previous entry by group; most recur in the next one.
    before: Vec<usize>,
    /// Buffer for the groups of the next entry.
    groups: Vec<Group>,
    piece: u64,
}

impl<'s> Grouper<'s> {
    /// Begins with the newest schema.
    pub fn new(shared: &'s ImportState<'s>) -> Grouper<'s> {
        Grouper {
            shared,
            rulebook: Rulebook::new(shared.plan),
            schema: shared.schema.newest(),
            has_grown: false,
            slots: Slots::default(),
            before: Vec::new(),
            groups: Vec::new(),
            piece: 0,
        }
    }

    /// Begins the piece of this number.
    pub fn begin(&mut self, piece: u64) {
        self.piece = piece;
    }

    /// The schema, with numbers for all attributes of the entries grouped so far.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The attribute descriptions resolved so far.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The schema if attributes got numbers since the last call; else `None`.
    pub fn growth(&mut self) -> Option<&Schema> {
        std::mem::take(&mut self.has_grown).then_some(&self.schema)
    }

    /// Groups the given values by attribute.
    pub fn group<'e>(&mut self, values: &'e [LdifAttribute<'e>]) -> Result<Grouped<'e>, Refused> {
        self.groups.clear();
        let mut at = 0;
        while at < values.len() {
            let text = values[at].0;
            let same = values[at..].iter().take_while(|it| it.0 == text).count();
            let guess = self.before.get(self.groups.len()).copied();
            let slot = match self.slots.find(text, guess) {
                Some(slot) => slot,
                None => self.new_slot(text)?,
            };
            self.groups.push(Group {
                slot,
                start: at,
                end: at + same,
            });
            at += same;
        }
        self.before.clear();
        self.before.extend(self.groups.iter().map(|it| it.slot));
        Ok(Grouped {
            values,
            groups: std::mem::take(&mut self.groups),
            extras: Vec::new(),
        })
    }

    /// Takes back the buffer of an entry that is done.
    pub fn reuse(&mut self, grouped: Grouped<'_>) {
        self.groups = grouped.groups;
    }

    #[cold]
    fn new_slot(&mut self, text: &str) -> Result<usize, Refused> {
        if self.slots.is_full() {
            return Err(Refused::Entry(
                "too many different attribute descriptions".to_owned(),
            ));
        }
        let description = self
            .schema
            .describe(text)
            .map_err(|error| error.to_string())?;
        if self.schema.number(&description).is_none() {
            self.shared.line.wait_for_turn(self.piece)?;
        }
        let catalog = &self.shared.plan.catalog;
        let (slot, newer) = self
            .slots
            .add(catalog, &self.shared.schema, &self.schema, text)?;
        if let Some(newer) = newer {
            self.schema = newer;
            self.has_grown = true;
        }
        Ok(slot)
    }

    /// The slot of a description in its canonical spelling.
    fn slot_of(&mut self, text: &str) -> Result<usize, Refused> {
        match self.slots.find(text, None) {
            Some(slot) => Ok(slot),
            None => self.new_slot(text),
        }
    }

    /// Adds values of the RDN that are missing (RFC 4511 §4.7). Also joins values of one attribute
    /// that are given separately, and drops computed attributes.
    pub fn add_naming_values<'e>(
        &mut self,
        resolved: &'e Resolved<'_>,
        grouped: &mut Grouped<'e>,
    ) -> Result<(), Refused> {
        let slots = &self.slots;
        let Grouped { groups, extras, .. } = grouped;
        let is_computed = |it: &Group| slots.slot(it.slot).role == Role::Computed;
        if groups.iter().any(is_computed) {
            groups.retain(|it| !is_computed(it));
        }
        let same = |a: &Group, b: &Group| slots.slot(a.slot).same_as == slots.slot(b.slot).same_as;
        let mut at = 1;
        while at < groups.len() {
            let Some(first) = groups[..at].iter().position(|it| same(it, &groups[at])) else {
                at += 1;
                continue;
            };
            let apart = groups.remove(at);
            let apart = grouped.values[apart.start..apart.end].iter();
            extras.extend(apart.map(|it| (first, Cow::Borrowed(&*it.1))));
        }
        for (description, value) in &resolved.rdn.values {
            let number = self.schema.number(description);
            let group = grouped
                .groups
                .iter()
                .position(|it| Some(self.slots.slot(it.slot).number) == number);
            let Some(group) = group else {
                let slot = self.slot_of(&self.schema.spelled(description))?;
                grouped.add(slot, Cow::Borrowed(value));
                continue;
            };
            if !has_value(&self.schema, description.type_id, grouped.of(group), value) {
                grouped.extras.push((group, Cow::Borrowed(value)));
            }
        }
        Ok(())
    }

    /// The rules from which the entry requests a number, by lacking it or by the request value.
    /// Adds a placeholder for a lacking number.
    pub fn ask_for_numbers(
        &mut self,
        resolved: &Resolved<'_>,
        grouped: &mut Grouped<'_>,
    ) -> Result<Vec<u16>, Refused> {
        let rulebook = self.rulebook;
        let mut asked = Vec::new();
        for at in rulebook.numbers_for(&resolved.name) {
            let rule = rulebook.numbers(at);
            let text = self.schema.type_of(rule.type_id).name().to_owned();
            let slot = self.slot_of(&text)?;
            let slots = &self.slots;
            let number = slots.slot(slot).number;
            let mut groups = grouped.groups.iter();
            let given = groups.position(|it| slots.slot(it.slot).number == number);
            let asks = match given {
                None => true,
                Some(group) => {
                    let request = rule.request.as_deref();
                    request.is_some() && grouped.of(group).eq(request)
                }
            };
            let mut groups = grouped.groups.iter();
            let classes = groups.position(|it| slots.slot(it.slot).role == Role::ObjectClass);
            let is_of = |it| rulebook.is_of(&self.schema, at, grouped.of(it));
            if !asks || !classes.is_some_and(is_of) {
                continue;
            }
            if given.is_none() {
                grouped.add(slot, Cow::Borrowed(b"0"));
            }
            asked.push(at);
        }
        Ok(asked)
    }
}

/// Whether a value equal to `wanted` is among the values.
fn has_value<'v>(
    schema: &Schema,
    type_id: schema::TypeId,
    values: impl Iterator<Item = &'v [u8]> + Clone,
    wanted: &[u8],
) -> bool {
    if values.clone().any(|it| it == wanted) {
        return true;
    }
    let (mut form, mut other) = (Vec::new(), Vec::new());
    state::stored_form::normal(schema, type_id, wanted, &mut form);
    let mut values = values;
    values.any(|it| {
        state::stored_form::normal(schema, type_id, it, &mut other);
        other == form
    })
}
