//! Putting a compacted copy in the place of the database while readers go on.
//!
//! Two names change, one after the other: the database file's and that of LMDB's table of readers.
//! Whatever ends this process in between, the folder holds one whole database, since the log was
//! sealed before and both files stand for themselves. Running snapshots stay on the file that has
//! lost its name; new ones are taken of the copy.

use std::fs;
use std::sync::Arc;

use crate::data_folder::{DATABASE_FILE, sync_folder};
use crate::error::Error;
use crate::in_use::InUse;
use crate::journal::checkpoint;
use crate::lmdb::WriteTransaction;
use crate::reader_table::{READERS_FILE, ReaderTable};
use crate::shared::Durability;
use crate::state::State;
use crate::store::Store;

/// An environment that is in use no more. Its file has no name, and its room is given back when
/// this and the last reader are gone.
#[derive(Debug)]
pub struct Retired(Arc<InUse>);

impl Retired {
    /// Whether somebody still reads it.
    pub fn has_readers(&self) -> bool {
        Arc::strong_count(&self.0) > 1 || Arc::strong_count(&self.0.environment) > 1
    }
}

/// Nothing is committed as long as this lives.
#[derive(Debug)]
pub struct Paused(#[expect(dead_code, reason = "held, not used")] WriteTransaction);

impl Store {
    /// Waits for the write under way and lets no other begin: for the moment in which several
    /// readers are to take the same snapshot.
    ///
    /// # Errors
    /// What LMDB says; [`Error::Halted`].
    pub fn pause(&self) -> Result<Paused, Error> {
        let in_use = self.shared.current.get();
        Ok(Paused(self.shared.begin(&in_use)?))
    }

    /// From now on commits are not synced but by [`Store::sync`]: for a copy nobody relies on yet.
    pub fn sync_later(&self) {
        self.shared.set_durability(Durability::Logged);
    }

    /// Puts the database of `copy` in the place of this one. Its folder lies on the same file
    /// system, it has the same state, and is synced; the log is sealed, and nobody writes to
    /// either.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the copy cannot take the place: everything is as it was.
    /// [`Error::Halted`] when it may have taken it or not: the next start finds either, whole.
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
        // Its lock goes, its environment stays.
        drop(copy);
        if let Err(error) = renamed {
            shared.set_durability(Durability::Halted);
            let reason = format!("putting the copy in place: {error}");
            return Err(Error::Halted { reason });
        }
        shared.current.put(next);
        // Should this fail, nobody gets in beside this process until it is started again.
        lock.end_replacing(number).unwrap_or_default();
        Ok(Retired(before))
    }

    /// Fails unless both have the same state and know their tables by the same handles.
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
    // Running snapshots keep it as long as they need it.
    ReaderTable::retire(store.folder());
    for name in [DATABASE_FILE, READERS_FILE] {
        let (from, to) = (copy.folder().join(name), store.folder().join(name));
        fs::rename(from, to).map_err(Error::system("renaming a file of the copy"))?;
    }
    sync_folder(store.folder())
}
