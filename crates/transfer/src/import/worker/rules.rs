//! Rules for values in a worker: which ones apply to an entry, its claims, and its requests for
//! numbers.

use super::{Refused, Worker};
use crate::import::attributes::Role;
use crate::import::entry::{Extra, Group};
use crate::import::names::Resolved;
use crate::import::rulebook::{Claim, Rulebook, Ruled};
use protocol::ldif::LdifAttribute;
use schema::{Name, Schema};
use std::borrow::Cow;
use std::ops::Range;
use store::{EntryView, Preparer};

impl<'s> Worker<'s> {
    pub(super) fn rulebook(&self) -> Rulebook<'s> {
        Rulebook::new(self.shared.plan)
    }

    /// The rules from which the entry requests a number, by lacking it or by the request value.
    /// Adds a placeholder value.
    pub(super) fn ask_for_numbers<'e>(
        &mut self,
        resolved: &Resolved<'_>,
        (values, groups, extras): (
            &'e [LdifAttribute<'_>],
            &mut Vec<Group>,
            &mut Vec<Extra<'e>>,
        ),
    ) -> Result<Vec<u16>, Refused> {
        let rulebook = self.rulebook();
        let mut asked = Vec::new();
        for at in rulebook.numbers_for(&resolved.name) {
            let rule = rulebook.numbers(at);
            let text = self.schema.type_of(rule.type_id).name().to_owned();
            let slot = match self.slots.find(&text, None) {
                Some(slot) => slot,
                None => self.new_slot(&text)?,
            };
            let slots = &self.slots;
            let of = |group: usize| {
                let Group { start, end, .. } = groups[group];
                let apart = extras.iter().filter(move |it| it.0 == group);
                let given = values[start..end].iter().map(|it| &*it.1);
                given.chain(apart.map(|it| &*it.1))
            };
            let find =
                |wanted: &dyn Fn(usize) -> bool| groups.iter().position(|it| wanted(it.slot));
            let given = find(&|it| slots.slot(it).number == slots.slot(slot).number);
            let asks = match given {
                None => true,
                Some(group) => rule.request.is_some() && of(group).eq(rule.request.as_deref()),
            };
            let classes = find(&|it| slots.slot(it).role == Role::ObjectClass);
            if !asks || !classes.is_some_and(|it| rulebook.is_of(&self.schema, at, of(it))) {
                continue;
            }
            if given.is_none() {
                extras.push((groups.len(), Cow::Borrowed(b"0")));
                groups.push(Group {
                    slot,
                    start: 0,
                    end: 0,
                });
            }
            asked.push(at);
        }
        Ok(asked)
    }
}

/// Claims of entries, with the buffers for computing them.
#[derive(Debug, Default)]
pub(super) struct Claims {
    pub all: Vec<Claim>,
    normal: Vec<u8>,
}

impl Claims {
    /// Adds the rules for the last prepared entry and its claims. An entry that requests numbers is
    /// added later, when it has them.
    pub fn add(
        &mut self,
        rulebook: Rulebook<'_>,
        (schema, preparer): (&Schema, &Preparer),
        name: &Name,
        numbers: Vec<u16>,
    ) -> Result<(Range<usize>, Option<Box<Ruled>>), store::Error> {
        let start = self.all.len();
        if rulebook.is_empty() {
            return Ok((start..start, None));
        }
        let unique = rulebook.unique_for(name);
        if numbers.is_empty() {
            let all = &mut self.all;
            let mut add = |claim, _, _: &[u8]| all.push(claim);
            let view = EntryView::new(preparer.last_entry())?;
            rulebook.each_claim(schema, &unique, &view, &mut self.normal, &mut add);
        }
        let ruled = Ruled { unique, numbers };
        let ruled = (ruled != Ruled::default()).then(|| Box::new(ruled));
        Ok((start..self.all.len(), ruled))
    }
}
