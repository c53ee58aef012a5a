//! Collecting candidates in slices.
//!
//! Entries are read in the order of ids, while an ordering index or the names below an entry give
//! ids in another order: all must be collected before the first entry is read. So must the members
//! of groups and the owners of sets when an AND or OR combines them with other candidates. Other
//! clients wait meanwhile, so very many rows are walked in slices.

use roaring::RoaringTreemap;

use super::Plan;
use super::costs::SLICE_ROWS;
use super::fetch::fetch;
use super::gathering::Gathering;
use super::step::Step;
use crate::candidates::Candidates;
use crate::error::Error;
use crate::id::EntryId;
use crate::snapshot::Snapshot;

impl Snapshot<'_> {
    /// Returns the candidates of a plan with ids greater than `after`, for reading in the order of
    /// ids. They may have to be [gathered](Snapshot::gather) first.
    ///
    /// # Errors
    /// The errors of [`Snapshot::candidates`].
    #[inline]
    pub fn begin_candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Error> {
        match &plan.step {
            Step::Found { .. } | Step::Nothing | Step::Everything => self.candidates(plan, after),
            step => self.begin_gathering(step, after),
        }
    }

    /// Returns the candidates for a single walk. The members of a group are then read during the
    /// walk instead of being collected.
    ///
    /// # Errors
    /// The errors of [`Snapshot::candidates`].
    #[inline]
    pub fn begin_walk(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Error> {
        match plan.step {
            Step::Members { group, number, .. } => Ok(Candidates::Members { group, number }),
            _ => self.begin_candidates(plan, after),
        }
    }

    /// Returns the candidates for a page of `wanted` matching entries. Walking over entries until
    /// they are found may cost less than reading all index rows, in particular behind an earlier
    /// page.
    ///
    /// # Errors
    /// The errors of [`Snapshot::candidates`].
    pub fn begin_page(
        &self,
        plan: &Plan,
        after: EntryId,
        wanted: u64,
    ) -> Result<Candidates, Error> {
        if let Step::Order { sample, .. } | Step::Children { sample, .. } = &plan.step
            && plan.step.is_slow()
            && (sample.walk_rows(self, after, wanted)?)
                .is_some_and(|rows| rows < plan.step.rough_size())
        {
            return Ok(Candidates::Scan);
        }
        self.begin_walk(plan, after)
    }

    fn begin_gathering(&self, step: &Step, after: EntryId) -> Result<Candidates, Error> {
        if !step.is_slow() {
            return fetch(self, step, after);
        }
        let mut step = step.clone();
        step.leave_out();
        Ok(Candidates::Gathering(Box::new(Gathering {
            step,
            after,
            last: Vec::new(),
            ids: RoaringTreemap::new(),
            collected_bytes: 0,
        })))
    }

    /// Continues to collect candidates, and returns whether all are collected.
    ///
    /// # Errors
    /// The errors of [`Snapshot::candidates`].
    #[cold]
    pub fn gather(&self, candidates: &mut Candidates) -> Result<bool, Error> {
        let Candidates::Gathering(gathering) = candidates else {
            return Ok(true);
        };
        let Some(found) = gathering.go_on(self)? else {
            return Ok(false);
        };
        *candidates = found;
        Ok(true)
    }
}

impl Gathering {
    /// Walks on through slow parts; returns the candidates when all are collected.
    fn go_on(&mut self, snapshot: &Snapshot<'_>) -> Result<Option<Candidates>, Error> {
        let mut rows = SLICE_ROWS;
        let after = self.after;
        while let Some(part) = self.step.next_slow() {
            let (last, ids) = (&mut self.last, &mut self.ids);
            let behind = std::mem::take(last);
            let take = |key: &[u8], id: EntryId| {
                if id > after {
                    ids.insert(id.0);
                }
                rows -= 1;
                if rows == 0 {
                    last.extend_from_slice(key);
                }
                rows > 0
            };
            part.walk(snapshot, &behind, take)?;
            if rows == 0 {
                return Ok(None);
            }
            self.collected_bytes += ids.serialized_size() as u64;
            *part = Step::Gathered(std::mem::take(ids));
        }
        fetch(snapshot, &self.step, after).map(Some)
    }
}
