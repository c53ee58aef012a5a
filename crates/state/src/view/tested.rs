//! Filters on an entry. Reading values that are computed, or links, may fail or end with the slice:
//! then the filter has no truth, and its evaluation returns the reason.

use super::entry::VisibleEntry;
use super::membership::Reach;
use super::plain::Place;
use crate::done;
use crate::progress::Progress;
use crate::stop::Stop;
use schema::{
    AttributeNumber, ExtensibleAssertion, Filter, Membership, Name, Selector, Truth, TypeId,
    ValueSource,
};
use std::cell::OnceCell;
use store::EntryId;

/// An entry whose values are tested, made by [`VisibleEntry::tested`].
pub struct Tested<'t, 'c, 'a> {
    pub(super) entry: &'t VisibleEntry<'c, 'a>,
    /// The first reason why values were not read; empty while all were. Walks are left out from
    /// then on: they must not overwrite the progress of the one that the slice has ended.
    unread: OnceCell<Box<Unread>>,
}

/// Reason why values of an entry were not read.
enum Unread {
    /// The slice ended.
    Yielded,
    Stopped(Stop),
}

impl<'c, 'a> VisibleEntry<'c, 'a> {
    /// The truth of a filter for this entry, found in one piece.
    ///
    /// # Errors
    /// The reason why an assertion could not be tested.
    #[inline]
    pub fn evaluate(&self, filter: &Filter, scratch: &mut Vec<u8>) -> Result<Truth, Stop> {
        self.whole(|| self.evaluate_sliced(filter, scratch))
    }

    /// The truth of a filter for this entry. Yields when walks over groups or links use up the
    /// slice; the next slice evaluates the filter again.
    ///
    /// # Errors
    /// The reason why an assertion could not be tested.
    #[inline]
    pub fn evaluate_sliced(
        &self,
        filter: &Filter,
        scratch: &mut Vec<u8>,
    ) -> Result<Progress<Truth>, Stop> {
        self.tested_sliced(|it| filter.evaluate(&self.view.catalog.schema, it, scratch))
    }

