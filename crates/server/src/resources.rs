//! What the system lends: open files and processors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Files that are open beside connections: the store, listeners, logs, event queues.
const OTHER_FILES: u64 = 64;

/// Raises the limit of open files as far as the system allows, says so, and returns how many
/// connections have room.
pub fn raise_open_files(connections_max: usize) -> usize {
    let before = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    let after = match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => before.maximum,
        Err(_) => before.current,
    };
    let room = usize::try_from(after.unwrap_or(u64::MAX).saturating_sub(OTHER_FILES));
    let room = room.unwrap_or(usize::MAX);
    let count = |it: Option<u64>| it.map_or("unlimited".to_owned(), |it| it.to_string());
    let (from, to) = (count(before.current), count(after));
    if connections_max > room {
        tracing::warn!(
            "connections.total_max is {connections_max}, but open files are limited to {to}: \
             there is room for {room} connections; raise the limit (ulimit -Hn, or \
             LimitNOFILE= in the service's unit)"
        );
    } else {
        tracing::info!("open files: {from} raised to {to}, room for {room} connections");
    }
    room
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
