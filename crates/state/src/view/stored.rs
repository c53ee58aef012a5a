//! An entry as stored, including values that are links: what the filters of dynamic groups and of
//! access rules test. No attribute is computed and none is hidden; assertions about secret
//! attributes were taken out of the filters of groups.

use super::plain::PlainView;
use crate::stop::Stop;
use schema::{AttributeNumber, Filter, Truth, ValueSource};
use std::cell::OnceCell;
use std::ops::ControlFlow;
use store::{EntryId, EntryView, LinkedSet};

/// An entry as it is stored.
pub(super) struct StoredEntry<'s, 'v> {
    view: &'s PlainView<'s>,
    id: EntryId,
    row: &'s EntryView<'v>,
    /// The first reason why values could not be read.
    stop: OnceCell<Box<Stop>>,
}

impl<'s, 'v> StoredEntry<'s, 'v> {
    /// The truth of a filter for the entry.
    ///
    /// # Errors
    /// The reason why values could not be read.
    pub fn evaluate(
        view: &'s PlainView<'s>,
        id: EntryId,
        row: &'s EntryView<'v>,
        filter: &Filter,
        scratch: &mut Vec<u8>,
    ) -> Result<Truth, Stop> {
        let entry = StoredEntry::new(view, id, row);
        let truth = filter.evaluate(&view.catalog.schema, &entry, scratch);
        entry.finish(truth)
    }

    pub fn new(view: &'s PlainView<'s>, id: EntryId, row: &'s EntryView<'v>) -> Self {
        let stop = OnceCell::new();
        StoredEntry {
            view,
            id,
            row,
            stop,
        }
    }

    /// The truth found by reading values.
    ///
    /// # Errors
    /// The reason why values could not be read.
    pub fn finish(self, truth: Truth) -> Result<Truth, Stop> {
        match self.stop.into_inner() {
            None => Ok(truth),
            Some(stop) => Err(*stop),
        }
    }

    #[cold]
    fn stop(&self, stop: Stop) {
        self.stop.get_or_init(|| Box::new(stop));
    }

    // Separate from the row lookup of ordinary searches, which is inlined there.
    #[inline(never)]
    fn in_row(&self, number: AttributeNumber, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        self.row.any_value(number, test)
    }

    fn linked_set(&self, number: AttributeNumber) -> Option<LinkedSet> {
        let snapshot = self.view.snapshot;
        if !self.row.has_links() {
            return None;
        }
        match snapshot.linked_set(self.id, number) {
            Ok(set) => set,
            Err(error) => {
                self.stop(error.into());
                None
            }
        }
    }
}

impl ValueSource for StoredEntry<'_, '_> {
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        let stored = self.in_row(number, test);
        let Some(set) = stored.is_none().then(|| self.linked_set(number)).flatten() else {
            return stored;
        };
        let (mut some, mut found) = (false, false);
        let walked = self.view.each_value(set.set, &mut |value| {
            some = true;
            found = test(value);
            match found {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if let Err(stop) = walked {
            self.stop(stop);
        }
        some.then_some(found)
    }

    fn equal_value(
        &self,
        number: AttributeNumber,
        normal: &[u8],
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        let Some(set) = self.linked_set(number) else {
            return self.in_row(number, test);
        };
        match self.view.member_of_form(&set, normal) {
            Ok(member) => Some(member.is_some()),
            Err(stop) => {
                self.stop(stop);
                None
            }
        }
    }
}