    /// The result of a test of the entry's values, made in one piece.
    ///
    /// # Errors
    /// The reason why values could not be read: the result means nothing then.
    #[inline]
    pub fn tested<T>(&self, test: impl FnOnce(&Tested<'_, 'c, 'a>) -> T) -> Result<T, Stop> {
        self.whole(|| self.tested_sliced(test))
    }

    /// The result of a test of the entry's values. Yields when the slice ended before all of them
    /// were read.
    ///
    /// # Errors
    /// The reason why values could not be read: the result means nothing then.
    #[inline]
    pub fn tested_sliced<T>(
        &self,
        test: impl FnOnce(&Tested<'_, 'c, 'a>) -> T,
    ) -> Result<Progress<T>, Stop> {
        let tested = Tested::new(self);
        let result = test(&tested);
        tested.finish(result)
    }

    /// Whether links of an attribute lead from the entry to a name.
    fn leads_to(&self, selector: &Selector, target: &Name) -> Result<Progress<bool>, Stop> {
        let view = self.view;
        let reach = match view.reach_of(selector.type_id) {
            None => return view.leads_to(self.id, selector, target),
            Some(Reach::Everything) => Reach::Everything,
            Some(_) => Reach::Nested,
        };
        let Place::Found(target) = view.find(target)? else {
            return Ok(Progress::Done(false));
        };
        let groups = done!(view.groups_of(self.id, reach)?);
        Ok(Progress::Done(groups.iter().any(|it| it.id == target)))
    }

    /// Whether the entry is a member of a group by its links. `None` if its own name, which the
    /// group may hold as a text, cannot be resolved.
    fn is_linked_by(&self, group: &Membership) -> Result<Option<bool>, Stop> {
        let snapshot = self.view.snapshot;
        // Reads the current set: all members may have been replaced since the search began.
        let Some(set) = snapshot.linked_set(EntryId(group.group), group.number)? else {
            return Ok(Some(false));
        };
        if snapshot.has_member(set.set, self.id)? {
            return Ok(Some(true));
        }
        // The set may hold the entry's name as a text, if the entry moved to that name with its
        // superior.
        let spelled = self.spelled_name()?;
        let Ok(name) = self.view.catalog.schema.resolve_name(&spelled) else {
            return Ok(None);
        };
        let text = snapshot.text_id(name.bytes())?;
        Ok(Some(match text {
            Some(text) => snapshot.has_member(set.set, text)?,
            None => false,
        }))
    }
}

impl<'t, 'c, 'a> Tested<'t, 'c, 'a> {
    #[inline]
    pub(super) fn new(entry: &'t VisibleEntry<'c, 'a>) -> Self {
        let unread = OnceCell::new();
        Tested { entry, unread }
    }

    /// Whether values were not read.
    #[inline]
    pub(super) fn is_cut(&self) -> bool {
        self.unread.get().is_some()
    }

    /// Records that the slice ended, unless values were not read before.
    #[cold]
    pub(super) fn give_way(&self) {
        self.unread.get_or_init(|| Box::new(Unread::Yielded));
    }

    /// Records why values could not be read, unless values were not read before.
    #[cold]
    pub(super) fn stop(&self, stop: Stop) {
        self.unread.get_or_init(|| Box::new(Unread::Stopped(stop)));
    }

    /// Returns `result`, or the reason why values were not read.
    #[inline]
    pub(super) fn finish<T>(self, result: T) -> Result<Progress<T>, Stop> {
        match self.unread.into_inner() {
            None => Ok(Progress::Done(result)),
            Some(unread) => match *unread {
                Unread::Yielded => Ok(Progress::Yield),
                Unread::Stopped(stop) => Err(stop),
            },
        }
    }

    /// The result of a walk; `None` if it did not end, or values were not read before.
    fn walked<T>(&self, walk: impl FnOnce() -> Result<Progress<Option<T>>, Stop>) -> Option<T> {
        if self.is_cut() {
            return None;
        }
        match self.read(walk())? {
            Progress::Done(result) => result,
            Progress::Yield => {
                self.give_way();
                None
            }
        }
    }

    /// The value read; `None` if reading failed, which is recorded.
    fn read<T>(&self, read: Result<T, Stop>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(stop) => {
                self.stop(stop);
                None
            }
        }
    }

    /// Like [`ValueSource::equal_value`], for an entry with links.
    #[inline(never)]
    fn equal_linked(
        &self,
        number: AttributeNumber,
        normal: &[u8],
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        match self.read(self.entry.linked_set(number))? {
            Some(set) => self.read(self.entry.has_linked(&set, normal)),
            None => self.any_value(number, test),
        }
    }

    #[inline(never)]
    fn any_lent(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        self.read(self.entry.any_lent(number, test)).flatten()
    }

    #[inline(never)]
    fn any_linked(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        self.walked(|| self.entry.any_linked(number, test))
    }
}

impl ValueSource for Tested<'_, '_, '_> {
    #[inline]
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        let entry = self.entry;
        if !entry.is_found_by(number) {
            return None;
        }
        match entry.row.any_value(number, test) {
            None if entry.has_links() => match self.any_linked(number, test) {
                None if entry.view.catalog.has_collective => self.any_lent(number, test),
                linked => linked,
            },
            None if entry.view.catalog.has_collective => self.any_lent(number, test),
            stored => stored,
        }
    }

    #[inline]
    fn equal_value(
        &self,
        number: AttributeNumber,
        normal: &[u8],
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        match self.entry.has_links() && self.entry.is_found_by(number) {
            true => self.equal_linked(number, normal, test),
            false => self.any_value(number, test),
        }
    }

    fn finds_values(&self, number: AttributeNumber) -> bool {
        self.entry.has_links()
            && self.entry.is_found_by(number)
            && matches!(self.read(self.entry.linked_set(number)), Some(Some(_)))
    }

    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        if !self.entry.is_found_by_type(type_id) {
            return None;
        }
        self.walked(|| self.entry.computed_values(type_id, test))
    }

    fn spelled_name(&self) -> Option<String> {
        let mut spelled = Vec::with_capacity(64);
        self.read(self.entry.write_name(&mut spelled))?;
        String::from_utf8(spelled).ok()
    }

    fn id(&self) -> Option<u64> {
        Some(self.entry.id.0)
    }

    fn is_member(&self, group: &Membership) -> Option<bool> {
        if !self.entry.view.may_ask_members(group) {
            return None;
        }
        self.read(self.entry.is_linked_by(group)).flatten()
    }

    fn in_chain(&self, assertion: &ExtensibleAssertion) -> Option<bool> {
        let target = Name::from_bytes(&assertion.normal);
        self.walked(|| {
            for selector in &assertion.selectors {
                if done!(self.entry.leads_to(selector, &target)?) {
                    return Ok(Progress::Done(Some(true)));
                }
            }
            Ok(Progress::Done(Some(false)))
        })
    }
}
