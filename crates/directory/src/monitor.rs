//! What an operator watches: what was asked and answered, how writes are committed, how far index
//! builds are. Shown below `cn=monitor` ([`tree`]).
//!
//! Counting must cost nothing that clients notice: each serving thread counts in memory of its own,
//! the writer in its own, and whoever looks adds up what all of them say at that moment.

mod commits;
mod counters;
mod front;
mod searches;
mod shape;
mod tree;

pub use front::{Connections, Front, ListenerState, SetLimits};

pub(crate) use commits::Commits;
pub(crate) use counters::{Counters, OPERATIONS, Operation};
pub(crate) use searches::{Costs, Searches};
pub(crate) use shape::shape;
pub(crate) use tree::{Node, tree};

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// All figures of a directory that do not stand in its database.
pub(crate) struct Monitor {
    /// When the directory was opened, in microseconds since 1970.
    pub started_us: u64,
    /// What the writer counts.
    pub commits: Commits,
    /// Searches that cost much.
    pub searches: Searches,
    workers: Mutex<Vec<Arc<Counters>>>,
    front: OnceLock<Arc<dyn Front>>,
}

impl Monitor {
    pub fn new(started_us: u64) -> Monitor {
        Monitor {
            started_us,
            commits: Commits::default(),
            searches: Searches::default(),
            workers: Mutex::default(),
            front: OnceLock::new(),
        }
    }

    /// Counters for one more serving thread, the only one to write to them.
    pub fn worker(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        self.workers().push(Arc::clone(&counters));
        counters
    }

    /// What all serving threads have counted.
    pub fn total(&self) -> Counters {
        let total = Counters::default();
        for worker in self.workers().iter() {
            total.add(worker);
        }
        total
    }

    /// Who knows of connections. The first one stays.
    pub fn set_front(&self, front: Arc<dyn Front>) {
        let _ = self.front.set(front);
    }

    /// The connections there are; `None` when nothing listens.
    pub fn connections(&self) -> Option<Connections> {
        self.front.get().map(|it| it.connections())
    }

    /// Who listens for clients; `None` when nothing does.
    pub fn front(&self) -> Option<&Arc<dyn Front>> {
        self.front.get()
    }

    fn workers(&self) -> MutexGuard<'_, Vec<Arc<Counters>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
