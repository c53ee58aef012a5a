//! Metrics of the writer: commits and their sizes, the log, the current index build, and the times
//! at which snapshots were the newest.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::JournalState;

/// Number of size classes of commits: 1, 2 to 3, 4 to 7, and so on; the last has no upper limit.
const CLASSES: usize = 14;
/// Maximum number of remembered moments; for older snapshots only a minimum age is known.
const MOMENTS_MAX: usize = 4_096;
/// Minimum time between two remembered moments, in microseconds.
const APART_US: u64 = 1_000_000;

/// Metrics written by the writer thread and read by any.
#[derive(Debug, Default)]
pub struct Commits {
    writes: AtomicU64,
    sizes: [AtomicU64; CLASSES],
    /// Size of the log in bytes; 0 without a log.
    log_bytes: AtomicU64,
    /// Time of the last checkpoint in microseconds since 1970; 0 without a log.
    checkpoint_us: AtomicU64,
    rest: Mutex<Rest>,
}

#[derive(Debug, Default)]
struct Rest {
    /// Versions with the times of their commits, oldest first.
    moments: VecDeque<(u64, u64)>,
    /// The newest version and the time of its commit, remembered or not.
    newest: (u64, u64),
    build: Option<Build>,
}

/// The current index build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// The attribute type.
    pub attribute: String,
    /// Number of entries read.
    pub done: u64,
    /// Number of entries to read.
    pub total: u64,
    /// Number of entries read when this process began the build, and the time.
    began: (u64, u64),
    /// End of the last slice.
    until_us: u64,
}

impl Build {
    /// Entries read per second, on average in this process.
    pub fn rate(&self) -> u64 {
        let took_us = self.until_us.saturating_sub(self.began.1).max(1);
        let looked_at = self.done.saturating_sub(self.began.0);
        (u128::from(looked_at) * 1_000_000 / u128::from(took_us)) as u64
    }
}

impl Commits {
    /// Counts a commit of `writes` writes that made this version.
    pub fn committed(&self, writes: u64, version: u64, now_us: u64) {
        let class = (writes.max(1).ilog2() as usize).min(CLASSES - 1);
        self.sizes[class].fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes, Ordering::Relaxed);
        self.remember(version, now_us);
    }

    /// Remembers the time of a version's commit.
    pub fn remember(&self, version: u64, now_us: u64) {
        let mut rest = self.rest();
        rest.newest = (version, now_us);
        let moments = &mut rest.moments;
        if moments.back().is_none_or(|(_, at)| at + APART_US <= now_us) {
            if moments.len() == MOMENTS_MAX {
                moments.pop_front();
            }
            moments.push_back((version, now_us));
        }
    }

    /// Records the state of the log.
    pub fn logged(&self, state: Option<JournalState>, now_us: u64) {
        let bytes = state.map_or(0, |it| it.bytes);
        let age_us = state.map(|it| it.checkpoint_age.as_micros() as u64);
        self.log_bytes.store(bytes, Ordering::Relaxed);
        let made_us = age_us.map_or(0, |it| now_us.saturating_sub(it));
        self.checkpoint_us.store(made_us, Ordering::Relaxed);
    }

    /// Records the progress of an index build; `None` when nothing is left to build.
    pub fn built(&self, progress: Option<(&str, u64, u64)>, now_us: u64) {
        let build = &mut self.rest().build;
        let Some((attribute, done, total)) = progress else {
            *build = None;
            return;
        };
        let same = build.take().filter(|it| it.attribute == attribute);
        *build = Some(Build {
            attribute: attribute.to_owned(),
            done,
            total,
            began: same.map_or((done, now_us), |it| it.began),
            until_us: now_us,
        });
    }

    /// The index build under way; `None` if there is none.
    pub fn build(&self) -> Option<Build> {
        self.rest().build.clone()
    }

    /// Number of transactions, and of the writes in them.
    pub fn totals(&self) -> (u64, u64) {
        let commits = self.sizes.iter().map(|it| it.load(Ordering::Relaxed));
        (commits.sum(), self.writes.load(Ordering::Relaxed))
    }

    /// Number of transactions in each size class, as `1: 17`, `2-3: 5`; empty classes are left out.
    pub fn sizes(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for (class, count) in self.sizes.iter().enumerate() {
            let (from, count) = (1_u64 << class, count.load(Ordering::Relaxed));
            match (class, count) {
                (_, 0) => {}
                (0, _) => texts.push(format!("1: {count}")),
                (last, _) if last == CLASSES - 1 => texts.push(format!("{from} and more: {count}")),
                _ => texts.push(format!("{from}-{}: {count}", 2 * from - 1)),
            }
        }
        texts
    }

    /// Size of the log in bytes, and age of its checkpoint in seconds; `None` without a log.
    pub fn log(&self, now_us: u64) -> Option<(u64, u64)> {
        let made_us = self.checkpoint_us.load(Ordering::Relaxed);
        let age_s = now_us.saturating_sub(made_us) / 1_000_000;
        (made_us != 0).then(|| (self.log_bytes.load(Ordering::Relaxed), age_s))
    }

    /// Seconds since a version was the newest one.
    pub fn age_s(&self, version: u64, now_us: u64) -> u64 {
        let rest = self.rest();
        let after = rest.moments.partition_point(|(it, _)| *it <= version);
        let newest = Some(&rest.newest).filter(|it| it.0 > version);
        let passed = rest.moments.get(after).or(newest);
        passed.map_or(0, |(_, at)| now_us.saturating_sub(*at) / 1_000_000)
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    #[test]
    fn commits_are_counted_by_size() {
        let commits = Commits::default();
        for (version, writes) in [1, 1, 3, 2, 100_000].into_iter().enumerate() {
            commits.committed(writes, version as u64, 0);
        }
        assert_eq!(commits.sizes(), ["1: 2", "2-3: 2", "8192 and more: 1"]);
        assert_eq!(commits.totals(), (5, 100_007));
    }

    #[test]
    fn a_state_grows_old_from_the_next_one_on() {
        let commits = Commits::default();
        for (version, at) in [(7, S), (8, S + 10), (9, 3 * S), (10, 5 * S)] {
            commits.committed(1, version, at);
        }
        assert_eq!(commits.age_s(6, 11 * S), 10);
        // Version 8 is not remembered, because it was committed too soon after version 7.
        assert_eq!(commits.age_s(7, 11 * S), 8);
        assert_eq!(commits.age_s(9, 11 * S), 6);
        assert_eq!(commits.age_s(10, 11 * S), 0);
        // The newest version counts even if it is not remembered and no write follows.
        commits.committed(1, 11, 5 * S + 10);
        assert_eq!(commits.age_s(10, 11 * S), 5);
        assert_eq!(commits.age_s(11, 11 * S), 0);
    }

    #[test]
    fn the_rate_of_a_build_is_that_of_this_process() {
        let commits = Commits::default();
        commits.built(Some(("cn", 5_000, 20_000)), 2 * S);
        commits.built(Some(("cn", 9_000, 20_000)), 4 * S);
        assert_eq!(commits.build().expect("under way").rate(), 2_000);
        commits.built(Some(("sn", 1_000, 20_000)), 5 * S);
        assert_eq!(commits.build().expect("under way").rate(), 0);
        commits.built(None, 6 * S);
        assert_eq!(commits.build(), None);
    }
}
