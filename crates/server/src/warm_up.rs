//! Reads the database into memory after a start. Otherwise each page is read from the disk when it
//! is first needed, and mapped when a page near it is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use directory::Directory;

use crate::resources;

/// The database is read if it takes at most one part in this many of the memory; a larger one would
/// displace other data, and finally itself.
const MEMORY_SHARE: u64 = 2;

/// The reading thread.
pub struct WarmUp {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl WarmUp {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(directory: Directory) -> io::Result<WarmUp> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("warm-up".to_owned())
            .spawn(move || read(&directory, &stopped))?;
        Ok(WarmUp { stop, thread })
    }

    /// Stops the thread before its end and waits for it.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panicked thread has said so itself.
        let _ = self.thread.join();
    }
}

fn read(directory: &Directory, stop: &AtomicBool) {
    let begun = Instant::now();
    let bytes_max = resources::memory_bytes() / MEMORY_SHARE;
    match directory.warm_up(bytes_max, &|| !stop.load(Ordering::Relaxed)) {
        Ok(Some(bytes)) => tracing::info!(
            bytes,
            seconds = begun.elapsed().as_secs_f64(),
            "read the database into memory"
        ),
        Ok(None) => tracing::info!(
            bytes_max,
            "the database is too large to be read into memory"
        ),
        Err(error) => tracing::warn!(%error, "the database is not read into memory"),
    }
}
