//! What the system lends: open files and processors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Files that are open beside connections: the store, listeners, logs.
const OTHER_FILES: u64 = 64;
/// Files that a serving thread needs for itself: its event queue and what wakes it.
const THREAD_FILES: u64 = 4;

/// How many files this process may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// `None` without limit.
    pub limit: Option<u64>,
    /// How many of them connections can be.
    pub room: usize,
}

/// Raises the limit of open files as far as the system allows.
pub fn raise_open_files(threads: usize) -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    let limit = match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => before.maximum,
        Err(_) => before.current,
    };
    let others = OTHER_FILES + THREAD_FILES * threads as u64;
    let room = limit.unwrap_or(u64::MAX).saturating_sub(others);
    OpenFiles {
        limit,
        room: usize::try_from(room).unwrap_or(usize::MAX),
    }
}

/// The processors that this process may use.
pub fn processors() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|it| set.is_set(*it)).collect(),
        Err(_) => vec![0],
    }
}

/// Keeps the calling thread on one processor.
pub fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    if let Err(error) = sched_setaffinity(None, &set) {
        tracing::info!(processor, %error, "serving thread not pinned");
    }
}
