//! Rules of dynamic entries in execution (RFC 2589): static entries below dynamic ones are refused,
//! an entry neither becomes dynamic nor stops being so, and ends are reported to the schedule.

use super::Execution;
use super::draft::Draft;
use crate::stop::Stop;
use crate::time;
use protocol::ResultCode;
use schema::AttributeNumber;
use store::{EntryId, EntryView};

/// The class that makes an entry dynamic.
pub const DYNAMIC_CLASS: &str = "dynamicObject";
/// Returns whether an entry of these classes is dynamic.
pub fn is_dynamic<'v>(mut classes: impl Iterator<Item = &'v [u8]>) -> bool {
    classes.any(|it| it.eq_ignore_ascii_case(DYNAMIC_CLASS.as_bytes()))
}

impl Execution<'_, '_> {
    /// Number of the attribute that holds an entry's end; `None` before the first dynamic entry of
    /// this database.
    pub(super) fn end_number(&self) -> Option<AttributeNumber> {
        let numbers = self.schema.numbers_of(self.catalog.computed.entry_end);
        numbers.first().copied()
    }

    /// Refuses a static entry below a dynamic one (RFC 2589 §3).
    pub(super) fn refuse_static_below_dynamic(
        &self,
        parent: EntryId,
        draft: &Draft<'_>,
    ) -> Result<(), Stop> {
        let Some(number) = self.end_number() else {
            return Ok(());
        };
        if parent.0 == 0 || draft.find(number).is_some() {
            return Ok(());
        }
        let snapshot = self.batch.snapshot();
        match snapshot.entry(parent)? {
            Some(parent) if parent.attribute(number).is_some() => Stop::refuse(
                ResultCode::OBJECT_CLASS_VIOLATION,
                "an entry below a dynamic entry must be dynamic, too",
            ),
            _ => Ok(()),
        }
    }

    /// Refuses a change of classes or end that would make a static entry dynamic or the reverse.
    pub(super) fn refuse_other_lifetime(
        &self,
        before: &EntryView<'_>,
        after: &Draft<'_>,
        numbers: &[AttributeNumber],
    ) -> Result<(), Stop> {
        let object_class = self.catalog.known.object_class.number;
        let end = self.end_number();
        let touches_end = end.is_some_and(|it| numbers.contains(&it));
        if !touches_end && !numbers.contains(&object_class) {
            return Ok(());
        }
        let classes = before.attribute(object_class);
        let was = classes.is_some_and(|it| is_dynamic(it.values().into_iter()));
        let classes = after.find(object_class);
        let is = classes.is_some_and(|it| is_dynamic(it.values.iter()));
        if was != is {
            return Stop::refuse(
                ResultCode::OBJECT_CLASS_MODS_PROHIBITED,
                "an entry cannot become dynamic or stop being so: delete it and add it again",
            );
        }
        if touches_end && !is {
            return Stop::refuse(
                ResultCode::OBJECT_CLASS_VIOLATION,
                "the entry is not dynamic: it has no time to live",
            );
        }
        Ok(())
    }

    /// Reports the end of an entry that was written.
    pub(super) fn notice_end(&mut self, id: EntryId, end: Option<Vec<u8>>) {
        if let Some(seconds) = end.and_then(|it| time::seconds_of(&it)) {
            self.noticed.ending.push((seconds, id));
        }
    }

    /// Returns the end of the entry; `None` if none of the changed attributes holds it.
    pub(super) fn changed_end(
        &self,
        draft: &Draft<'_>,
        numbers: &[AttributeNumber],
    ) -> Option<Vec<u8>> {
        numbers
            .contains(&self.end_number()?)
            .then(|| self.end_of(draft))?
    }

    /// Returns the end of the entry; `None` if it is not dynamic.
    pub(super) fn end_of(&self, draft: &Draft<'_>) -> Option<Vec<u8>> {
        let attribute = draft.find(self.end_number()?)?;
        attribute.values.iter().next().map(<[u8]>::to_vec)
    }
}
