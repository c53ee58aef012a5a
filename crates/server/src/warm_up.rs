//! Reading the database into memory after a start. Otherwise each page is read from the disk when
//! somebody needs it first, and mapped when each of the pages around it is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use directory::Directory;

use crate::resources;

/// A database may take one part in so many of the memory; a larger one would push out what else
/// needs memory, itself at last.
const MEMORY_SHARE: u64 = 2;

/// A thread that reads.
pub struct WarmUp {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl WarmUp {
    /// Starts to read.
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

    /// Stops before the end and waits for the thread.
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
