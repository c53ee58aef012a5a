//! Writing to the disk what has been committed, while the load goes on.
//!
//! Left alone, the system begins to write when much of the memory is taken, or at the final sync:
//! then the processors have waited for the disk, or the disk for the processors.
//!
//! And the file would push everything else out of memory, although an import larger than the
//! memory cannot stay there. Each of its pages would be one that has not been used for long: those
//! cost several times what a page costs that was written a moment ago, above all where a virtual
//! machine has to ask its host for them. So what is on the disk is forgotten, until the indexes are
//! written.

use std::fs::File;
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rustix::fs::{Advice, fadvise};

use crate::error::Error;

/// Bytes committed before the next flush.
const FLUSH_BYTES: usize = 32 << 20;

/// Bytes at the end of the file that stay in memory: the load goes on from its last pages.
const KEPT_BYTES: u64 = 16 << 20;

/// A thread that syncs the database file now and then.
#[derive(Debug)]
pub(super) struct Flusher {
    /// Takes whether what is synced may be forgotten.
    wake: Option<SyncSender<bool>>,
    thread: Option<JoinHandle<()>>,
    bytes: usize,
    forgets: bool,
}

impl Flusher {
    /// For this file.
    pub fn new(path: &Path) -> Result<Flusher, Error> {
        let file = File::open(path).map_err(Error::system("opening the new database"))?;
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::spawn(move || {
            let mut forgotten = 0;
            while let Ok(forgets) = woken.recv() {
                let length = file.metadata().map_or(0, |it| it.len());
                // Only a beginning: the sync at the end tells what goes wrong.
                let synced = file.sync_data();
                if forgets && synced.is_ok() {
                    let end = length.saturating_sub(KEPT_BYTES);
                    forget(&file, forgotten, end);
                    forgotten = end;
                }
            }
        });
        Ok(Flusher {
            wake: Some(wake),
            thread: Some(thread),
            bytes: 0,
            forgets: true,
        })
    }

    /// What comes from now on stays in memory.
    pub fn keep(&mut self) {
        self.forgets = false;
    }

    /// So many bytes more are committed.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes < FLUSH_BYTES {
            return;
        }
        self.bytes = 0;
        if let Some(wake) = &self.wake {
            // Full: one is due already.
            let _ = wake.try_send(self.forgets);
        }
    }
}

/// Tells the system that it need not keep this part of a file in memory.
fn forget(file: &File, start: u64, end: u64) {
    if let Some(length) = end.checked_sub(start).and_then(NonZero::new) {
        // Advice: nothing is lost when it is not taken.
        let _ = fadvise(file, start, Some(length), Advice::DontNeed);
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
