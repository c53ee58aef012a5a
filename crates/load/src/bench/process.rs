//! CPU time and memory of a process, from /proc.

use std::collections::BTreeMap;
use std::fs;

/// CPU time of a process at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuSample {
    /// Nanoseconds on a CPU by thread, as counted by the scheduler.
    threads: BTreeMap<u64, u64>,
    /// Clock ticks in user and kernel mode of all threads, ended ones included.
    user_ticks: u64,
    system_ticks: u64,
}

/// Sample of a process and a file at one second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerSecond {
    pub cores: f64,
    pub anonymous_bytes: u64,
    pub file_bytes: u64,
}

/// Resident memory in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    pub resident_bytes: u64,
    pub anonymous_bytes: u64,
}

impl CpuSample {
    /// Takes a sample; `None` if the process does not exist.
    pub fn take(pid: u32) -> Option<CpuSample> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may itself contain spaces and parentheses.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse().ok());
        let mut sample = CpuSample {
            threads: BTreeMap::new(),
            user_ticks: ticks(11)?,
            system_ticks: ticks(12)?,
        };
        for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let thread = entry.file_name().to_string_lossy().parse();
            let spent = fs::read_to_string(entry.path().join("schedstat")).ok();
            let spent = spent.and_then(|text| text.split(' ').next()?.parse().ok());
            // A thread may end between listing and reading.
            if let (Ok(thread), Some(spent)) = (thread, spent) {
                sample.threads.insert(thread, spent);
            }
        }
        Some(sample)
    }

    /// Nanoseconds on a CPU since `earlier`. Exact while no thread ends; otherwise from clock
    /// ticks.
    pub fn ns_since(&self, earlier: &CpuSample) -> u64 {
        let all_here = earlier
            .threads
            .keys()
            .all(|thread| self.threads.contains_key(thread));
        if all_here && !self.threads.is_empty() {
            let sum = |sample: &CpuSample| sample.threads.values().sum::<u64>();
            return sum(self).saturating_sub(sum(earlier));
        }
        let ticks = (self.user_ticks + self.system_ticks)
            .saturating_sub(earlier.user_ticks + earlier.system_ticks);
        ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second())
    }

    /// Share of the CPU time since `earlier` spent in the kernel, 0 to 1.
    pub fn system_share_since(&self, earlier: &CpuSample) -> f64 {
        let system = self.system_ticks.saturating_sub(earlier.system_ticks) as f64;
        let user = self.user_ticks.saturating_sub(earlier.user_ticks) as f64;
        if system + user > 0.0 {
            system / (system + user)
        } else {
            0.0
        }
    }
}

/// Nanoseconds that the threads of a process have been on a CPU so far; `None` when the process
/// does not exist.
pub fn cpu_ns(pid: u32) -> Option<u64> {
    Some(CpuSample::take(pid)?.ns_since(&CpuSample::default()))
}

impl Memory {
    pub fn of(pid: u32) -> Option<Memory> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let kilobytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Memory {
            resident_bytes: kilobytes("VmRSS:")? * 1024,
            anonymous_bytes: kilobytes("RssAnon:")? * 1024,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_time_and_memory() {
        let pid = std::process::id();
        let before = CpuSample::take(pid).unwrap();
        let mut sum = 0u64;
        while CpuSample::take(pid).unwrap().ns_since(&before) < 1_000_000 {
            sum = sum.wrapping_add((0..10_000u64).map(std::hint::black_box).sum());
        }
        std::hint::black_box(sum);
        let memory = Memory::of(pid).unwrap();
        assert!(memory.resident_bytes > memory.anonymous_bytes && memory.anonymous_bytes > 0);
        assert!(CpuSample::take(0).is_none());
    }
}
