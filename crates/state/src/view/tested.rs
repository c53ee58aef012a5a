//! Filters on an entry. Values that are computed, or links, are read by walks, which may fail: then
//! the filter has no truth, and its evaluation returns the reason.

use super::entry::VisibleEntry;
use super::membership::Reach;
use super::plain::Place;
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
    /// The first reason why values could not be read. Walks are left out from then on: they must
    /// not overwrite the progress of the one that the slice has ended.
    stop: OnceCell<Box<Stop>>,
}

impl<'c, 'a> VisibleEntry<'c, 'a> {
    /// The truth of a filter for this entry.
    ///
    /// # Errors
    /// The reason why an assertion could not be tested.
    #[inline]
    pub fn evaluate(&self, filter: &Filter, scratch: &mut Vec<u8>) -> Result<Truth, Stop> {
        self.tested(|it| filter.evaluate(&self.view.catalog.schema, it, scratch))
    }

    /// The result of a test of the entry's values.
    ///
    /// # Errors
    /// The reason why values could not be read: the result means nothing then.
    #[inline]
    pub fn tested<T>(&self, test: impl FnOnce(&Tested<'_, 'c, 'a>) -> T) -> Result<T, Stop> {
        let tested = Tested::new(self);
        let result = test(&tested);
        tested.finish(result)
    }

    /// Whether links of an attribute lead from the entry to a name.
    fn leads_to(&self, selector: &Selector, target: &Name) -> Result<bool, Stop> {
        let view = self.view;
        let reach = match view.reach_of(selector.type_id) {
            None => return view.leads_to(self.id, selector, target),
            Some(Reach::Everything) => Reach::Everything,
            Some(_) => Reach::Nested,
        };
        let Place::Found(target) = view.find(target)? else {
            return Ok(false);
        };
        let groups = view.groups_of(self.id, reach)?;
        Ok(groups.iter().any(|it| it.id == target))
    }
}

impl<'t, 'c, 'a> Tested<'t, 'c, 'a> {
    #[inline]
    pub(super) fn new(entry: &'t VisibleEntry<'c, 'a>) -> Self {
        let stop = OnceCell::new();
        Tested { entry, stop }
    }

    /// Whether values could not be read.
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.get().is_some()
    }

    /// Records the first reason why values could not be read.
    #[cold]
    pub(super) fn stop(&self, stop: Stop) {
        self.stop.get_or_init(|| Box::new(stop));
    }

    /// Returns `result`, or the reason why values could not be read.
    #[inline]
    pub(super) fn finish<T>(self, result: T) -> Result<T, Stop> {
        match self.stop.into_inner() {
            None => Ok(result),
            Some(stop) => Err(*stop),
        }
    }

    /// The result of a walk; `None` if it fails, or another one has failed.
    fn walked<T>(&self, walk: impl FnOnce() -> Result<Option<T>, Stop>) -> Option<T> {
        if self.is_stopped() {
            return None;
        }
        walk().unwrap_or_else(|stop| {
            self.stop(stop);
            None
        })
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
        if !entry.shows(number) {
            return None;
        }
        match entry.row.any_value(number, test) {
            None if entry.has_links() => match self.any_linked(number, test) {
                None if entry.view.catalog.has_collective => entry.any_lent(number, test),
                linked => linked,
            },
            None if entry.view.catalog.has_collective => entry.any_lent(number, test),
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
        if self.entry.has_links()
            && let Ok(Some(set)) = self.entry.linked_set(number)
        {
            return self.entry.has_linked(&set, normal).ok();
        }
        self.any_value(number, test)
    }

    fn finds_values(&self, number: AttributeNumber) -> bool {
        self.entry.has_links() && matches!(self.entry.linked_set(number), Ok(Some(_)))
    }

    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        self.walked(|| self.entry.computed_values(type_id, test))
    }

    fn spelled_name(&self) -> Option<String> {
        let mut spelled = Vec::with_capacity(64);
        self.entry.write_name(&mut spelled).ok()?;
        String::from_utf8(spelled).ok()
    }

    fn id(&self) -> Option<u64> {
        Some(self.entry.id.0)
    }

    fn is_member(&self, group: &Membership) -> Option<bool> {
        let snapshot = self.entry.view.snapshot;
        // Reads the current set: all members may have been replaced since the search began.
        match snapshot
            .linked_set(EntryId(group.group), group.number)
            .ok()?
        {
            Some(set) if snapshot.has_member(set.set, self.entry.id).ok()? => Some(true),
            // The set may hold the entry's name as a text, if the entry moved to that name with its
            // superior.
            Some(set) => {
                let text = snapshot.text_id(self.entry.name()?.bytes()).ok()?;
                text.map_or(Some(false), |it| snapshot.has_member(set.set, it).ok())
            }
            None => Some(false),
        }
    }

    fn in_chain(&self, assertion: &ExtensibleAssertion) -> Option<bool> {
        let target = Name::from_bytes(&assertion.normal);
        self.walked(|| {
            for selector in &assertion.selectors {
                if self.entry.leads_to(selector, &target)? {
                    return Ok(Some(true));
                }
            }
            Ok(Some(false))
        })
    }
}
