//! Sampling: the share of entries that an assertion matches, and where they are.

use schema::{Assertion, Filter, Selector, Truth};

use super::planner::Planner;
use crate::entry::EntryView;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::order::Side;
use crate::snapshot::Snapshot;

/// Number of sampled entries: gives a share within some hundredths. Each costs about two
/// microseconds in memory, and up to a tenth of a millisecond on a disk.
const SAMPLES: u64 = 64;
/// Cost of reading an entry, in index rows.
const ENTRY_ROWS: u64 = 8;

/// The matches among sampled entries, which are evenly spread over all ids, and so over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// One bit for each sampled entry, the lowest for the lowest id.
    matching: u64,
}

impl Sample {
    /// Approximate number of matches among `entries` entries: between two sampled entries, half.
    pub fn share_of(self, entries: u64) -> u64 {
        let matching = u64::from(self.matching.count_ones());
        entries.saturating_mul(2 * matching + 1) / (2 * SAMPLES + 1)
    }

    /// Cost, in index rows, of walking over the entries behind an id until `wanted` matches are
    /// found; `None` when no sampled entry behind it matches.
    pub fn walk_rows(
        self,
        snapshot: &Snapshot<'_>,
        after: EntryId,
        wanted: u64,
    ) -> Result<Option<u64>, Error> {
        let first = after.0 / step(snapshot)?;
        let ahead = self.matching.checked_shr(first as u32).unwrap_or(0);
        if ahead == 0 {
            return Ok(None);
        }
        let each = snapshot.entry_count()? / SAMPLES + 1;
        let gap = each * u64::from(ahead.trailing_zeros());
        let left = SAMPLES - u64::from(ahead.trailing_zeros()) - first;
        let looked = wanted.saturating_mul(left) / u64::from(ahead.count_ones());
        Ok(Some(gap.saturating_add(looked).saturating_mul(ENTRY_ROWS)))
    }
}

/// Distance of ids between two samples.
fn step(snapshot: &Snapshot<'_>) -> Result<u64, Error> {
    Ok(snapshot.last_id()?.0 / SAMPLES + 1)
}

impl Planner<'_> {
    /// Samples whether entries have a value on one side of a bound.
    #[cold]
    pub(super) fn sample_order(
        &self,
        selector: &Selector,
        normal: &[u8],
        side: Side,
    ) -> Result<Sample, Error> {
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
        let mut scratch = Vec::new();
        self.sample(|view| filter.evaluate(&self.indexes.schema, view, &mut scratch) == Truth::True)
    }

    /// Samples entries with `test`.
    #[cold]
    pub(super) fn sample(
        &self,
        mut test: impl FnMut(&EntryView<'_>) -> bool,
    ) -> Result<Sample, Error> {
        let step = step(self.snapshot)?;
        let mut matching = 0;
        for at in 0..SAMPLES {
            let from = EntryId(step * at + 1);
            let Some(found) = self.snapshot.stored_entries_from(from).next() else {
                break;
            };
            let (_, view) = found?;
            matching |= u64::from(test(&view)) << at;
        }
        Ok(Sample { matching })
    }
}
