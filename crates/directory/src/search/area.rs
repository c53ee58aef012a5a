//! The areas of a search, and the place reached in them.

use crate::session::Session;
use smallvec::SmallVec;
use spool::memory::Hold;
use state::stop::Stop;
use store::{Candidates, EntryId, Region};

/// The areas of a search: nearly always one, or one for entries and one for references.
pub(crate) type Areas = SmallVec<[Area; 2]>;

/// A region to search, and what for.
#[derive(Debug, Clone)]
pub(crate) struct Area {
    pub region: Region,
    pub kind: AreaKind,
}

/// Kind of result that a search looks for in an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AreaKind {
    /// Entries that match the filter.
    Entries,
    /// Referral objects, regardless of the filter (RFC 3296 §5.1).
    References,
}

/// The areas of a search, and the place reached in them.
#[derive(Debug)]
pub(crate) struct Source {
    /// The areas to search, in order.
    pub areas: Areas,
    /// Index of the area being searched.
    pub area: usize,
    /// Candidates of that area; `None` until it is planned.
    pub candidates: Option<Candidates>,
    /// Id of the last candidate looked at.
    pub after: EntryId,
    /// Memory of the candidates; `None` while they are few.
    memory: Option<Hold>,
}

impl Source {
    /// The beginning of these areas.
    pub fn new(areas: Areas) -> Source {
        Source {
            areas,
            area: 0,
            candidates: None,
            after: EntryId::ROOT,
            memory: None,
        }
    }

    /// Counts the memory of the candidates in the budget of the session's connection.
    ///
    /// # Errors
    /// The budget of the connection, or of all, is used up.
    #[inline]
    pub fn count(&mut self, session: &Session, candidates: &Candidates) -> Result<(), Stop> {
        match candidates.bytes() {
            0 => Ok(()),
            bytes => {
                let memory = &mut self.memory;
                memory
                    .get_or_insert_with(|| session.buffers.beside())
                    .set(bytes)
            }
        }
    }

    /// Goes back before a candidate.
    #[cold]
    pub fn step_back(&mut self, id: EntryId) {
        self.after = EntryId(id.0 - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;
    use policy::LimitSettings;
    use spool::memory::{Account, Budget};
    use std::sync::Arc;

    fn many(count: u64) -> Candidates {
        Candidates::Ids((1..=count).map(EntryId).collect())
    }

    #[test]
    fn candidates_are_counted_while_they_are_kept() {
        let budget = Arc::new(Budget::new(1 << 20, 0));
        let (limits, account) = (LimitSettings::default(), Account::new(&budget));
        let session = Session::new(1, Peer::default(), &limits, &account);
        let mut source = Source::new(Areas::new());
        source.count(&session, &Candidates::Scan).unwrap();
        assert_eq!(budget.taken(), 0);
        source.count(&session, &many(100_000)).unwrap();
        assert!(budget.taken() > 700_000);
        let mut other = Source::new(Areas::new());
        assert!(other.count(&session, &many(100_000)).is_err());
        drop(source);
        other.count(&session, &many(100_000)).unwrap();
        drop(other);
        assert_eq!(budget.taken(), 0);
    }
}
