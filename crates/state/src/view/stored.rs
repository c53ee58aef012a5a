//! An entry as stored, including values that are links: what the filters of dynamic groups test. No
//! attribute is computed and none is hidden; assertions about secret attributes were taken out of
//! the filters.

use super::plain::PlainView;
use schema::{AttributeNumber, ValueSource};
use std::ops::ControlFlow;
use store::{EntryId, EntryView, LinkedSet};

/// An entry as it is stored.
pub(super) struct StoredEntry<'s, 'v> {
    pub view: &'s PlainView<'s>,
    pub id: EntryId,
    pub row: &'s EntryView<'v>,
}

impl StoredEntry<'_, '_> {
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
                self.view.pace.stop_filter(error.into());
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
            self.view.pace.stop_filter(stop);
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
                self.view.pace.stop_filter(stop);
                None
            }
        }
    }
}
