//! The part of an open database that its handles, readers and batches share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::Error;
use crate::in_use::{Current, InUse};
use crate::lmdb::{CommitSync, Environment, WriteTransaction};
use crate::lock::Lock;
use crate::reader_table::ReaderTable;
use crate::room::tell_full;
use crate::tables::Tables;

/// An open database, shared by all its handles.
#[derive(Debug)]
pub(crate) struct OpenDatabase {
    /// The environment in use. It stands before the lock, so that the file is closed before another
    /// process may open it.
    pub current: Current,
    /// The tables, the same in every environment that is in use one after the other.
    pub tables: Tables,
    /// Number of holders of a value above which they move to the posting table.
    pub holders_max: u64,
    /// The data folder.
    pub folder: PathBuf,
    /// The present [`Durability`], as a number.
    pub durability: AtomicU8,
    /// The table of readers; `None` for a folder of another process.
    #[expect(dead_code, reason = "held, not used")]
    pub reader_table: Option<ReaderTable>,
    /// The lock of the folder.
    pub lock: Lock,
}

/// The way in which commits become durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Durability {
    /// Each commit syncs.
    Synced,
    /// The records of the journal are synced, and commits are not.
    Logged,
    /// Commits are refused.
    Halted,
}

impl OpenDatabase {
    /// Sets the way in which commits become durable from now on.
    pub fn set_durability(&self, durability: Durability) {
        self.durability.store(durability as u8, Ordering::Release);
    }

    /// Returns the environment in use.
    pub fn environment(&self) -> Arc<Environment> {
        Arc::clone(&self.current.get().environment)
    }

    /// Begins the write transaction; its commit becomes durable in the present way.
    pub fn begin(&self, in_use: &InUse) -> Result<WriteTransaction, Error> {
        self.refuse_halted()?;
        let logged = self.durability.load(Ordering::Acquire) == Durability::Logged as u8;
        let sync = match logged {
            true => CommitSync::Later,
            false => CommitSync::Now,
        };
        WriteTransaction::begin_with(&in_use.environment, sync)
    }

    /// Refuses to continue after a failure that has ended writing.
    ///
    /// # Errors
    /// [`Error::Halted`]
    pub fn refuse_halted(&self) -> Result<(), Error> {
        if self.durability.load(Ordering::Acquire) == Durability::Halted as u8 {
            let reason = "an earlier failure, which the server has logged".to_owned();
            return Err(Error::Halted { reason });
        }
        Ok(())
    }

    /// Returns the error of a commit, with a full disk told from a broken one.
    pub fn explain(&self, error: Error) -> Error {
        tell_full(&self.folder, error)
    }
}
