//! Writing to the disk what has been committed, while the load goes on.
//!
//! Left alone, the system begins to write when much of the memory is taken, or at the final sync:
//! then the processors have waited for the disk, or the disk for the processors.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::error::Error;

/// Bytes committed before the next flush.
const FLUSH_BYTES: usize = 128 << 20;

/// A thread that syncs the database file now and then.
#[derive(Debug)]
pub(super) struct Flusher {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    bytes: usize,
}

impl Flusher {
    /// For this file.
    pub fn new(path: &Path) -> Result<Flusher, Error> {
        let file = File::open(path).map_err(Error::system("opening the new database"))?;
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::spawn(move || {
            while woken.recv().is_ok() {
                // Only a beginning: the sync at the end tells what goes wrong.
                let _ = file.sync_data();
            }
        });
        Ok(Flusher {
            wake: Some(wake),
            thread: Some(thread),
            bytes: 0,
        })
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
            let _ = wake.try_send(());
        }
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
