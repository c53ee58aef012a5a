//! A copy of the database as a stream, also while another process serves it.

use std::fs;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::lmdb::Environment;
use crate::store::{DATABASE_FILE, LOCK_FILE, Store, StoreOptions, open_environment};

/// A database to copy.
#[derive(Debug)]
pub struct CopySource {
    environment: Arc<Environment>,
    /// Whose folder it is, when it is another process's: the lock file and what it says.
    served: Option<(PathBuf, Vec<u8>)>,
}

impl CopySource {
    /// A database that this process has open.
    pub fn own(store: &Store) -> CopySource {
        CopySource {
            environment: store.environment(),
            served: None,
        }
    }

    /// A database that another process has open. It is only read here: the table of readers keeps
    /// the other process from overwriting what is being copied.
    ///
    /// # Errors
    /// [`Error::Missing`] without a database, or what LMDB says.
    pub fn served(folder: &Path) -> Result<CopySource, Error> {
        let file = folder.join(DATABASE_FILE);
        if !file.is_file() {
            return Err(Error::Missing { file });
        }
        let lock = folder.join(LOCK_FILE);
        let holder = holder(&lock)?;
        let options = StoreOptions::default();
        Ok(CopySource {
            environment: Arc::new(open_environment(&file, &options, true)?),
            served: Some((lock, holder)),
        })
    }

    /// Bytes of the copy at most.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn bytes(&self) -> Result<u64, Error> {
        Ok(self.environment.sizes()?.0)
    }

    /// Writes the newest committed state without free pages, from its first byte to its last.
    ///
    /// # Errors
    /// What LMDB or the operating system says; [`Error::Conflict`] when the process that serves
    /// the database was replaced by another meanwhile. The copy is of no use then.
    pub fn write(&self, output: BorrowedFd<'_>) -> Result<(), Error> {
        self.environment.write_compact(output)?;
        if let Some((lock, before)) = &self.served
            && holder(lock)? != *before
        {
            return Err(Error::conflict(
                "the server was restarted while its database was copied; try again",
            ));
        }
        Ok(())
    }
}

/// What the lock file says of its holder.
fn holder(lock: &Path) -> Result<Vec<u8>, Error> {
    fs::read(lock).map_err(Error::system("reading the lock file"))
}
