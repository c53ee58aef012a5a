//! Values that no two entries may share, decided in the order of execution: two writes that come
//! at once are one after the other here, so only one of them gets the value.

use super::Execution;
use super::draft::Draft;
use crate::rules::Unique;
use crate::stop::{Refusal, Stop};
use protocol::{Filter, ResultCode};
use schema::{AttributeNumber, Name, TypeId};
use store::EntryId;

/// Entries that one move may bring under a rule: each of their values has to be looked up.
const MOVED_MAX: usize = 10_000;

impl Execution<'_, '_> {
    /// Refuses values that another entry holds. `changed` are the attributes that the write is
    /// about (without: all), `own` the entry itself if it exists.
    pub(super) fn refuse_held(
        &self,
        name: &Name,
        draft: &Draft<'_>,
        changed: Option<&[AttributeNumber]>,
        own: Option<EntryId>,
    ) -> Result<(), Stop> {
        let rules = self.catalog.rules.unique.iter();
        for rule in rules.filter(|rule| rule.place.covers(name)) {
            let bases = rule.bases(&self.batch.snapshot())?;
            self.refuse_held_by(rule, &bases, draft, changed, own)?;
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
        for rule in rules.filter(|rule| rule.place.covers(name)) {
            let covering = |of: &&TypeId| self.schema.is_subtype(type_id, **of);
            for of in rule.types.iter().filter(covering) {
                let bases = rule.bases(&self.batch.snapshot())?;
                for value in values {
                    self.refuse_held_value(*of, value, &bases, Some(own))?;
                }
            }
        }
        Ok(())
    }

    /// The same for an entry that gets another name, and for what is below it.
    pub(super) fn refuse_held_after_move(
        &self,
        id: EntryId,
        names: (&Name, &Name),
        draft: &Draft<'_>,
        changed: &[AttributeNumber],
    ) -> Result<(), Stop> {
        let (old, new) = names;
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
                self.refuse_held_by(rule, &bases, draft, Some(changed), Some(id))?;
                continue;
            }
            // All of it comes under the rule.
            bases.push(id);
            self.refuse_held_by(rule, &bases, draft, None, Some(id))?;
            self.refuse_held_below(rule, &bases, id)?;
        }
        Ok(())
    }

    fn refuse_held_below(
        &self,
        rule: &Unique,
        bases: &[EntryId],
        top: EntryId,
    ) -> Result<(), Stop> {
        let snapshot = self.batch.snapshot();
        let mut waiting = vec![top];
        let mut count = 0;
        while let Some(parent) = waiting.pop() {
            for id in snapshot.children(parent) {
                let id = id?;
                count += 1;
                if count > MOVED_MAX {
                    return Stop::refuse(
                        ResultCode::ADMIN_LIMIT_EXCEEDED,
                        format!(
                            "more than {MOVED_MAX} entries would come under a rule of unique \
                             values; move them in parts"
                        ),
                    );
                }
                let Some(view) = snapshot.entry(id)? else {
                    return Err(super::missing_row(id));
                };
                let draft = Draft::of(&view, &self.schema);
                self.refuse_held_by(rule, bases, &draft, None, Some(id))?;
                waiting.push(id);
            }
        }
        Ok(())
    }

    fn refuse_held_by(
        &self,
        rule: &Unique,
        bases: &[EntryId],
        draft: &Draft<'_>,
        changed: Option<&[AttributeNumber]>,
        own: Option<EntryId>,
    ) -> Result<(), Stop> {
        for attribute in &draft.attributes {
            let covers = |of: &TypeId| self.schema.is_subtype(attribute.type_id, *of);
            if !rule.types.iter().any(covers)
                || changed.is_some_and(|it| !it.contains(&attribute.number))
            {
                continue;
            }
            for value in attribute.values.iter() {
                for of in &rule.types {
                    self.refuse_held_value(*of, value, bases, own)?;
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

/// Says who has the value.
pub(crate) fn held(attribute: &str, value: &[u8], holder: &str) -> String {
    let value = String::from_utf8_lossy(value);
    format!(
        "{attribute}: the value \"{value}\" is held by \"{holder}\", and no two entries may share \
         it"
    )
}
