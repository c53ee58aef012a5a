//! Values of an entry that are links, as its subject may see them.

use super::View;
use super::entry::VisibleEntry;
use super::members::write_member;
use crate::done;
use crate::progress::Progress;
use crate::stop::Stop;
use schema::AttributeNumber;
use smallvec::SmallVec;
use std::ops::ControlFlow;
use store::{EntryId, LinkedSet, Members, SetId};

impl View<'_> {
    /// Calls `each` for the values of one of an entry's sets until `each` returns true; whether it
    /// did. A walk that the slice ends continues in the next one.
    fn values_once(
        &self,
        entry: EntryId,
        set: SetId,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Progress<bool>, Stop> {
        let mut last = EntryId::ROOT;
        if !self.pace.is_divided() {
            return self.walk_values(set, &mut last, each);
        }
        match self.walks().values.so_far(entry, set) {
            Ok(after) => last = after,
            Err(found) => return Ok(Progress::Done(found)),
        }
        let walked = self.walk_values(set, &mut last, each)?;
        let values = &mut self.walks().values;
        match walked {
            Progress::Done(found) => values.finish(found),
            Progress::Yield => values.pause(set, last),
        }
        Ok(walked)
    }
}

impl VisibleEntry<'_, '_> {
    /// Whether the entry may have values that are links.
    #[inline]
    pub fn has_links(&self) -> bool {
        self.row.has_links() && self.id.is_entry()
    }

    /// The sets of links that the subject may see.
    pub fn linked_sets(&self) -> Result<SmallVec<[LinkedSet; 2]>, Stop> {
        if !self.has_links() {
            return Ok(SmallVec::new());
        }
        let mut sets = self.view.snapshot.linked_sets(self.id)?;
        sets.retain(|it| self.shows(it.number));
        Ok(sets)
    }

    /// The set of an attribute; `None` if its values are not links.
    pub fn linked_set(&self, number: AttributeNumber) -> Result<Option<LinkedSet>, Stop> {
        if !self.has_links() || !self.shows(number) {
            return Ok(None);
        }
        Ok(self.view.snapshot.linked_set(self.id, number)?)
    }

    /// Calls `each` for the values of a set until it breaks.
    pub fn linked_values(
        &self,
        set: SetId,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.view.each_value(set, each)
    }

    /// The members of a set by id, without the first `skip`.
    pub fn members_from(&self, set: SetId, skip: u64) -> Result<Members<'_>, Stop> {
        Ok(self.view.snapshot.members_from(set, skip)?)
    }

    /// Appends the value of a member, as the function [`write_member`].
    pub fn write_member(
        &self,
        set: SetId,
        member: EntryId,
        out: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let (snapshot, catalog) = (self.view.snapshot, self.view.catalog);
        Ok(write_member(snapshot, catalog, set, member, out)?)
    }

    /// Whether a set has a value of this normal form.
    pub fn has_linked(&self, set: &LinkedSet, normal: &[u8]) -> Result<bool, Stop> {
        Ok(self.member_of_form(set, normal)?.is_some())
    }

    /// The member of a set with this normal form; `None` if there is none.
    pub fn member_of_form(&self, set: &LinkedSet, normal: &[u8]) -> Result<Option<EntryId>, Stop> {
        self.view.member_of_form(set, normal)
    }

    /// Calls `test` for values that are links, as [`schema::ValueSource::any_value`] does.
    pub(super) fn any_linked(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Progress<Option<bool>>, Stop> {
        let Some(set) = self.linked_set(number)? else {
            return Ok(Progress::Done(None));
        };
        let mut some = false;
        let each = &mut |value: &[u8]| {
            some = true;
            test(value)
        };
        let found = done!(self.view.values_once(self.id, set.set, each)?);
        Ok(Progress::Done((some || found).then_some(found)))
    }
}
