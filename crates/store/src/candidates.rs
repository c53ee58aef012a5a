//! Candidate sets: the entries that may match a filter, walked in the order of ids.

use std::sync::Arc;

use roaring::RoaringTreemap;
use schema::AttributeNumber;

use crate::entry::EntryView;
use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::IndexSet;
use crate::plan::Gathering;
use crate::snapshot::{Sight, Snapshot};

/// Ids of entries that may match. They borrow nothing from a snapshot, so a parked search keeps
/// them and goes on with a newer snapshot: deleted entries are skipped, and the filter is evaluated
/// on the entry as it is then.
#[derive(Debug, Clone, PartialEq)]
pub enum Candidates {
    /// No entry.
    None,
    /// One entry, the usual case.
    One(EntryId),
    /// Several entries, ascending.
    Ids(Vec<EntryId>),
    /// Many entries.
    Set(RoaringTreemap),
    /// The entries that the filter itself lists, shared with it.
    Listed(Arc<RoaringTreemap>),
    /// All entries.
    Scan,
    /// Candidates that are not all collected: [`Snapshot::gather`] comes first.
    Gathering(Box<Gathering>),
    /// The members of an attribute of a group, read during a walk; [`Candidates::contains`] knows
    /// none of them.
    Members {
        /// Id of the group.
        group: EntryId,
        /// Number of the attribute.
        number: AttributeNumber,
    },
}

impl Candidates {
    /// Number of candidates; `None` if only a scan could tell.
    pub fn count(&self) -> Option<u64> {
        match self {
            Candidates::None => Some(0),
            Candidates::One(_) => Some(1),
            Candidates::Ids(ids) => Some(ids.len() as u64),
            Candidates::Set(set) => Some(set.len()),
            Candidates::Listed(set) => Some(set.len()),
            Candidates::Scan | Candidates::Gathering(_) | Candidates::Members { .. } => None,
        }
    }

    /// Returns the number of bytes of memory that the candidates take; 0 for few. It costs some
    /// nanoseconds for each 65,536 ids.
    #[inline]
    pub fn bytes(&self) -> u64 {
        match self {
            Candidates::None | Candidates::One(_) | Candidates::Scan => 0,
            // The filter that lists them owns them.
            Candidates::Listed(_) | Candidates::Members { .. } => 0,
            Candidates::Ids(ids) => (ids.capacity() * size_of::<EntryId>()) as u64,
            Candidates::Set(set) => set.serialized_size() as u64,
            Candidates::Gathering(gathering) => gathering.bytes(),
        }
    }

    /// Returns whether candidates not yet collected still can be: `false` when an index to be read
    /// for them was dropped meanwhile.
    pub fn are_indexed(&self, indexes: &IndexSet) -> bool {
        match self {
            Candidates::Gathering(gathering) => gathering.is_indexed(indexes),
            _ => true,
        }
    }

    /// Returns the smallest candidate greater than `after`. A scan returns the next id, whether or
    /// not that entry exists; [`Candidates::entries_after`] suits scans.
    pub fn next(&self, after: EntryId) -> Option<EntryId> {
        match self {
            Candidates::None | Candidates::Gathering(_) | Candidates::Members { .. } => None,
            Candidates::One(id) => Some(*id).filter(|id| *id > after),
            Candidates::Ids(ids) => ids.get(ids.partition_point(|id| *id <= after)).copied(),
            Candidates::Set(set) => next_of(set, after),
            Candidates::Listed(set) => next_of(set, after),
            Candidates::Scan => after.0.checked_add(1).map(EntryId),
        }
    }

