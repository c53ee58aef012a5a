//! Resources of the system: open files, processors and memory.

use std::path::Path;

use directory::SPOOL_FILES_MAX;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Number of open files besides connections: the store, listeners, logs.
const OTHER_FILES: u64 = 64;
/// One in this many files is reserved for large entries being sent.
const SPOOL_PART: u64 = 8;
/// Number of files that a serving thread needs: its event queue and its waker.
const THREAD_FILES: u64 = 4;

/// Assumed memory in bytes, if the system does not tell.
const UNKNOWN_BYTES: u64 = 4 << 30;

/// Number of files that this process may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// The limit; `None` for no limit.
    pub limit: Option<u64>,
    /// Number of files available for connections.
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

/// Binds the calling thread to one processor.
pub fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    if let Err(error) = sched_setaffinity(None, &set) {
        tracing::info!(processor, %error, "serving thread not pinned");
    }
}

/// Bytes of memory that this process may use: the machine's, or those of its control group.
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

/// The limit named by a line of `/proc/self/cgroup`, in either version of the interface; `None`
/// without limit.
fn limit_of_group(line: &str) -> Option<u64> {
    let (root, file, own) = match line.strip_prefix("0::") {
        Some(own) => ("/sys/fs/cgroup", "memory.max", own),
        None => {
            let (_, own) = line.split_once(":memory:")?;
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", own)
        }
    };
    // A parent group may have a lower limit.
    let groups = Path::new(own.trim_start_matches('/')).ancestors();
    let limit = |group: &Path| {
        let text = std::fs::read_to_string(Path::new(root).join(group).join(file)).ok()?;
        text.trim().parse().ok()
    };
    groups.filter_map(limit).min()
}

/// Keeps the memory of this process out of files that the system writes when a process crashes: it
/// has passwords in it. Other processes of the same user can no longer read the memory, either. The
/// limit also holds for child processes.
pub fn forbid_core_dumps() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let limited = setrlimit(Resource::Core, none);
    let forbidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    if let Err(error) = limited.and(forbidden) {
        tracing::warn!(%error, "a crash may write the memory of this process to a file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_known() {
        assert!(memory_bytes() > 1 << 20);
    }
}
