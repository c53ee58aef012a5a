//! Metrics for operators: operations and their results, commits, progress of index builds. Shown as
//! entries below `cn=monitor` (`search::monitor`).
//!
//! Counting must not slow clients down: each serving thread and the writer count in memory of their
//! own, and a reader adds the counters up.

mod counters;
mod front;
mod searches;
mod shown;

pub use front::{Connections, Front, ListenerState, SetLimits};
pub use shown::{Shown, ShownEntry};

pub(crate) use counters::{Counters, OPERATIONS, Operation};
pub(crate) use searches::{Costs, Searches};

use shadow::Differences;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// All metrics of a directory that are not in its database.
pub(crate) struct Monitor {
    /// Time when the directory was opened, in microseconds since 1970.
    pub started_us: u64,
    /// Expensive searches.
    pub searches: Searches,
    /// Decisions in which a candidate for the access rules differs.
    pub differences: Differences,
    workers: Mutex<Vec<Arc<Counters>>>,
    front: OnceLock<Arc<dyn Front>>,
    /// Entries of a part of the program that the directory does not know.
    pub shown: OnceLock<Shown>,
}

impl Monitor {
    pub fn new(started_us: u64) -> Monitor {
        Monitor {
            started_us,
            searches: Searches::default(),
            differences: Differences::default(),
            workers: Mutex::default(),
            front: OnceLock::new(),
            shown: OnceLock::new(),
        }
    }

    /// Counters for one more serving thread, which alone writes to them.
    pub fn worker(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        self.workers().push(Arc::clone(&counters));
        counters
    }

    /// The sums over all serving threads.
    pub fn total(&self) -> Counters {
        let total = Counters::default();
        for worker in self.workers().iter() {
            total.add(worker);
        }
        total
    }

    /// Sets the listener, which knows the connections. Only the first call counts.
    pub fn set_front(&self, front: Arc<dyn Front>) {
        let _ = self.front.set(front);
    }

    /// The present connections; `None` without a listener.
    pub fn connections(&self) -> Option<Connections> {
        self.front.get().map(|it| it.connections())
    }

    /// The listener; `None` if there is none.
    pub fn front(&self) -> Option<&Arc<dyn Front>> {
        self.front.get()
    }

    fn workers(&self) -> MutexGuard<'_, Vec<Arc<Counters>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
