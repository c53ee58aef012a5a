//! Collecting candidates in slices.
//!
//! Entries are looked at in the order of their ids, and an ordering index or the names below an
//! entry give ids in another one: all have to be there before the first is looked at. So have the
//! members of groups and the owners of sets, beside which others are candidates. Others wait
//! meanwhile, so of very many rows only some are walked at a time.

use roaring::RoaringTreemap;
use schema::AttributeNumber;

use super::fetch::{NARROWING_MAX, fetch};
use super::links::COUNTED_MAX;
use super::{Plan, Step};
use crate::candidates::Candidates;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::order;
use crate::index_set::{IndexKind, IndexSet};
use crate::snapshot::Snapshot;

/// Rows that are walked at a time: some milliseconds.
const ROWS: u64 = 65_536;

/// Candidates that are being collected. They own nothing of a snapshot: rows that come while it
/// lasts are among them or not, as they are for a search that has begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathering {
    step: Step,
    after: EntryId,
    /// Of the part that is being walked: the key of the last row, and the ids so far.
    last: Vec<u8>,
    ids: RoaringTreemap,
}

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
    /// Whether the indexes that are still to be read are there.
    pub(crate) fn is_indexed(&self, indexes: &IndexSet) -> bool {
        self.step.is_indexed(indexes)
    }

    fn go_on(&mut self, snapshot: &Snapshot<'_>) -> Result<Option<Candidates>, Error> {
        let mut rows = ROWS;
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

impl Step {
    fn is_indexed(&self, indexes: &IndexSet) -> bool {
        match self {
            Step::Order { type_id, .. } => indexes.is_ready(*type_id, IndexKind::Ordering),
            Step::Bucket { key, type_id, .. } | Step::Posting { key, type_id, .. } => {
                indexes.is_ready(*type_id, key.kind)
            }
            Step::Union(parts) | Step::Intersection(parts) => {
                parts.iter().all(|it| it.is_indexed(indexes))
            }
            _ => true,
        }
    }

    /// Whether its candidates take so many rows that they must be collected in slices.
    pub(super) fn is_slow(&self) -> bool {
        match self {
            Step::Order { estimate, .. } => *estimate > ROWS,
            Step::Members { estimate, .. } => *estimate > ROWS,
            // Nobody has counted more than that.
            Step::Owners { estimate, .. } => *estimate >= COUNTED_MAX as u64,
            Step::Children { count, .. } => *count > ROWS,
            Step::Union(parts) => parts.iter().any(Step::is_slow),
            Step::Intersection(parts) => {
                let most = most_beside(parts);
                let mut parts = parts.iter();
                parts.any(|it| it.is_slow() && it.rough_size() < most)
            }
            _ => false,
        }
    }

    /// Leaves out what is slow and hardly narrows others: the filter is evaluated all the same.
    fn leave_out(&mut self) {
        match self {
            Step::Union(parts) => parts.iter_mut().for_each(Step::leave_out),
            Step::Intersection(parts) => {
                let most = most_beside(parts);
                parts.retain(|it| !it.is_slow() || it.rough_size() < most);
                parts.iter_mut().for_each(Step::leave_out);
            }
            _ => {}
        }
    }

    /// The next part that has to be walked.
    fn next_slow(&mut self) -> Option<&mut Step> {
        match self {
            Step::Union(parts) | Step::Intersection(parts) => {
                parts.iter_mut().find_map(Step::next_slow)
            }
            part => part.is_slow().then_some(part),
        }
    }

    /// Shows `take` the rows of a part that may be slow, behind one of them, until it has enough.
    pub(super) fn walk(
        &self,
        snapshot: &Snapshot<'_>,
        behind: &[u8],
        mut take: impl FnMut(&[u8], EntryId) -> bool,
    ) -> Result<(), Error> {
        match self {
            Step::Members { group, number, .. } => {
                let last = behind.try_into().map_or(0, u64::from_be_bytes);
                let has_texts = snapshot.has_texts()?;
                for member in snapshot.members_of(*group, *number, EntryId(last))? {
                    let member = member?;
                    let id = match has_texts {
                        true => snapshot.entry_of_member(member)?,
                        false => member,
                    };
                    if !take(&member.0.to_be_bytes(), id) {
                        break;
                    }
                }
                Ok(())
            }
            Step::Children { parent, .. } => snapshot.walk_children(*parent, behind, take),
            Step::Owners { base, .. } => {
                // Once more the last owner, which may have other sets.
                let from = EntryId(behind.try_into().map_or(0, u64::from_be_bytes));
                snapshot.each_owner(*base, from, |id, owns| {
                    // A set of another attribute costs as much, and is none of theirs.
                    let found = if owns { id } else { EntryId::ROOT };
                    take(&id.0.to_be_bytes(), found)
                })
            }
            Step::Order {
                base, normal, side, ..
            } => {
                let (transaction, table) = (snapshot.transaction, snapshot.tables.order);
                let bound = (&**normal, *side);
                let base = AttributeNumber(*base);
                order::walk_behind(transaction, table, base, bound, behind, take)
            }
            _ => Ok(()),
        }
    }
}

/// A part of an AND is worth its rows if it has fewer than this beside the smallest one.
fn most_beside(parts: &[Step]) -> u64 {
    let least = parts.first().map_or(0, Step::rough_size);
    least.saturating_mul(NARROWING_MAX)
}
