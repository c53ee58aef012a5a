//! Recovery after a crash: back to the checkpoint, and forward again through the log.

use std::path::Path;

use super::checkpoint::{self, Checkpoint};
use super::reader::LogReader;
use super::{LOG_FOLDER, seal};
use crate::error::Error;
use crate::lmdb::ReadTransaction;
use crate::lock::lock_folder;
use crate::open_database::Durability;
use crate::page_file;
use crate::state::{STATE_KEY, State, value_key};
use crate::store::{Store, StoreOptions, whole_file};

/// A store at its checkpoint, with the records that came after it. The owner executes each in a
/// transaction of its own and then calls [`Recovery::finish`]; after another crash recovery begins
/// anew.
#[derive(Debug)]
pub struct Recovery {
    reader: LogReader,
    /// The pin stands before the store: it ends before the environment may close.
    pin: ReadTransaction,
    store: Store,
    finished: bool,
}

impl Store {
    /// Opens a store as [`Store::open`] does, and also a folder that was not closed: then the store
    /// stands at its last checkpoint, and nothing else may be done with it before the recovery is
    /// finished.
    ///
    /// # Errors
    /// The errors of [`Store::open`]; [`Error::Corrupt`] when checkpoint, log and database do not
    /// belong together.
    pub fn recover(folder: &Path) -> Result<(Store, Option<Recovery>), Error> {
        whole_file(folder)?;
        let lock = lock_folder(folder)?;
        let checkpoint = go_back(folder)?;
        let (store, pin) = Store::open_pinned(folder, lock, &StoreOptions::default())?;
        let recovery = checkpoint.map(|checkpoint| Recovery::new(&store, pin, &checkpoint));
        Ok((store, recovery.transpose()?))
    }

    /// Refuses a folder that was not closed and whose log ends before a write that the database
    /// knows was acknowledged. Must come before [`Store::recover`], which overwrites the evidence.
    /// `position_of` reads the position in a record.
    ///
    /// # Errors
    /// [`Error::LostRecords`], [`Error::Locked`]; the log cannot be read.
    pub fn refuse_lost_records(
        folder: &Path,
        position_of: impl Fn(&[u8]) -> Option<u64>,
    ) -> Result<(), Error> {
        if !checkpoint::exists(folder) {
            return Ok(());
        }
        let _lock = lock_folder(folder)?;
        refuse_lost(folder, position_of)
    }

    /// Returns a small named value of the state that the next start of a database begins with, before it
    /// executes its log;
    /// `None` if there is none, or the file cannot be read. No process has it open.
    pub fn next_meta(folder: &Path, key: &[u8]) -> Option<Vec<u8>> {
        page_file::next_value(folder, "meta", &value_key(key))
    }
}

/// Puts the folder's database back to its checkpoint, if there is one. No process has it open.
fn go_back(folder: &Path) -> Result<Option<Checkpoint>, Error> {
    let Some(checkpoint) = checkpoint::read(folder)? else {
        return Ok(None);
    };
    checkpoint::restore(folder, &checkpoint)?;
    Ok(Some(checkpoint))
}

/// Refuses a log that ends before the position that the database reached: a commit follows the sync
/// of its record, so that record was acknowledged and is damaged now. Without this check it would
/// look like the torn end of a crash. `position_of` reads the position in a record.
///
/// Reads the log from the checkpoint on. Damage goes unnoticed when the crash also took the newest
/// pages of the database.
fn refuse_lost(folder: &Path, position_of: impl Fn(&[u8]) -> Option<u64>) -> Result<(), Error> {
    let Some(checkpoint) = checkpoint::read(folder)? else {
        return Ok(());
    };
    let state = page_file::newest_value(folder, "meta", STATE_KEY);
    let Some(Ok(state)) = state.map(|it| State::decode(&it)) else {
        return Ok(());
    };
    if !checkpoint::is_marked(folder, checkpoint.id)? {
        // The database file is another log's: going back to the checkpoint reports that.
        return Ok(());
    }
    let mut reader = LogReader::new(&folder.join(LOG_FOLDER), checkpoint.id, checkpoint.place)?;
    let mut last = None;
    while let Some(content) = reader.next()? {
        last = position_of(&content).max(last);
    }
    let reached = last.unwrap_or_else(|| {
        let value = page_file::next_value(folder, "meta", STATE_KEY);
        let state = value.and_then(|it| State::decode(&it).ok());
        state.map_or(u64::MAX, |it| it.position)
    });
    if reached >= state.position {
        return Ok(());
    }
    Err(Error::LostRecords {
        sequence: reader.sequence(),
        reached,
        acknowledged: state.position,
    })
}

impl Recovery {
    /// Begins with a store just opened at its checkpoint, which `pin` holds.
    fn new(
        store: &Store,
        pin: ReadTransaction,
        checkpoint: &Checkpoint,
    ) -> Result<Recovery, Error> {
        if pin.id() != checkpoint.transaction {
            return Err(Error::corrupt(
                "environment",
                format!(
                    "LMDB opened transaction {} instead of the checkpoint's, {}",
                    pin.id(),
                    checkpoint.transaction
                ),
            ));
        }
        let folder = store.folder().join(LOG_FOLDER);
        let reader = LogReader::new(&folder, checkpoint.id, checkpoint.place)?;
        store.shared.set_durability(Durability::Logged);
        Ok(Recovery {
            reader,
            pin,
            store: store.clone(),
            finished: false,
        })
    }

    /// Lets the log end at the first record that cannot be read, even if later ones can: those who
    /// wrote it did not wait for the disk, and others have its records.
    pub fn accept_loss(&mut self) {
        self.reader.accept_loss();
    }

    /// Returns the content of the next record; `None` after the last one.
    ///
    /// # Errors
    /// The log cannot be read, or lacks a record.
    pub fn next_record(&mut self) -> Result<Option<Vec<u8>>, Error> {
        self.reader.next()
    }

    /// Ends the recovery, all records being executed and committed: syncs the database and ends the
    /// log.
    ///
    /// # Errors
    /// Errors of the operating system; the next start then begins the recovery anew.
    pub fn finish(mut self) -> Result<(), Error> {
        seal(&self.store)?;
        self.finished = true;
        self.pin.reset();
        self.store.shared.set_durability(Durability::Synced);
        Ok(())
    }
}

impl Drop for Recovery {
    fn drop(&mut self) {
        // An unfinished recovery lacks acknowledged writes, so the store is halted.
        if !self.finished {
            self.store.shared.set_durability(Durability::Halted);
        }
    }
}
