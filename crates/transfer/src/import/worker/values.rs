//! The values of an entry by attribute: given values, and those of its RDN.

use super::{Refused, Worker};
use crate::import::attributes::Role;
use crate::import::entry::{Extra, Group};
use crate::import::names::Resolved;
use protocol::ldif::LdifAttribute;
use schema::Schema;
use std::borrow::Cow;

impl Worker<'_> {
    /// Groups the given values by attribute.
    pub(super) fn resolve_attributes(
        &mut self,
        values: &[LdifAttribute<'_>],
    ) -> Result<(), Refused> {
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
        Ok(())
    }

    #[cold]
    pub(super) fn new_slot(&mut self, text: &str) -> Result<usize, Refused> {
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
            self.preparer.set_indexes(&self.shared.plan.indexes(&newer));
            self.schema = newer;
        }
        Ok(slot)
    }

    /// Adds values of the RDN that are missing (RFC 4511 §4.7). Also joins values of one attribute
    /// that are given separately, and drops computed attributes.
    pub(super) fn add_naming_values<'e>(
        &mut self,
        resolved: &'e Resolved<'_>,
        values: &'e [LdifAttribute<'_>],
        groups: &mut Vec<Group>,
    ) -> Result<Vec<Extra<'e>>, Refused> {
        let slots = &self.slots;
        let is_computed = |it: &Group| slots.slot(it.slot).role == Role::Computed;
        if groups.iter().any(is_computed) {
            groups.retain(|it| !is_computed(it));
        }
        let mut extras: Vec<Extra<'e>> = Vec::new();
        let same = |a: &Group, b: &Group| slots.slot(a.slot).same_as == slots.slot(b.slot).same_as;
        let mut at = 1;
        while at < groups.len() {
            let Some(first) = groups[..at].iter().position(|it| same(it, &groups[at])) else {
                at += 1;
                continue;
            };
            let apart = groups.remove(at);
            let apart = values[apart.start..apart.end].iter();
            extras.extend(apart.map(|it| (first, Cow::Borrowed(&*it.1))));
        }
        for (description, value) in &resolved.rdn.values {
            let number = self.schema.number(description);
            let group = groups
                .iter()
                .position(|it| Some(self.slots.slot(it.slot).number) == number);
            let Some(group) = group else {
                let text = self.schema.spelled(description);
                let slot = match self.slots.find(&text, None) {
                    Some(slot) => slot,
                    None => self.new_slot(&text)?,
                };
                extras.push((groups.len(), Cow::Borrowed(value)));
                groups.push(Group {
                    slot,
                    start: 0,
                    end: 0,
                });
                continue;
            };
            let Group { start, end, .. } = groups[group];
            let given = values[start..end].iter().map(|it| &*it.1);
            let apart = extras.iter().filter(|it| it.0 == group).map(|it| &*it.1);
            if !has_value(&self.schema, description.type_id, given.chain(apart), value) {
                extras.push((group, Cow::Borrowed(value)));
            }
        }
        Ok(extras)
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
