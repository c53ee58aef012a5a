//! A search between two of its slices. Holds no snapshot: it resumes on a new one, by id.

use crate::context::Walks;
use crate::operation::extras::Extras;
use crate::operation::large::Large;
use crate::operation::unindexed::Permit;
use crate::paging::PagePosition;
use policy::{Subject, Whose};
use protocol::MessageId;
use smallvec::SmallVec;
use state::projection::Projection;
use std::rc::Rc;
use store::{Candidates, EntryId, Region};

/// A search that has more to say.
#[derive(Debug)]
pub struct Cursor {
    pub(crate) id: MessageId,
    pub(crate) filter: schema::Filter,
    /// The most bytes of an entry on which the filter is evaluated in one piece.
    pub(crate) whole_bytes_max: usize,
    pub(crate) projection: Projection,
    /// What is to be searched, one after the other.
    pub(crate) areas: Areas,
    /// Which of them is being searched now.
    pub(crate) area: usize,
    /// Candidates of that area; `None` until it is planned.
    pub(crate) candidates: Option<Candidates>,
    /// The last candidate that was looked at.
    pub(crate) after: EntryId,
    /// Entries sent so far by this request.
    pub(crate) sent: u64,
    pub(crate) limits: SearchLimits,
    pub(crate) page: Option<Page>,
    /// ManageDsaIT: referral objects are ordinary entries.
    pub(crate) manage_dsa_it: bool,
    /// Aliases are followed, not returned.
    pub(crate) deref_searching: bool,
    /// Subentries are not returned.
    pub(crate) hides_subentries: bool,
    /// What controls add, if any do.
    pub(crate) extras: Option<Box<Extras>>,
    /// When the search began (microseconds), once it has been parked or seems to become dear.
    pub(crate) began_us: Option<u64>,
    /// Whom the search acts as, when that is not whom the session is bound as (RFC 4370).
    pub(crate) subject: Option<Rc<Subject>>,
    /// The entry that is being sent in parts.
    pub(crate) large: Option<Box<Large>>,
    /// Walks over groups that go on in the next slice.
    pub(crate) walks: Option<Box<Walks>>,
    /// Its place among the searches that no index helps.
    pub(crate) permit: Option<Box<Permit>>,
    /// It is such a search, and has had its first turn.
    pub(crate) has_waited: bool,
    /// Scratch for names and normalised values.
    pub(crate) buffer: Vec<u8>,
}

/// The areas of a search: nearly always one, or one with its references.
pub(crate) type Areas = SmallVec<[Area; 2]>;

/// One region to be searched.
#[derive(Debug, Clone)]
pub(crate) struct Area {
    pub region: Region,
    pub kind: AreaKind,
}

/// What an area is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AreaKind {
    /// Entries that match the filter.
    Entries,
    /// Referral objects, whatever the filter (RFC 3296 §5.1).
    References,
}

/// Which limit stops a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchLimits {
    /// Entries the search may return, all its pages together; 0 = no limit.
    pub entries_max: u64,
    /// It was the server's limit, not the client's.
    pub by_server: bool,
    /// Entries that the pages before this one returned.
    pub sent_before: u64,
    /// Entries all pages together may return; 0 = no limit.
    pub paged_entries_max: u64,
    /// For whom the server's limits are.
    pub whose: Whose,
    /// Milliseconds; 0 = no limit.
    pub time_ms_max: u64,
    /// It was the server's limit, not the client's.
    pub time_by_server: bool,
    /// Candidates looked at; 0 = no limit.
    pub candidates_max: u64,
    /// Candidates looked at so far.
    pub examined: u64,
    /// Entries sorted by one search; 0 = no limit.
    pub sort_entries_max: u64,
}

/// The page a client asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub size: u32,
    /// Where the pages before this one ended.
    pub start: PagePosition,
}

impl Cursor {
    /// The message id of the search request.
    pub fn message_id(&self) -> MessageId {
        self.id
    }

    /// Whether a part of a message may have been sent: until the rest of it has, nothing else may
    /// be, on the same connection.
    pub fn is_inside_message(&self) -> bool {
        self.large.as_ref().is_some_and(|it| it.is_inside())
    }
}
