//! Unique values, checked in the order of execution: of two writes received at the same time one is
//! executed first, so only that one gets the value.
//!
//! Holders are looked up in a complete index, or else among all entries, which takes longer and
//! finds equal holders.

use super::Execution;
use super::draft::Draft;
use crate::rules::Unique;
use crate::stop::{Refusal, Stop};
use crate::view::View;
use policy::Subject;
use protocol::{Filter, ResultCode};
use schema::{AttributeNumber, Name, TypeId};
use std::ops::ControlFlow;
use store::{EntryId, EntryView};

/// Maximum number of entries and group members that one move may bring under a rule, because each
/// of their values is looked up.
const MOVED_MAX: usize = 10_000;

/// The entry that a write changes.
#[derive(Clone, Copy)]
pub(super) struct Own<'v> {
    id: EntryId,
    /// The entry before the write, and the attributes that the write changes. Values that it had
    /// already are not looked up, so that an entry from before the rule can be changed in other
    /// ways. `None` looks up all values.
    before: Option<(&'v EntryView<'v>, &'v [AttributeNumber])>,
}

impl<'v> Own<'v> {
    /// An entry to which values of these attributes are added.
    pub fn changed(id: EntryId, view: &'v EntryView<'v>, numbers: &'v [AttributeNumber]) -> Self {
        let before = Some((view, numbers));
        Own { id, before }
    }

    /// Returns whether the write changes an attribute.
    fn changes(&self, number: AttributeNumber) -> bool {
        self.before
            .is_none_or(|(_, changed)| changed.contains(&number))
    }

    /// Returns whether the entry had a value with this spelling.
    fn had(&self, number: AttributeNumber, value: &[u8]) -> bool {
        let stored = self.before.and_then(|(view, _)| view.attribute(number));
        stored.is_some_and(|it| it.values().into_iter().any(|it| it == value))
    }
}

impl Execution<'_, '_> {
    /// Refuses values that another entry holds. `own` is the entry itself, if it exists.
    pub(super) fn refuse_held(
        &self,
        name: &Name,
        draft: &Draft<'_>,
        own: Option<Own<'_>>,
    ) -> Result<(), Stop> {
        let rules = self.catalog.rules.unique.iter();
        for rule in rules.filter(|rule| rule.place.covers(name)) {
            let bases = rule.bases(&self.batch.snapshot())?;
            self.refuse_held_by(rule, &bases, draft, own)?;
        }
        Ok(())
    }

    /// Refuses values of one type that another entry holds.
    pub(super) fn refuse_held_values(
        &self,
        name: &Name,
        type_id: TypeId,
        values: &[Vec<u8>],
        own: EntryId,
    ) -> Result<(), Stop> {
        let rules = self.catalog.rules.unique.iter();
        let covering = |rule: &&Unique| rule.covers(&self.schema, type_id);
        for rule in rules
            .filter(|rule| rule.place.covers(name))
            .filter(covering)
        {
            let bases = rule.bases(&self.batch.snapshot())?;
            for value in values {
                let mut types = rule.types.iter();
                types.try_for_each(|of| self.refuse_held_value(*of, value, &bases, Some(own)))?;
            }
        }
        Ok(())
    }

    /// Like [`refuse_held`](Self::refuse_held), for a renamed entry and the entries below it.
    pub(super) fn refuse_held_after_move(
        &self,
        own: Own<'_>,
        names: (&Name, &Name),
        draft: &Draft<'_>,
    ) -> Result<(), Stop> {
        let (old, new) = names;
        let all = Own {
            before: None,
            ..own
        };
        for rule in &self.catalog.rules.unique {
            let mut bases = rule.bases(&self.batch.snapshot())?;
            if rule.place.0.iter().any(|it| it != new && it.is_within(new)) {
                return Stop::refuse(
                    ResultCode::UNWILLING_TO_PERFORM,
                    "a rule in cn=rules,cn=config is for a subtree below the new name",
                );
            }
            if !rule.place.covers(new) {
                continue;
            }
            if rule.place.covers(old) {
                self.refuse_held_by(rule, &bases, draft, Some(own))?;
                continue;
            }
            // The rule applies to the whole subtree after the move.
            bases.push(own.id);
            self.refuse_held_by(rule, &bases, draft, Some(all))?;
            let mut links = 0;
            self.refuse_held_of_links(rule, &bases, own.id, &mut links)?;
            self.refuse_held_below(rule, &bases, own.id, links)?;
        }
        Ok(())
    }

