//! Use of the database file, and holders of old snapshots: figures for operators.

use crate::error::Error;
use crate::lmdb::ReadTransaction;
use crate::store::Store;

/// Figures of the database file and its readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of the file, free pages included.
    pub bytes: u64,
    /// Bytes of free pages. Pages freed lately are reused only after the oldest reader and the next
    /// checkpoint.
    pub free_bytes: u64,
    /// Number of readers that hold a snapshot, in all processes.
    pub readers: u64,
    /// Version of the oldest snapshot held, or of the newest one if none is held.
    pub oldest: u64,
    /// Version of the newest snapshot.
    pub newest: u64,
}

impl Store {
    /// Returns the figures of file and readers. Reads each row of the free list.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn usage(&self) -> Result<Usage, Error> {
        let in_use = self.shared.current.get();
        let environment = &in_use.environment;
        // The readers are listed before this function becomes a reader itself.
        let held = environment.readers()?;
        let newest = environment.newest()?;
        let oldest = held.iter().map(|(_, snapshot)| *snapshot).min();
        let oldest = oldest.unwrap_or(newest).min(newest);
        let free_pages = ReadTransaction::begin(environment)?.free_pages()?;
        let page_bytes = environment.page_bytes().unwrap_or_default() as u64;
        Ok(Usage {
            bytes: environment.sizes()?.0,
            free_bytes: free_pages * page_bytes,
            readers: held.len() as u64,
            oldest: in_use.versions_from + oldest,
            newest: in_use.versions_from + newest,
        })
    }
    /// Process id and version of the oldest snapshot held. `None` when no reader holds a snapshot
    /// older than the newest one.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn oldest_reader(&self) -> Result<Option<(u32, u64)>, Error> {
        let in_use = self.shared.current.get();
        let held = in_use.environment.readers()?;
        let newest = in_use.environment.newest()?;
        let oldest = held.into_iter().min_by_key(|(_, snapshot)| *snapshot);
        let oldest = oldest.filter(|(_, snapshot)| *snapshot < newest);
        Ok(oldest.map(|(process, snapshot)| (process, in_use.versions_from + snapshot)))
    }

    /// Clears the slots of readers whose process died from LMDB's table, so that the pages they
    /// held can be reused. Returns their number.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn clear_dead_readers(&self) -> Result<u32, Error> {
        self.shared.environment().clear_dead_readers()
    }
}
