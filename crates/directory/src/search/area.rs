//! The areas of a search, and the place reached in them.

use smallvec::SmallVec;
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
}

impl Source {
    /// The beginning of these areas.
    pub fn new(areas: Areas) -> Source {
        Source {
            areas,
            area: 0,
            candidates: None,
            after: EntryId::ROOT,
        }
    }

    /// Goes back before a candidate.
    #[cold]
    pub fn step_back(&mut self, id: EntryId) {
        self.after = EntryId(id.0 - 1);
    }
}
