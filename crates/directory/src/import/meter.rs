//! How far a long work is, for whoever waits for it.

use state::stop::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What another thread may ask and tell a long work.
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
    /// Entries done so far.
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Entries of the old database taken over so far.
    pub fn kept_entries(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Bytes read or written so far, as they are stored (compressed, if they are).
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many entries there will be; 0 while nobody knows.
    pub fn expected_entries(&self) -> u64 {
        self.expected.load(Ordering::Relaxed)
    }

    /// All entries are done; what is left takes time, but no input.
    pub fn finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed)
    }

    /// Asks the work to stop, leaving everything as it was. What is nearly done is done.
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

    /// Set when it has been cancelled.
    pub(crate) fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// An error when it has been cancelled; a source that waits for its input asks now and then.
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
