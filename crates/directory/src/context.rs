//! One operation's view of the directory, for one subject, on a serving thread.

pub(crate) use state::view::{Described, EachMember, Place, VisibleEntry, Walks, whole_bytes_max};

use crate::monitor::Counters;
use policy::Subject;
use replica::Clock;
use spool::Spools;
use spool::memory::Portion;
use state::catalog::Catalog;
use state::view::{JudgedSubjects, Room, Served, View};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use store::Snapshot;

/// A [`View`] with what a serving thread adds to it.
pub(crate) struct Context<'a> {
    view: View<'a>,
    /// Things that the serving thread lends; `None` where no client waits.
    lent: Option<&'a Lent<'a>>,
}

/// Clock, metrics and memory of a serving thread, lent to the contexts of its requests.
pub(crate) struct Lent<'a> {
    /// The node's time.
    pub clock: &'a dyn Clock,
    /// Metrics of the thread.
    pub counters: &'a Counters,
    /// Folder for entries that are too large for the output, with the budget of memory.
    pub spools: &'a Arc<Spools>,
    /// Access rules judged for subjects at earlier operations.
    pub judged: &'a JudgedSubjects,
}

impl<'a> Context<'a> {
    /// A view for the server itself, or for one that no client waits for.
    pub fn new(snapshot: &'a Snapshot<'a>, catalog: &'a Catalog, subject: &'a Subject) -> Self {
        Context {
            view: View::new(snapshot, catalog, subject),
            lent: None,
        }
    }

    /// A view for a request, in which the time can be read and what is sent is counted.
    pub fn of_request(
        snapshot: &'a Snapshot<'a>,
        catalog: &'a Catalog,
        subject: &'a Subject,
        lent: &'a Lent<'a>,
    ) -> Self {
        Context {
            view: View::of_request(snapshot, catalog, subject, lent),
            lent: Some(lent),
        }
    }

    /// Folder for entries that are too large for the output; `None` where no client waits.
    pub fn spools(&self) -> Option<&'a Arc<Spools>> {
        self.lent.map(|it| it.spools)
    }

    /// Counts an entry that is sent.
    #[inline]
    pub fn count_entry(&self) {
        if let Some(lent) = self.lent {
            lent.counters.entries.add(1);
        }
    }

    /// Counts a continuation reference that is sent.
    pub fn count_reference(&self) {
        if let Some(lent) = self.lent {
            lent.counters.references.add(1);
        }
    }
}

impl<'a> Deref for Context<'a> {
    type Target = View<'a>;

    #[inline(always)]
    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

impl Served for Lent<'_> {
    fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    fn steady_us(&self) -> u64 {
        /// Any beginning will do.
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        u64::try_from(BEGAN.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn judged(&self) -> &JudgedSubjects {
        self.judged
    }

    fn room(&self) -> Box<dyn Room> {
        Box::new(Portion::new(self.spools.memory()))
    }
}
