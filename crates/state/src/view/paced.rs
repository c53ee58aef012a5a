//! Evaluates a filter on an entry in slices, for filters of thousands of assertions or entries of
//! thousands of values.
//!
//! Between slices two things are kept: the truth of each finished assertion, in the order of
//! evaluation, which never differs, and the number of values that the next assertion has tested.
//! The next slice reads the truths again and skips the values, at some nanoseconds each.

use super::View;
use super::entry::VisibleEntry;
use super::tested::Tested;
use super::walks::Evaluation;
use crate::progress::Progress;
use crate::stop::Stop;
use schema::{
    AttributeNumber, ExtensibleAssertion, Filter, Membership, Truth, TypeId, ValueSource,
};
use std::cell::{Cell, RefCell};

/// An entry is evaluated in one piece if its row has at most this many bytes for each assertion of
/// the filter: that takes a sixth of a millisecond even if each assertion tests all of them.
const WHOLE_BYTES: usize = 16 * 1024;
/// Work between two looks at the clock. The unit is the test of one value of 64 octets, some
/// hundred nanoseconds.
const UNITS: u32 = 64;
const OCTETS_PER_UNIT: usize = 64;
/// Units of one evaluation that cannot be divided: some 50 ms.
const UNDIVIDED_UNITS_MAX: u32 = 262_144;

/// An entry with the progress of evaluating a filter on it.
struct Paced<'p, 'c, 'a> {
    tested: Tested<'p, 'c, 'a>,
    known: RefCell<Vec<Truth>>,
    /// Index of the next assertion.
    next: Cell<usize>,
    /// Values that the next assertion has shown, and how many of them it may skip.
    shown: Cell<usize>,
    skipped: Cell<usize>,
    units: Cell<u32>,
    units_looked: Cell<u32>,
}

/// Maximum length of an entry, in bytes, for evaluating a filter of this weight in one piece.
pub fn whole_bytes_max(weight: usize) -> usize {
    WHOLE_BYTES / weight.max(1)
}

impl View<'_> {
    /// The truth of a filter for an entry. Yields when the slice is over and may be followed by
    /// another.
    ///
    /// # Errors
    /// A refusal if the work exceeds the limit and cannot be divided, or if an assertion cannot be
    /// tested.
    #[cold]
    pub fn evaluate_paced(
        &self,
        filter: &Filter,
        entry: &VisibleEntry<'_, '_>,
        scratch: &mut Vec<u8>,
    ) -> Result<Progress<Truth>, Stop> {
        let kept = std::mem::take(&mut self.walks().evaluation);
        let is_same = kept.entry == entry.id && kept.position == entry.position();
        let kept = if is_same { kept } else { Evaluation::default() };
        let paced = Paced {
            tested: Tested::new(entry),
            known: RefCell::new(kept.known),
            next: Cell::new(0),
            shown: Cell::new(0),
            skipped: Cell::new(kept.tested),
            units: Cell::new(0),
            units_looked: Cell::new(0),
        };
        let truth = filter.evaluate(&self.catalog.schema, &paced, scratch);
        if paced.tested.is_cut() {
            self.walks().evaluation = Evaluation {
                entry: entry.id,
                position: entry.position(),
                tested: paced.shown.get().max(paced.skipped.get()),
                known: paced.known.take(),
            };
        }
        paced.tested.finish(truth)
    }
}

impl Paced<'_, '_, '_> {
    /// Takes units of work; false when the slice is over.
    fn spend(&self, units: u32) -> bool {
        let pace = &self.tested.entry.view.pace;
        let spent = self.units.get().saturating_add(units);
        self.units.set(spent);
        if spent < self.units_looked.get() {
            return true;
        }
        self.units_looked.set(spent.saturating_add(UNITS));
        if pace.is_divided() {
            let late = pace.is_late();
            if late {
                self.tested.give_way();
            }
            return !late;
        }
        match pace.require_light(spent, UNDIVIDED_UNITS_MAX) {
            Ok(()) => true,
            Err(stop) => {
                self.tested.stop(stop);
                false
            }
        }
    }
}

impl ValueSource for Paced<'_, '_, '_> {
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        if self.is_left() {
            return None;
        }
        let Some(stored) = self.tested.entry.attribute(number) else {
            // Values that are links are walked in slices of their own.
            return self.tested.any_value(number, test);
        };
        let mut left = false;
        let found = stored.values().into_iter().any(|value| {
            let shown = self.shown.get();
            if shown >= self.skipped.get() {
                let octets = u32::try_from(value.len() / OCTETS_PER_UNIT).unwrap_or(u32::MAX);
                left = !self.spend(octets.saturating_add(1));
                if left || test(value) {
                    return true;
                }
            }
            self.shown.set(shown + 1);
            false
        });
        Some(found && !left)
    }

    fn equal_value(
        &self,
        number: AttributeNumber,
        normal: &[u8],
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        match self.tested.finds_values(number) {
            true => self.tested.equal_value(number, normal, test),
            false => self.any_value(number, test),
        }
    }

    fn finds_values(&self, number: AttributeNumber) -> bool {
        self.tested.finds_values(number)
    }

    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        match self.is_left() {
            true => None,
            false => self.tested.any_virtual(type_id, test),
        }
    }

    fn spelled_name(&self) -> Option<String> {
        self.tested.spelled_name()
    }

    fn id(&self) -> Option<u64> {
        self.tested.id()
    }

    fn is_member(&self, group: &Membership) -> Option<bool> {
        self.tested.is_member(group)
    }

    fn in_chain(&self, assertion: &ExtensibleAssertion) -> Option<bool> {
        self.tested.in_chain(assertion)
    }

    fn known_truth(&self) -> Option<Truth> {
        let next = self.next.get();
        if let Some(known) = self.known.borrow().get(next) {
            self.next.set(next + 1);
            return Some(*known);
        }
        // An assertion costs one unit even on an entry without such values.
        (!self.spend(1)).then_some(Truth::Undefined)
    }

    fn note_truth(&self, truth: Truth) {
        if self.is_left() {
            return;
        }
        self.known.borrow_mut().push(truth);
        self.next.set(self.next.get() + 1);
        self.shown.set(0);
        self.skipped.set(0);
        self.tested.entry.view.forget_values();
    }

    fn is_left(&self) -> bool {
        self.tested.is_cut()
    }
}