    /// The entries among the candidates with ids greater than `after`, by id. Candidates that do
    /// not exist in this snapshot are skipped.
    pub fn entries_after<'c>(
        &'c self,
        snapshot: Snapshot<'c>,
        after: EntryId,
    ) -> CandidateEntries<'c> {
        self.walk(snapshot, after, Sight::Visible)
    }

    /// Iterates over the candidates with ids greater than `after` by id, detached entries included,
    /// for callers that bound the entries they read: of a large deleted subtree many may follow one
    /// another.
    pub fn stored_after<'c>(
        &'c self,
        snapshot: Snapshot<'c>,
        after: EntryId,
    ) -> CandidateEntries<'c> {
        self.walk(snapshot, after, Sight::Stored)
    }

    fn walk<'c>(
        &'c self,
        snapshot: Snapshot<'c>,
        after: EntryId,
        sight: Sight,
    ) -> CandidateEntries<'c> {
        let ids = match self {
            Candidates::None | Candidates::Gathering(_) => Source::Ids([].iter()),
            Candidates::Members { group, number } => {
                match snapshot.members_of(*group, *number, after) {
                    Ok(members) => Source::Members(Box::new(members)),
                    Err(error) => Source::Members(Box::new(std::iter::once(Err(error)))),
                }
            }
            Candidates::One(id) => Source::One(Some(*id).filter(|id| *id > after)),
            Candidates::Ids(ids) => {
                Source::Ids(ids[ids.partition_point(|id| *id <= after)..].iter())
            }
            Candidates::Set(set) => Source::of_set(set, after),
            Candidates::Listed(set) => Source::of_set(set, after),
            Candidates::Scan => {
                let from = EntryId(after.0.saturating_add(1));
                Source::Scan(Box::new(snapshot.scan(from, EntryId(u64::MAX), sight)))
            }
        };
        CandidateEntries {
            snapshot,
            source: ids,
            sight,
        }
    }

    pub(crate) fn from_ids(mut ids: Vec<EntryId>) -> Candidates {
        ids.sort_unstable();
        ids.dedup();
        match ids.as_slice() {
            [] => Candidates::None,
            [id] => Candidates::One(*id),
            _ => Candidates::Ids(ids),
        }
    }

    pub(crate) fn from_set(set: RoaringTreemap) -> Candidates {
        match set.len() {
            0 => Candidates::None,
            1 => Candidates::One(EntryId(set.min().unwrap_or_default())),
            _ => Candidates::Set(set),
        }
    }

    /// Returns the candidates in both sets.
    pub(crate) fn and(self, other: Candidates) -> Candidates {
        use Candidates::{Gathering, Ids, Listed, Members, None, One, Scan, Set};
        match (self, other) {
            (None, _) | (_, None) => None,
            (Scan | Gathering(_) | Members { .. }, it)
            | (it, Scan | Gathering(_) | Members { .. }) => it,
            (One(id), it) | (it, One(id)) => {
                if it.contains(id) {
                    One(id)
                } else {
                    None
                }
            }
            (Set(mut a), Set(b)) => {
                a &= b;
                Candidates::from_set(a)
            }
            (Set(mut a), Listed(b)) | (Listed(b), Set(mut a)) => {
                a &= &*b;
                Candidates::from_set(a)
            }
            (Listed(a), Listed(b)) => Candidates::from_set(&*a & &*b),
            (Ids(mut ids), it) | (it, Ids(mut ids)) => {
                ids.retain(|id| it.contains(*id));
                Candidates::from_ids(ids)
            }
        }
    }

    /// Returns the candidates in either set.
    pub(crate) fn or(self, other: Candidates) -> Candidates {
        use Candidates::{Gathering, Ids, Listed, Members, None, One, Scan, Set};
        match (self, other) {
            (None, it) | (it, None) => it,
            (Scan | Gathering(_) | Members { .. }, _)
            | (_, Scan | Gathering(_) | Members { .. }) => Scan,
            (Set(mut a), Set(b)) => {
                a |= b;
                Set(a)
            }
            (Set(mut a), Listed(b)) | (Listed(b), Set(mut a)) => {
                a |= &*b;
                Set(a)
            }
            (Listed(a), Listed(b)) => Set(&*a | &*b),
            (Listed(set), it) | (it, Listed(set)) => Set(RoaringTreemap::clone(&set)).or(it),
            (Set(mut set), it) | (it, Set(mut set)) => {
                match it {
                    One(id) => drop(set.insert(id.0)),
                    Ids(ids) => set.extend(ids.into_iter().map(|id| id.0)),
                    _ => {}
                }
                Set(set)
            }
            (a, b) => {
                let list = |it| match it {
                    One(id) => vec![id],
                    Ids(ids) => ids,
                    _ => Vec::new(),
                };
                let mut ids = list(a);
                ids.extend(list(b));
                Candidates::from_ids(ids)
            }
        }
    }

    /// Returns whether an entry is a candidate.
    pub fn contains(&self, id: EntryId) -> bool {
        match self {
            Candidates::None | Candidates::Gathering(_) | Candidates::Members { .. } => false,
            Candidates::One(one) => *one == id,
            Candidates::Ids(ids) => ids.binary_search(&id).is_ok(),
            Candidates::Set(set) => set.contains(id.0),
            Candidates::Listed(set) => set.contains(id.0),
            Candidates::Scan => true,
        }
    }
}

