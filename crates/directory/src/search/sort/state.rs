//! State of a sorted search between two slices.

use crate::context::{Context, VisibleEntry};
use crate::search::area::Areas;
use crate::search::explain::Explaining;
use crate::search::large::Large;
use crate::search::limits::End;
use crate::search::sink::Sink;
use crate::search::sort::keys::SortKeys;
use crate::search::sort::pages;
use crate::search::state::Search;
use crate::search::view::View;
use answers::sort_key::{Order, Scratch};
use schema::AttributeNumber;
use spool::list::{self, List, ListWriter, Merge, Sorter};
use spool::memory::Hold;
use state::progress::Progress;
use state::stop::Stop;
use std::collections::VecDeque;
use std::sync::Arc;
use store::{Candidates, EntryId, Region};

/// State of a sorted search between two slices.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub order: Order,
    /// Whether the sort control is critical: without an order, no entries are sent.
    pub critical: bool,
    /// The regions whose entries are sorted.
    pub regions: Vec<Region>,
    /// Areas to search afterwards, whose continuation references have no order.
    pub references: Areas,
    pub goal: Goal,
    pub phases: VecDeque<Phase>,
    pub keys: SortKeys,
    /// Whether only entries without a value are collected, because a walk finds the others.
    pub absent_only: bool,
    /// Sorter for the collected keys, if all of them are needed; else they are in `kept`.
    pub sorter: Option<Sorter>,
    /// The list being made, if a part of one is to be sent: keys go into it instead of entries to
    /// the client.
    pub listing: Option<ListWriter>,
    /// Memory used for keys.
    pub memory: Hold,
    pub scratch: Scratch,
    /// Snapshot version at the beginning. While it is unchanged, entries found to match still
    /// match.
    pub version: u64,
    /// The sink behind, which takes the sorted entries.
    pub then: Sink,
}

/// Part of the sorted entries that the client wants.
#[derive(Debug)]
pub(crate) enum Goal {
    All,
    Page(pages::Page),
    View(View),
}

/// A step of a sorted search.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Collect the keys of the entries that the source finds.
    Collect,
    Walk(Walk),
    /// Send the entries of these sorted keys.
    Send(std::vec::IntoIter<Box<[u8]>>),
    /// Deliver the collected keys in order.
    Merge(Merge),
    /// Send a part of a list.
    Show(Part),
}

/// Result of one slice of a phase.
pub(crate) enum PhaseStep {
    Done,
    /// This phase comes next.
    Then(Phase),
    /// The slice is over; this phase is left.
    Paused(Phase),
    Ended(End),
}

/// Progress of a walk along an ordering index.
#[derive(Debug)]
pub(crate) struct Walk {
    pub base: AttributeNumber,
    /// Sort form at which the previous page ended; `None` for the first page.
    pub start: Option<Vec<u8>>,
    /// Entries to look at; `None` for every entry that the walk meets.
    pub candidates: Option<Candidates>,
    /// Form of the last row looked at; `id` is its entry.
    pub form: Vec<u8>,
    pub id: Option<EntryId>,
}

/// A part of a list that is being sent.
#[derive(Debug)]
pub(crate) struct Part {
    pub list: Arc<List>,
    pub place: list::Place,
    /// Whether the key at the reader's place is still to be sent.
    pub holds_key: bool,
    /// Number of keys behind it still to be sent.
    pub left: u32,
}

/// Functions of a [`Sink`] that the sink behind a sorted search performs. They are not inlined, so
/// that those of [`Sink`] are inlined into searches that do not sort.
impl Sorted {
    /// Gives an entry to the sink behind.
    #[inline(never)]
    pub fn put(
        &mut self,
        context: &Context<'_>,
        search: &mut Search,
        entry: &VisibleEntry<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<Progress<()>, Stop> {
        self.then.put(context, search, entry, out)
    }

    /// The entry that is being sent in parts.
    #[inline(never)]
    pub fn large(&self) -> Option<&Large> {
        self.then.large()
    }

    /// Facts gathered about the search; `None` if it is not explained.
    #[inline(never)]
    pub fn explaining(&self) -> Option<&Explaining> {
        self.then.explaining()
    }

    /// Like [`Sorted::explaining`], to add facts.
    #[inline(never)]
    pub fn explaining_mut(&mut self) -> Option<&mut Explaining> {
        self.then.explaining_mut()
    }
}
