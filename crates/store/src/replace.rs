//! Replacing the database by a compacted copy while readers go on.
//!
//! Two files are renamed, one after the other: the database file and LMDB's table of readers.
//! Whatever ends this process in between, the folder holds one whole database, since the log was
//! sealed before and both databases are complete without a log. Running snapshots stay on the file
//! that has lost its name; new ones are taken of the copy.

use std::fs;
use std::sync::Arc;

use crate::data_folder::{DATABASE_FILE, sync_folder};
use crate::error::Error;
use crate::in_use::InUse;
use crate::journal::checkpoint;
use crate::lmdb::WriteTransaction;
use crate::open_database::Durability;
use crate::reader_table::{READERS_FILE, ReaderTable};
use crate::state::State;
use crate::store::Store;

/// An environment no longer in use. Its file has no name, and its blocks are freed when this value
/// and the last reader are dropped.
#[derive(Debug)]
pub struct Retired(Arc<InUse>);

impl Retired {
    /// Returns whether a reader still uses it.
    pub fn has_readers(&self) -> bool {
        Arc::strong_count(&self.0) > 1 || Arc::strong_count(&self.0.environment) > 1
    }
}

/// A guard that prevents commits while it lives.
#[derive(Debug)]
pub struct Paused(#[expect(dead_code, reason = "held, not used")] WriteTransaction);

impl Store {
    /// Waits for the write transaction in progress and prevents the next: several readers can then
    /// take the same snapshot.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Halted`].
    pub fn pause(&self) -> Result<Paused, Error> {
        let in_use = self.shared.current.get();
        Ok(Paused(self.shared.begin(&in_use)?))
    }

    /// Leaves the syncing of commits to [`Store::sync`] from now on, for a copy that is not relied
    /// on yet.
    pub fn sync_later(&self) {
        self.shared.set_durability(Durability::Logged);
    }

    /// Replaces this database by that of `copy`. The copy's folder lies on the same file system, it
    /// has the same state, and is synced; the log is sealed, and no process writes to either.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the copy cannot take the place: all files are as before.
    /// [`Error::Halted`] when the outcome is unknown: the next start finds one of both, whole.
    pub fn replace_with(&self, copy: Store) -> Result<Retired, Error> {
        let shared = &self.shared;
        shared.refuse_halted()?;
        if checkpoint::exists(&shared.folder) || checkpoint::exists(&copy.shared.folder) {
            return Err(Error::conflict("the log has to be sealed first"));
        }
        self.require_equal(&copy)?;
        let before = shared.current.get();
        let next = InUse {
            environment: copy.shared.environment(),
            number: before.number + 1,
            versions_from: before.versions_from + before.environment.newest()? + 1,
        };
        let number = next.number;
        let lock = shared.lock.own()?;
        lock.begin_replacing()?;
        let renamed = rename_into(&copy, self);
        // Dropping the handle releases the copy's lock; its environment stays open.
        drop(copy);
        if let Err(error) = renamed {
            shared.set_durability(Durability::Halted);
            let reason = format!("putting the copy in place: {error}");
            return Err(Error::Halted { reason });
        }
        shared.current.put(next);
        // If this fails, no process can open the database beside this one until it is restarted.
        lock.end_replacing(number).unwrap_or_default();
        Ok(Retired(before))
    }

    /// Fails unless both have the same state and the same table handles.
    fn require_equal(&self, copy: &Store) -> Result<(), Error> {
        if copy.shared.tables != self.shared.tables {
            return Err(Error::conflict("the tables of the copy have other handles"));
        }
        let state = |it: &Store| -> Result<State, Error> { it.reader()?.snapshot()?.state() };
        let (expected, found) = (state(self)?, state(copy)?);
        match found == expected {
            true => Ok(()),
            false => Err(Error::conflict(format!(
                "the copy has another state: expected {expected:?}, got {found:?}"
            ))),
        }
    }
}

fn rename_into(copy: &Store, store: &Store) -> Result<(), Error> {
    // Running snapshots keep the retired table mapped as long as they need it.
    ReaderTable::retire(store.folder());
    for name in [DATABASE_FILE, READERS_FILE] {
        let (from, to) = (copy.folder().join(name), store.folder().join(name));
        fs::rename(from, to).map_err(Error::system("renaming a file of the copy"))?;
    }
    sync_folder(store.folder())
}
