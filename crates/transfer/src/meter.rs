//! Progress and cancellation of long work.

use state::stop::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of long work, readable from other threads.
#[derive(Debug, Default)]
pub struct Meter {
    entries: AtomicU64,
    kept: AtomicU64,
    bytes: AtomicU64,
    expected: AtomicU64,
    finishing: AtomicBool,
    cancelled: Arc<AtomicBool>,
}

impl Meter {
    /// Number of entries done.
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Number of entries taken over from the old database.
    pub fn kept_entries(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Number of bytes read or written in stored form (compressed, if they are).
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Expected number of entries; 0 if unknown.
    pub fn expected_entries(&self) -> u64 {
        self.expected.load(Ordering::Relaxed)
    }

    /// Whether all entries are done, and only work without input is left.
    pub fn finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed)
    }

    /// Requests cancellation, which leaves the database unchanged. Work in its last step is
    /// completed.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Counts bytes of a source that does its own reading.
    pub fn add_bytes(&self, count: u64) {
        self.bytes.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn add_entries(&self, count: u64) {
        self.entries.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn add_kept(&self, count: u64) {
        self.kept.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn expect_entries(&self, count: u64) {
        self.expected.store(count, Ordering::Relaxed);
    }

    pub(crate) fn finish(&self) {
        self.finishing.store(true, Ordering::Relaxed);
    }

    /// The flag that is set by cancellation.
    pub(crate) fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// Fails after cancellation; a source that waits for input calls this periodically.
    ///
    /// # Errors
    /// [`Failure::Cancelled`]
    pub fn check(&self) -> Result<(), Failure> {
        if self.cancelled.load(Ordering::Relaxed) {
            Err(Failure::Cancelled)
        } else {
            Ok(())
        }
    }
}
