//! The state of a search that has begun, apart from its sink.

use crate::context::{Context, VisibleEntry};
use crate::places::Permit;
use crate::search::area::Source;
use crate::search::criteria::Criteria;
use crate::search::limits::{End, SearchLimits};
use protocol::control::Position;
use protocol::{MessageId, OwnedControl};
use spool::cookie::PagePosition;
use state::progress::Progress;
use state::stop::Stop;
use store::EntryId;

/// A search, apart from what becomes of the entries found.
#[derive(Debug)]
pub(crate) struct Search {
    pub id: MessageId,
    pub source: Source,
    pub criteria: Criteria,
    pub limits: SearchLimits,
    /// Number of entries sent by this request; the entries of an explained search count as sent.
    pub sent: u64,
    /// The requested page; `None` if all entries are wanted, or a sorted search keeps its own page.
    pub page: Option<Page>,
    /// Controls of the result; `None` while there are none.
    pub result: Option<Box<ResultControls>>,
    /// Start of the search in microseconds; `None` until the search is parked or may become
    /// expensive.
    pub began_us: Option<u64>,
    /// The search's place among the unindexed searches.
    pub permit: Option<Box<Permit>>,
    /// Whether an unindexed search has waited for its first turn.
    pub has_waited: bool,
    /// Buffer for names and normalised values.
    pub buffer: Vec<u8>,
}

/// Controls that are returned with the result of a search.
#[derive(Debug, Default)]
pub(crate) struct ResultControls {
    /// Controls that are complete already.
    pub done: Vec<OwnedControl>,
    /// Position of the snapshot of the last slice, if the client asked for it.
    pub position: Option<Position>,
}

/// The page that a client requested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub size: u32,
    /// Where the previous pages ended.
    pub start: PagePosition,
}

impl Search {
    /// Adds a control to the result.
    pub fn add_control(&mut self, control: OwnedControl) {
        self.result.get_or_insert_default().done.push(control);
    }

    /// Whether the search accepts an entry of a region with this base. Yields like
    /// [`Criteria::accept`].
    #[inline]
    pub fn accepts(
        &mut self,
        context: &Context<'_>,
        base: EntryId,
        entry: &VisibleEntry<'_, '_>,
    ) -> Result<Progress<bool>, Stop> {
        self.criteria.accept(context, base, entry, &mut self.buffer)
    }

    /// Whether the page has all its entries; candidates are then tested only to find out whether
    /// there is another page.
    #[inline]
    pub fn is_page_full(&self) -> bool {
        self.page
            .is_some_and(|page| self.sent >= u64::from(page.size))
    }

    /// The limit on candidates; `None` if it is not reached.
    #[inline]
    pub fn candidate_limit(&self) -> Option<End> {
        let limits = &self.limits;
        let reached = limits.candidates_max != 0 && limits.examined >= limits.candidates_max;
        reached.then_some(End::CandidateLimit)
    }

    /// The limit on entries; `None` if it is not reached.
    #[inline]
    pub fn size_limit(&self) -> Option<End> {
        let limit = self.limits.entries_max;
        let reached = limit != 0 && self.limits.sent_before + self.sent >= limit;
        reached.then_some(End::SizeLimit)
    }

    /// The server's limit on all pages together; `None` if it is not reached.
    #[inline]
    pub fn paged_limit(&self) -> Option<End> {
        let limits = &self.limits;
        let limit = limits.paged_entries_max;
        (limit != 0 && limits.sent_before + self.sent >= limit).then_some(End::PagedLimit)
    }
}
