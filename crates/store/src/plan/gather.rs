//! Collecting candidates in slices.
//!
//! Entries are looked at in the order of their ids, and an ordering index or the names below an
//! entry give ids in another one: all have to be there before the first is looked at. So have the
//! members of groups and the owners of sets, beside which others are candidates. Others wait
//! meanwhile, so of very many rows only some are walked at a time.

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
    /// The candidates of a plan with ids greater than `after`, for who looks at them in their
    /// order. They may have to be [gathered](Snapshot::gather) first.
    ///
    /// # Errors
    /// As [`Snapshot::candidates`].
    #[inline]
    pub fn begin_candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Error> {
        match &plan.step {
            Step::Found { .. } | Step::Nothing | Step::Everything => self.candidates(plan, after),
            step => self.begin_gathering(step, after),
        }
    }

    /// The same for who walks through them and asks nothing else. The members of a group are read
    /// as they come.
    ///
    /// # Errors
    /// As [`Snapshot::candidates`].
    #[inline]
    pub fn begin_walk(&self, plan: &Plan, after: EntryId) -> Result<Candidates, Error> {
        match plan.step {
            Step::Members { group, number, .. } => Ok(Candidates::Members { group, number }),
            _ => self.begin_candidates(plan, after),
        }
    }

    /// The same for who needs so many entries that match. Walking over entries until they are found
    /// may cost less than all rows do, in particular where a page before has ended.
    ///
    /// # Errors
    /// As [`Snapshot::candidates`].
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
        })))
    }

    /// Goes on collecting candidates, and returns whether all are there.
    ///
    /// # Errors
    /// As [`Snapshot::candidates`].
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
    /// Walks on through slow parts; returns the candidates when all of them are collected.
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
            *part = Step::Gathered(std::mem::take(ids));
        }
        fetch(snapshot, &self.step, after).map(Some)
    }
}
