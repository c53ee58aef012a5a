//! The disk below the log: each write and each sync of a [`Journal`](super::Journal) goes through
//! it, so that a test can lose, tear or refuse them.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::error::Error;

/// A disk as the journal uses it. The methods are those of the system's disk; a test replaces them.
pub trait Disk: Debug + Send + Sync {
    /// Writes bytes into a file, from byte `at` on. They are not durable before [`Disk::sync`].
    ///
    /// # Errors
    /// The bytes were written in part or not at all.
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    /// Makes the writes to a file durable.
    ///
    /// # Errors
    /// The sync failed: which of the writes are durable is unknown.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Makes the commits of the database durable, by a call of `sync`.
    ///
    /// # Errors
    /// The sync failed: which of the commits are durable is unknown.
    fn sync_database(&self, sync: &dyn Fn() -> Result<(), Error>) -> Result<(), Error> {
        sync()
    }
}

/// The disk of the system.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemDisk;

impl Disk for SystemDisk {}
