//! The state of a search between two of its slices. Holds no snapshot: the search resumes on a new
//! one, after the last id.

use crate::context::Walks;
use crate::cookie_key::PagePosition;
use crate::places::Permit;
use crate::search::area::Areas;
use crate::search::explain::Explaining;
use crate::search::extras::Extras;
use crate::search::large::Large;
use crate::search::limits::SearchLimits;
use policy::Subject;
use protocol::MessageId;
use replica::Clock;
use state::projection::Projection;
use std::rc::Rc;
use store::{Candidates, EntryId};

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

/// The page that a client requested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub size: u32,
    /// Where the previous pages ended.
    pub start: PagePosition,
}

impl Cursor {
    /// Facts gathered about the search; `None` if it is not explained.
    #[inline]
    pub(crate) fn explaining(&mut self) -> Option<&mut Explaining> {
        self.extras.as_mut()?.explaining.as_deref_mut()
    }

    /// Records the start of a slice, if the search is explained.
    #[inline]
    pub(crate) fn slice_begins(&mut self, clock: &dyn Clock) {
        if let Some(explaining) = self.explaining() {
            explaining.slice_begins(clock.now_us());
        }
    }

    /// Records the end of a slice, if the search is explained.
    #[inline]
    pub(crate) fn slice_ends(&mut self, clock: &dyn Clock) {
        if let Some(explaining) = self.explaining() {
            explaining.slice_ends(clock.now_us());
        }
    }

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