fn next_of(set: &RoaringTreemap, after: EntryId) -> Option<EntryId> {
    let mut iter = set.iter();
    iter.advance_to(after.0.checked_add(1)?);
    iter.next().map(EntryId)
}

/// The iterator of [`Candidates::entries_after`].
pub struct CandidateEntries<'c> {
    snapshot: Snapshot<'c>,
    source: Source<'c>,
    sight: Sight,
}

type EntryIterator<'c> = dyn Iterator<Item = Result<(EntryId, EntryView<'c>), Error>> + 'c;

enum Source<'c> {
    One(Option<EntryId>),
    Ids(std::slice::Iter<'c, EntryId>),
    Set(Box<roaring::treemap::Iter<'c>>),
    Scan(Box<EntryIterator<'c>>),
    Members(Box<dyn Iterator<Item = Result<EntryId, Error>> + 'c>),
}

impl<'c> Source<'c> {
    fn of_set(set: &'c RoaringTreemap, after: EntryId) -> Source<'c> {
        let mut iter = set.iter();
        iter.advance_to(after.0.saturating_add(1));
        Source::Set(Box::new(iter))
    }
}

impl<'c> Iterator for CandidateEntries<'c> {
    type Item = Result<(EntryId, EntryView<'c>), Error>;

    // A call here costs each search 80 instructions of 11,800.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let id = match &mut self.source {
                Source::One(id) => id.take()?,
                Source::Ids(ids) => *ids.next()?,
                Source::Set(ids) => EntryId(ids.next()?),
                Source::Scan(entries) => return entries.next(),
                Source::Members(ids) => match ids.next()? {
                    Ok(id) => id,
                    Err(error) => return Some(Err(error)),
                },
            };
            let found = match self.sight {
                Sight::Stored => self.snapshot.stored_entry(id),
                Sight::Visible => self.snapshot.entry(id),
            };
            match found {
                Ok(Some(view)) => return Some(Ok((id, view))),
                Ok(None) => {
                    if let Err(error) = self.snapshot.require_no_entry(id) {
                        return Some(Err(error));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_candidates_take_memory() {
        let few = [
            Candidates::None,
            Candidates::One(EntryId(7)),
            Candidates::Scan,
        ];
        assert!(few.iter().all(|it| it.bytes() == 0));
        let listed = Candidates::from_ids((1..=1_000).map(EntryId).collect());
        assert!(
            (8_000..32_000).contains(&listed.bytes()),
            "{}",
            listed.bytes()
        );
        let every_third = (0..3_000_000).filter(|it| it % 3 == 0);
        let set = Candidates::from_set(every_third.collect());
        assert!((300_000..500_000).contains(&set.bytes()), "{}", set.bytes());
    }
}
