//! The state of a search between two of its slices. Holds no snapshot: the search resumes on a new
//! one, after the last id.

use crate::context::Walks;
use crate::search::cookie_key::PagePosition;
use crate::search::extras::Extras;
use crate::search::large::Large;
use crate::search::unindexed::Permit;
use policy::{Subject, Whose};
use protocol::MessageId;
use smallvec::SmallVec;
use state::projection::Projection;
use std::rc::Rc;
use store::{Candidates, EntryId, Region};

/// A search that continues in another slice.
#[derive(Debug)]
pub struct Cursor {
    pub(crate) id: MessageId,
    pub(crate) filter: schema::Filter,
    /// Maximum length of an entry, in bytes, for evaluating the filter in one piece.
    pub(crate) whole_bytes_max: usize,
    pub(crate) projection: Projection,
    /// The areas to search, in order.
    pub(crate) areas: Areas,
    /// Index of the area being searched.
    pub(crate) area: usize,
    /// Candidates of that area; `None` until it is planned.
    pub(crate) candidates: Option<Candidates>,
    /// Id of the last candidate looked at.
    pub(crate) after: EntryId,
    /// Number of entries sent by this request.
    pub(crate) sent: u64,
    pub(crate) limits: SearchLimits,
    pub(crate) page: Option<Page>,
    /// ManageDsaIT: referral objects are ordinary entries.
    pub(crate) manage_dsa_it: bool,
    /// Whether aliases are followed instead of returned.
    pub(crate) deref_searching: bool,
    /// Whether subentries are left out.
    pub(crate) hides_subentries: bool,
    /// State of controls; `None` without such controls.
    pub(crate) extras: Option<Box<Extras>>,
    /// Start of the search in microseconds; `None` until the search is parked or may become
    /// expensive.
    pub(crate) began_us: Option<u64>,
    /// Subject of proxied authorization (RFC 4370); `None` for the session's own.
    pub(crate) subject: Option<Rc<Subject>>,
    /// An entry that is being sent in parts.
    pub(crate) large: Option<Box<Large>>,
    /// Walks over groups that continue in the next slice.
    pub(crate) walks: Option<Box<Walks>>,
    /// The search's place among the unindexed searches.
    pub(crate) permit: Option<Box<Permit>>,
    /// Whether an unindexed search has waited for its first turn.
    pub(crate) has_waited: bool,
    /// Buffer for names and normalised values.
    pub(crate) buffer: Vec<u8>,
}

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

/// Limits of one search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchLimits {
    /// Maximum number of entries to return, over all pages; 0 for no limit.
    pub entries_max: u64,
    /// Whether `entries_max` is the server's limit rather than the client's.
    pub by_server: bool,
    /// Number of entries returned by earlier pages.
    pub sent_before: u64,
    /// Maximum number of entries of all pages together; 0 for no limit.
    pub paged_entries_max: u64,
    /// The subject or group to which the server's limits apply.
    pub whose: Whose,
    /// Time limit in milliseconds; 0 for no limit.
    pub time_ms_max: u64,
    /// Whether the time limit is the server's rather than the client's.
    pub time_by_server: bool,
    /// Maximum number of candidates looked at; 0 for no limit.
    pub candidates_max: u64,
    /// Number of candidates looked at so far.
    pub examined: u64,
    /// Maximum number of entries sorted by one search; 0 for no limit.
    pub sort_entries_max: u64,
}

/// The page that a client requested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub size: u32,
    /// Where the previous pages ended.
    pub start: PagePosition,
}

impl Cursor {
    /// The message id of the search request.
    pub fn message_id(&self) -> MessageId {
        self.id
    }

    /// Whether a part of a message may have been sent, so that no other message may be sent on the
    /// connection before the rest.
    pub fn is_inside_message(&self) -> bool {
        self.large.as_ref().is_some_and(|it| it.is_inside())
    }
}
