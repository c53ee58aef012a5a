//! The sink of a search, which takes the entries that match.

use crate::context::{Context, VisibleEntry};
use crate::search::count::Counting;
use crate::search::explain::Explaining;
use crate::search::large::Large;
use crate::search::limits::End;
use crate::search::sending::Sending;
use crate::search::sort::state::Sorted;
use crate::search::state::Search;
use replica::Clock;
use state::done;
use state::progress::Progress;
use state::stop::Stop;

/// Destination of the entries that match.
#[derive(Debug)]
pub(crate) enum Sink {
    /// Entries are sent to the client.
    Send(Sending),
    /// Entries are counted.
    Count(Box<Counting>),
    /// Entries count as sent, in a search that is explained.
    Explain(Box<Explaining>),
    /// Entries are sorted, and then go to another sink.
    Sort(Box<Sorted>),
}

impl Default for Sink {
    fn default() -> Sink {
        Sink::Send(Sending::default())
    }
}

impl Sink {
    /// Takes an entry that the search found. `Some` if a limit or the page's size ends the search
    /// before it. Yields if the slice is over; the next slice finds the entry again.
    #[inline]
    pub fn take(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        entry: &VisibleEntry<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress<Option<End>>, Stop> {
        if let Sink::Sort(sorted) = self {
            return sorted.collect(entry).map(Progress::Done);
        }
        if let Some(end) = search.size_limit().or_else(|| search.paged_limit()) {
            return Ok(Progress::Done(Some(end)));
        }
        if search.is_page_full() {
            return Ok(Progress::Done(Some(End::PageFull)));
        }
        done!(self.put(context, search, entry, out)?);
        Ok(Progress::Done(None))
    }

    /// Sends, counts or explains an entry, which no limit holds back.
    #[inline]
    pub fn put(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        entry: &VisibleEntry<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress<()>, Stop> {
        match self {
            Sink::Send(sending) => return sending.send(context, search, entry, out),
            Sink::Count(counting) => counting.note(),
            Sink::Explain(_) => search.sent += 1,
            Sink::Sort(sorted) => return sorted.put(context, search, entry, out),
        }
        Ok(Progress::Done(()))
    }

    /// The state of sending entries; `None` if none are sent.
    #[inline]
    pub fn sending(&mut self) -> Option<&mut Sending> {
        match self {
            Sink::Send(sending) => Some(sending),
            Sink::Count(_) | Sink::Explain(_) => None,
            Sink::Sort(sorted) => sorted.then.sending(),
        }
    }

    /// The entry that is being sent in parts; no other can be sent before its end.
    #[inline]
    pub fn large(&self) -> Option<&Large> {
        match self {
            Sink::Send(sending) => sending.large.as_deref(),
            Sink::Count(_) | Sink::Explain(_) => None,
            Sink::Sort(sorted) => sorted.large(),
        }
    }

    /// Facts gathered about the search; `None` if it is not explained.
    #[inline]
    pub fn explaining(&self) -> Option<&Explaining> {
        match self {
            Sink::Send(_) | Sink::Count(_) => None,
            Sink::Explain(explaining) => Some(explaining),
            Sink::Sort(sorted) => sorted.explaining(),
        }
    }

    /// Like [`Sink::explaining`], to add facts.
    #[inline]
    pub fn explaining_mut(&mut self) -> Option<&mut Explaining> {
        match self {
            Sink::Send(_) | Sink::Count(_) => None,
            Sink::Explain(explaining) => Some(explaining),
            Sink::Sort(sorted) => sorted.explaining_mut(),
        }
    }

    /// Records the start of a slice, if the search is explained.
    #[inline]
    pub fn slice_begins(&mut self, clock: &dyn Clock) {
        if let Some(explaining) = self.explaining_mut() {
            explaining.slice_begins(clock.now_us());
        }
    }

    /// Records the end of a slice, if the search is explained.
    #[inline]
    pub fn slice_ends(&mut self, clock: &dyn Clock) {
        if let Some(explaining) = self.explaining_mut() {
            explaining.slice_ends(clock.now_us());
        }
    }
}
