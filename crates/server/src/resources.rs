//! What the system lends: open files, processors and memory.

use std::path::Path;

use directory::SPOOL_FILES_MAX;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Files that are open beside connections: the store, listeners, logs.
const OTHER_FILES: u64 = 64;
/// One of so many files may be one in which an entry of many members waits for its client.
const SPOOL_PART: u64 = 8;
/// Files that a serving thread needs for itself: its event queue and what wakes it.
const THREAD_FILES: u64 = 4;

/// The memory of a machine that does not say.
const UNKNOWN_BYTES: u64 = 4 << 30;

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
    let spools = limit.map_or(0, |it| SPOOL_FILES_MAX.min(it / SPOOL_PART));
    let others = OTHER_FILES + THREAD_FILES * threads as u64 + spools;
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

/// Bytes of memory this process may take: the machine's, or those of its control group.
pub fn memory_bytes() -> u64 {
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|it| {
        let line = it.lines().find_map(|it| it.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().split(' ').next()?.parse().ok()?;
        Some(kib << 10)
    });
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = groups.lines().filter_map(limit_of_group).min();
    let all = [machine, limit].into_iter().flatten().min();
    all.unwrap_or(UNKNOWN_BYTES)
}

/// What a line of `/proc/self/cgroup` allows, in either version of the interface.
fn limit_of_group(line: &str) -> Option<u64> {
    let (root, file, own) = match line.strip_prefix("0::") {
        Some(own) => ("/sys/fs/cgroup", "memory.max", own),
        None => {
            let (_, own) = line.split_once(":memory:")?;
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", own)
        }
    };
    // A group above may allow less.
    let groups = Path::new(own.trim_start_matches('/')).ancestors();
    let limit = |group: &Path| {
        let text = std::fs::read_to_string(Path::new(root).join(group).join(file)).ok()?;
        text.trim().parse().ok()
    };
    groups.filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_known() {
        assert!(memory_bytes() > 1 << 20);
    }
}
