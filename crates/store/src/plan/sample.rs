//! How many entries an assertion matches, told by asking some.

use schema::{Assertion, Filter, Selector, Truth};

use super::estimate::Planner;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::order::Side;

/// Entries that are asked: a share is known to some hundredths. Each costs about two microseconds
/// in memory, and up to a tenth of a millisecond on a disk.
const SAMPLES: u64 = 64;

impl Planner<'_> {
    /// About how many entries have a value on one side of a bound.
    #[cold]
    pub(super) fn sampled(
        &self,
        selector: &Selector,
        normal: &[u8],
        side: Side,
    ) -> Result<u64, Error> {
        let assertion = Assertion {
            selector: selector.clone(),
            given: Box::default(),
            normal: normal.into(),
            alternatives: Vec::new(),
        };
        let filter = match side {
            Side::From => Filter::GreaterOrEqual(assertion),
            Side::UpTo => Filter::LessOrEqual(assertion),
        };
        let entries = self.snapshot.entry_count()?;
        let last = self.snapshot.last_id()?.0;
        let (mut asked, mut matching) = (0_u64, 0_u64);
        let mut scratch = Vec::new();
        for at in 0..SAMPLES {
            // Evenly spread over all ids, and so by time: values often grow with it.
            let from = EntryId(last / SAMPLES * at + 1);
            let Some(found) = self.snapshot.stored_entries_from(from).next() else {
                break;
            };
            let (_, view) = found?;
            asked += 1;
            let truth = filter.evaluate(&self.indexes.schema, &view, &mut scratch);
            matching += u64::from(truth == Truth::True);
        }
        // Of those between two that were asked, half.
        Ok(entries.saturating_mul(2 * matching + 1) / (2 * asked + 1))
    }
}
