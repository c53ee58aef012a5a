//! The areas of a search.

use smallvec::SmallVec;
use store::Region;

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
