//! Watches readers that hold old states, which prevent the reuse of pages: those of dead processes
//! are removed, others are logged as warnings.

use super::Executor;
use state::stop::Failure;
use std::time::{Duration, Instant};

/// Minimum time between two checks. A check costs a system call for each process that reads.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum age in seconds for a warning about a reader. An export or backup of some million entries
/// takes less.
const OLD_AGE_S: u64 = 600;
/// Minimum time between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(600);

/// Times of the last check and the last warning.
#[derive(Debug, Default)]
pub(crate) struct ReaderWatch {
    looked: Option<Instant>,
    warned: Option<Instant>,
}

impl ReaderWatch {
    /// Whether a check is due; records it as done.
    fn is_due(&mut self, now: Instant) -> bool {
        let due = has_passed(self.looked, now, LOOK_INTERVAL);
        if due {
            self.looked = Some(now);
        }
        due
    }

    /// Whether to warn of a reader of this age in seconds now; records the warning as done.
    fn warns(&mut self, age_s: u64, now: Instant) -> bool {
        let warns = age_s >= OLD_AGE_S && has_passed(self.warned, now, WARNING_INTERVAL);
        if warns {
            self.warned = Some(now);
        }
        warns
    }
}

fn has_passed(since: Option<Instant>, now: Instant, interval: Duration) -> bool {
    since.is_none_or(|since| now.saturating_duration_since(since) >= interval)
}

impl Executor {
    /// Checks readers if a check is due. Called after commits, because only commits free pages that
    /// readers hold.
    pub(super) fn look_after_readers(&mut self) {
        if !self.readers.is_due(Instant::now()) {
            return;
        }
        if let Err(failure) = self.try_look_after_readers() {
            tracing::warn!(%failure, "the readers of the database could not be looked at");
        }
    }

    fn try_look_after_readers(&mut self) -> Result<(), Failure> {
        let dead = self.parts.store.clear_dead_readers()?;
        if dead > 0 {
            tracing::info!(
                readers = dead,
                "readers of processes that died were removed"
            );
        }
        let Some((process, version)) = self.parts.store.oldest_reader()? else {
            return Ok(());
        };
        let now_us = self.parts.clock.now_us();
        let age_s = self.parts.commits.age_s(version, now_us);
        if self.readers.warns(age_s, Instant::now()) {
            tracing::warn!(
                process,
                age_s,
                "a reader has held an old state of the database for {} minutes: until it ends, \
                 the file grows with each write",
                age_s / 60
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_and_warnings_keep_their_intervals() {
        let mut watch = ReaderWatch::default();
        let start = Instant::now();
        assert!(watch.is_due(start));
        assert!(!watch.is_due(start + Duration::from_millis(999)));
        assert!(watch.is_due(start + Duration::from_secs(1)));
        assert!(!watch.warns(OLD_AGE_S - 1, start));
        assert!(watch.warns(OLD_AGE_S, start));
        assert!(!watch.warns(OLD_AGE_S + 599, start + Duration::from_secs(599)));
        assert!(watch.warns(OLD_AGE_S + 600, start + Duration::from_secs(600)));
    }
}
