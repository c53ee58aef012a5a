//! Steps of a plan: where the ids of candidates come from, and about how many there are.

use std::sync::Arc;

use roaring::RoaringTreemap;
use schema::{AttributeNumber, TypeId};

use super::costs::{NARROWING_MAX, OWNERS_COUNTED_MAX, SLICE_ROWS};
use super::sample::Sample;
use crate::id::EntryId;
use crate::index::keys::HashedKey;
use crate::index::order::Side;
use crate::index_set::{IndexKind, IndexSet};

/// A source of candidate ids.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Nothing matches.
    Nothing,
    /// All entries.
    Everything,
    /// Ids found while planning.
    Found { why: Why, ids: FoundIds },
    /// The holders of one value in a bucket, more than are looked up while planning.
    Bucket {
        key: HashedKey,
        type_id: TypeId,
        estimate: u64,
    },
    /// The holders of one value, gram or attribute in a posting.
    Posting {
        key: HashedKey,
        type_id: TypeId,
        estimate: u64,
    },
    /// The holders of values on one side of a bound, in the order of the values.
    Order {
        base: u16,
        type_id: TypeId,
        normal: Box<[u8]>,
        side: Side,
        estimate: u64,
        /// The entries that matched of those asked; empty unless the whole filter was asked.
        sample: Sample,
    },
    /// The entries that have links of an attribute.
    Owners {
        base: AttributeNumber,
        type_id: TypeId,
        estimate: u64,
    },
    /// The members of a group.
    Members {
        group: EntryId,
        number: AttributeNumber,
        estimate: u64,
    },
    /// The entries directly below an entry, more than are listed while planning.
    Children {
        parent: EntryId,
        count: u64,
        sample: Sample,
    },
    /// Ids that were collected in slices.
    Gathered(RoaringTreemap),
    /// Ids that the filter lists.
    Listed(Arc<RoaringTreemap>),
    /// The entries that any of the steps gives.
    Union(Vec<Step>),
    /// The entries that all of the steps give; the first step is the cheapest.
    Intersection(Vec<Step>),
}

/// Why ids were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The base of the search.
    Base,
    /// The region has few entries.
    Region,
    /// An `entryDN` assertion.
    Name,
    /// Links between entries.
    Links,
    /// An index bucket.
    Index(IndexKind, TypeId),
}

/// Ids found while planning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FoundIds {
    One(EntryId),
    Several(Vec<EntryId>),
}

impl Step {
    /// About how many ids the step gives, as estimated while planning; `u64::MAX` for a scan.
    #[inline]
    pub(super) fn rough_size(&self) -> u64 {
        match self {
            Step::Nothing => 0,
            Step::Everything => u64::MAX,
            Step::Found {
                ids: FoundIds::One(_),
                ..
            } => 1,
            Step::Found {
                ids: FoundIds::Several(ids),
                ..
            } => ids.len() as u64,
            Step::Children { count, .. } => *count,
            Step::Gathered(ids) => ids.len(),
            Step::Listed(ids) => ids.len(),
            Step::Bucket { estimate, .. }
            | Step::Posting { estimate, .. }
            | Step::Members { estimate, .. }
            | Step::Owners { estimate, .. }
            | Step::Order { estimate, .. } => *estimate,
            Step::Union(parts) => parts
                .iter()
                .fold(0, |sum, part| sum.saturating_add(part.rough_size())),
            Step::Intersection(parts) => {
                parts.iter().map(Step::rough_size).min().unwrap_or(u64::MAX)
            }
        }
    }

    /// Returns whether the indexes that the step reads are ready.
    pub(super) fn is_indexed(&self, indexes: &IndexSet) -> bool {
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

    /// Returns whether the candidates of the step take so many rows that they are collected in
    /// slices.
    pub(super) fn is_slow(&self) -> bool {
        match self {
            Step::Order { estimate, .. } => *estimate > SLICE_ROWS,
            Step::Members { estimate, .. } => *estimate > SLICE_ROWS,
            // An estimate counts no more owners than that.
            Step::Owners { estimate, .. } => *estimate >= OWNERS_COUNTED_MAX as u64,
            Step::Children { count, .. } => *count > SLICE_ROWS,
            Step::Union(parts) => parts.iter().any(Step::is_slow),
            Step::Intersection(parts) => {
                let most = most_beside(parts);
                let mut parts = parts.iter();
                parts.any(|it| it.is_slow() && it.rough_size() < most)
            }
            _ => false,
        }
    }

    /// Leaves out slow parts of intersections that hardly narrow the others: the filter is
    /// evaluated on each candidate all the same.
    pub(super) fn leave_out(&mut self) {
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

    /// The next slow part, which has to be walked; `None` when no slow part is left.
    pub(super) fn next_slow(&mut self) -> Option<&mut Step> {
        match self {
            Step::Union(parts) | Step::Intersection(parts) => {
                parts.iter_mut().find_map(Step::next_slow)
            }
            part => part.is_slow().then_some(part),
        }
    }
}

/// Number of rows below which a part of an intersection is worth walking: a multiple of the rows of
/// the smallest part.
fn most_beside(parts: &[Step]) -> u64 {
    let least = parts.first().map_or(0, Step::rough_size);
    least.saturating_mul(NARROWING_MAX)
}

/// Returns the step for ids found while planning.
#[inline]
pub(super) fn found(why: Why, mut ids: Vec<EntryId>) -> Step {
    match ids.len() {
        0 => Step::Nothing,
        1 => Step::Found {
            why,
            ids: FoundIds::One(ids.swap_remove(0)),
        },
        _ => Step::Found {
            why,
            ids: FoundIds::Several(ids),
        },
    }
}

/// Returns the step for the entries that all of the steps give; `None` when there is no step.
pub(super) fn intersection(mut steps: Vec<Step>) -> Option<Step> {
    steps.sort_by_key(Step::rough_size);
    Some(match steps.first()? {
        Step::Nothing => Step::Nothing,
        _ if steps.len() == 1 => steps.swap_remove(0),
        _ => Step::Intersection(steps),
    })
}

/// Returns the step for the entries that any of the steps gives.
#[inline]
pub(super) fn union(mut steps: Vec<Step>) -> Step {
    steps.retain(|step| !matches!(step, Step::Nothing));
    match steps.len() {
        0 => Step::Nothing,
        1 => steps.swap_remove(0),
        _ => Step::Union(steps),
    }
}
