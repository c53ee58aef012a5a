//! State shared by the threads of a run: the job, when it is measured, and when it ends.

use std::sync::atomic::{AtomicBool, AtomicI64};
use std::time::Instant;

use super::bundle::Announcement;
use super::job::Jobs;
use super::target::Targets;

/// State shared by the threads of a run.
pub(crate) struct Run {
    pub jobs: Jobs,
    /// Beginning of the measured part.
    pub begin: Instant,
    /// Length of the load before the measured part, in nanoseconds.
    pub warm_up_ns: i64,
    /// Length of the measured part in nanoseconds.
    pub duration_ns: i64,
    /// Time to wait for responses after the measured part, in nanoseconds.
    pub drain_ns: i64,
    /// Number of measured operations that may still be started.
    pub budget: Option<AtomicI64>,
    /// Whether a thread has failed, so that all threads end.
    pub failed: AtomicBool,
    /// The bundling of requests, if responses are awaited together.
    pub announcement: Option<Announcement>,
    /// The servers, if connections that end are made again at the next one.
    pub failover: Option<Targets>,
    /// Nanoseconds between two operations of one thread, in an open loop.
    pub interval_ns: Option<f64>,
}

impl Run {
    /// Nanoseconds from the beginning of the measured part; negative during the warm-up.
    pub fn now(&self) -> i64 {
        let now = Instant::now();
        match now.checked_duration_since(self.begin) {
            Some(after) => after.as_nanos() as i64,
            None => -((self.begin - now).as_nanos() as i64),
        }
    }
}
