//! How much of the database file is used, and who holds old snapshots: what an operator watches.

use crate::error::Error;
use crate::lmdb::ReadTransaction;
use crate::store::Store;

/// How the database file and its readers stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of the file, free pages included.
    pub bytes: u64,
    /// Bytes of pages that hold nothing. Those freed lately wait for the oldest reader and the
    /// next checkpoint before they are used again.
    pub free_bytes: u64,
    /// Readers that hold a snapshot, in all processes.
    pub readers: u64,
    /// The oldest snapshot that is held, or the newest one if none is.
    pub oldest: u64,
    /// The newest snapshot.
    pub newest: u64,
}

impl Store {
    /// How the file and its readers stand. Costs a look at each row of the list of free pages.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn usage(&self) -> Result<Usage, Error> {
        let in_use = self.shared.current.get();
        let environment = &in_use.environment;
        // Before this function becomes a reader itself.
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
    /// The process whose snapshot is the oldest one held, and its version. `None` when no reader
    /// holds a snapshot older than the newest one.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn oldest_reader(&self) -> Result<Option<(u32, u64)>, Error> {
        let in_use = self.shared.current.get();
        let held = in_use.environment.readers()?;
        let newest = in_use.environment.newest()?;
        let oldest = held.into_iter().min_by_key(|(_, snapshot)| *snapshot);
        let oldest = oldest.filter(|(_, snapshot)| *snapshot < newest);
        Ok(oldest.map(|(process, snapshot)| (process, in_use.versions_from + snapshot)))
    }

    /// Removes the readers of processes that died from LMDB's table: what they held may be used
    /// again. Returns how many there were.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn clear_dead_readers(&self) -> Result<u32, Error> {
        self.shared.environment().clear_dead_readers()
    }
}
