//! Writing committed pages to the disk while the load goes on.
//!
//! Without it, the operating system begins to write when much of the memory is dirty, or at the
//! final sync: processors and disk then wait for each other.
//!
//! The file would also push other files out of the page cache, although an import larger than
//! memory cannot stay there. Each of its pages would reuse a page long unused, which costs several
//! times as much as one written a moment ago, above all in a virtual machine that must ask its host
//! for it. So synced pages are dropped from the page cache until the indexes are written.

use std::fs::File;
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rustix::fs::{Advice, fadvise};

use crate::error::Error;

/// Bytes of commits between two flushes.
const FLUSH_BYTES: usize = 32 << 20;

/// Bytes at the end of the file that stay in the page cache: the load goes on from its last pages.
const KEPT_BYTES: u64 = 16 << 20;

/// A thread that syncs the database file after every [`FLUSH_BYTES`].
#[derive(Debug)]
pub(super) struct Flusher {
    /// Wakes the thread; the message says whether synced pages may leave the page cache.
    wake: Option<SyncSender<bool>>,
    thread: Option<JoinHandle<()>>,
    bytes: usize,
    forgets: bool,
}

impl Flusher {
    /// Starts the thread for the file at `path`.
    pub fn new(path: &Path) -> Result<Flusher, Error> {
        let file = File::open(path).map_err(Error::system("opening the new database"))?;
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::spawn(move || {
            let mut forgotten = 0;
            while let Ok(forgets) = woken.recv() {
                let length = file.metadata().map_or(0, |it| it.len());
                // An error is ignored here: the final sync reports it.
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

    /// Keeps pages that are synced from now on in the page cache.
    pub fn keep(&mut self) {
        self.forgets = false;
    }

    /// Counts newly committed bytes, and wakes the thread when a flush is due.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes < FLUSH_BYTES {
            return;
        }
        self.bytes = 0;
        if let Some(wake) = &self.wake {
            // A full channel means that a flush is due already.
            let _ = wake.try_send(self.forgets);
        }
    }
}

/// Advises the system to drop a part of a file from the page cache.
fn forget(file: &File, start: u64, end: u64) {
    if let Some(length) = end.checked_sub(start).and_then(NonZero::new) {
        // An error is ignored: the advice affects speed only.
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
