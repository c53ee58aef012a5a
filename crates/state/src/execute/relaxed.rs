//! Restrictions under relaxed rules (draft-zeilenga-ldap-relax-03): operational attributes may be
//! given but not removed, and must be consistent.

use super::Execution;
use super::draft::Draft;
use crate::stop::Stop;
use protocol::{Filter, ResultCode};
use schema::{AttributeNumber, TypeId};
use store::EntryId;

impl Execution<'_, '_> {
    /// Checks operational attributes given by an administrator: every entry has a unique entryUUID,
    /// creator and modifier, and times that are in order and not in the future. `own` is the entry
    /// if it exists already.
    pub(super) fn check_given(
        &self,
        draft: &Draft<'_>,
        given: &[AttributeNumber],
        own: Option<EntryId>,
    ) -> Result<(), Stop> {
        let known = &self.catalog.known;
        let kept = [
            &known.entry_uuid,
            &known.creators_name,
            &known.modifiers_name,
            &known.create_timestamp,
            &known.modify_timestamp,
        ];
        if !kept.iter().any(|it| given.contains(&it.number)) {
            return Ok(());
        }
        for it in kept {
            if draft
                .find(it.number)
                .is_none_or(|it| it.values.iter().count() != 1)
            {
                let name = self.schema.type_of(it.type_id).name();
                let text = format!("{name}: an entry has one value of it, always");
                return Stop::refuse(ResultCode::CONSTRAINT_VIOLATION, text);
            }
        }
        self.check_times(draft)?;
        if given.contains(&known.entry_uuid.number) {
            self.refuse_taken_uuid(draft, own)?;
        }
        Ok(())
    }

    /// Checks that createTimestamp, modifyTimestamp and the record's time are in this order.
    fn check_times(&self, draft: &Draft<'_>) -> Result<(), Stop> {
        let known = &self.catalog.known;
        let moment = |number: AttributeNumber, type_id: TypeId| {
            let value = draft.find(number)?.values.iter().next()?.to_vec();
            self.moment(type_id, &value)
        };
        let created = moment(
            known.create_timestamp.number,
            known.create_timestamp.type_id,
        );
        let modified = moment(
            known.modify_timestamp.number,
            known.modify_timestamp.type_id,
        );
        let now = self.moment(known.modify_timestamp.type_id, self.timestamp.as_bytes());
        if created <= modified && modified <= now {
            return Ok(());
        }
        Stop::refuse(
            ResultCode::CONSTRAINT_VIOLATION,
            "expected createTimestamp not after modifyTimestamp, and both not in the future",
        )
    }

    /// Returns a time in a form that sorts; `None` for a text that is no time.
    fn moment(&self, type_id: TypeId, value: &[u8]) -> Option<Vec<u8>> {
        let mut form = Vec::new();
        let ordered = self.schema.normalise_ordering(type_id, value, &mut form);
        ordered.is_ok().then_some(form)
    }

    fn refuse_taken_uuid(&self, draft: &Draft<'_>, own: Option<EntryId>) -> Result<(), Stop> {
        let known = &self.catalog.known.entry_uuid;
        let Some(uuid) = draft
            .find(known.number)
            .and_then(|it| it.values.iter().next())
        else {
            return Ok(());
        };
        let filter = self.schema.resolve_filter(&Filter::Equality {
            attribute: "entryUUID",
            value: uuid,
        });
        if self.other_match(&filter, &[EntryId::ROOT], own)?.is_some() {
            let text = "another entry has this entryUUID";
            return Stop::refuse(ResultCode::CONSTRAINT_VIOLATION, text);
        }
        Ok(())
    }
}