    fn refuse_held_below(
        &self,
        rule: &Unique,
        bases: &[EntryId],
        top: EntryId,
        mut count: usize,
    ) -> Result<(), Stop> {
        let snapshot = self.batch.snapshot();
        let mut waiting = vec![top];
        while let Some(parent) = waiting.pop() {
            for id in snapshot.children(parent) {
                let id = id?;
                count += 1;
                refuse_many(count)?;
                let Some(view) = snapshot.entry(id)? else {
                    return Err(super::missing_row(id));
                };
                let draft = Draft::of(&view, &self.schema);
                let own = Own { id, before: None };
                self.refuse_held_by(rule, bases, &draft, Some(own))?;
                self.refuse_held_of_links(rule, bases, id, &mut count)?;
                waiting.push(id);
            }
        }
        Ok(())
    }

    /// Looks up the values of an entry that are links; returns their number.
    fn refuse_held_of_links(
        &self,
        rule: &Unique,
        bases: &[EntryId],
        id: EntryId,
        count: &mut usize,
    ) -> Result<(), Stop> {
        let catalog = self.catalog_now();
        let (snapshot, server) = (self.batch.snapshot(), Subject::server());
        let view = View::new(&snapshot, &catalog, &server);
        for set in snapshot.linked_sets(id)? {
            let known = self.schema.known(set.number);
            if !known.is_some_and(|it| rule.covers(&self.schema, it.type_id)) {
                continue;
            }
            let mut looked = Ok(());
            view.members_after(set.set, EntryId::ROOT, &mut |_, value| {
                *count += 1;
                let look = |value: &[u8]| {
                    let mut types = rule.types.iter();
                    types.try_for_each(|of| self.refuse_held_value(*of, value, bases, Some(id)))
                };
                looked = refuse_many(*count).and_then(|()| value.map_or(Ok(()), look));
                match looked {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            looked?;
        }
        Ok(())
    }

    fn refuse_held_by(
        &self,
        rule: &Unique,
        bases: &[EntryId],
        draft: &Draft<'_>,
        own: Option<Own<'_>>,
    ) -> Result<(), Stop> {
        for attribute in &draft.attributes {
            if !rule.covers(&self.schema, attribute.type_id)
                || own.is_some_and(|it| !it.changes(attribute.number))
            {
                continue;
            }
            let had = |value: &&[u8]| own.is_some_and(|it| it.had(attribute.number, value));
            for value in attribute.values.iter().filter(|it| !had(it)) {
                for of in &rule.types {
                    self.refuse_held_value(*of, value, bases, own.map(|it| it.id))?;
                }
            }
        }
        Ok(())
    }

    fn refuse_held_value(
        &self,
        of: TypeId,
        value: &[u8],
        bases: &[EntryId],
        own: Option<EntryId>,
    ) -> Result<(), Stop> {
        let attribute = self.schema.type_of(of).name();
        let filter = self
            .schema
            .resolve_filter(&Filter::Equality { attribute, value });
        let Some(holder) = self.other_match(&filter, bases, own)? else {
            return Ok(());
        };
        let text = held(attribute, value, &self.spelled_name(holder)?);
        Err(Refusal::new(ResultCode::CONSTRAINT_VIOLATION, text).into())
    }
}

/// Refuses to look up more values than a move may.
fn refuse_many(count: usize) -> Result<(), Stop> {
    if count <= MOVED_MAX {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::ADMIN_LIMIT_EXCEEDED,
        format!(
            "more than {MOVED_MAX} entries, or members of groups, would come under a rule of \
             unique values; move them in parts"
        ),
    )
}

/// Returns the text of the refusal that names the holder of a value.
pub fn held(attribute: &str, value: &[u8], holder: &str) -> String {
    let value = String::from_utf8_lossy(value);
    format!(
        "{attribute}: the value \"{value}\" is held by \"{holder}\", and no two entries may share \
         it"
    )
}
