//! The lock of a data folder, and the line in the lock file about the process that holds it.
//!
//! The file has one line: the process id with a random number, since a process restarted in a
//! container may have the same id; after replacements of the database by a compacted copy, their
//! number; during one, the word `replacing`. The database file and LMDB's table of readers are
//! renamed one after the other, so a process that opens them beside the holder reads this line
//! before and after.

use crate::private;
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;

/// Name of the lock file; its lock means that a process has the folder open.
pub const LOCK_FILE: &str = "lock";
/// The word in the file while the database is being replaced.
const REPLACING: &str = "replacing";
/// Number of attempts to open beside a process that replaces the database, and the time between
/// two.
const TRIES_MAX: u32 = 500;
const PAUSE: Duration = Duration::from_millis(20);

/// The holder of a folder's lock.
#[derive(Debug)]
pub(crate) enum Lock {
    /// This process, as long as it has the file open.
    Own(Taken),
    /// Another process.
    Other(Holder),
}

/// The lock file, locked by this process.
#[derive(Debug)]
pub(crate) struct Taken {
    file: File,
    /// The line in the file about this process.
    holder: String,
}

/// The line in the lock file about the process that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder(String);

impl Lock {
    /// Returns the lock if this process holds it.
    ///
    /// # Errors
    /// [`Error::Conflict`]
    pub fn own(&self) -> Result<&Taken, Error> {
        match self {
            Lock::Own(taken) => Ok(taken),
            Lock::Other(_) => Err(Error::conflict("another process holds the folder")),
        }
    }
}

impl Taken {
    /// Notes in the file that the database is being replaced: no process may open it meanwhile.
    pub fn begin_replacing(&self) -> Result<(), Error> {
        self.say(REPLACING)
    }

    /// Notes in the file that `number` replacements are complete, and the files belong together
    /// again.
    pub fn end_replacing(&self, number: u64) -> Result<(), Error> {
        // The number is padded to the length of the word that it overwrites.
        self.say(&format!("{number:>width$}", width = REPLACING.len()))
    }

    fn say(&self, what: &str) -> Result<(), Error> {
        let line = format!("{} {what}\n", self.holder);
        let written = self.file.write_all_at(line.as_bytes(), 0);
        written.map_err(Error::system("writing the lock file"))
    }
}

impl Holder {
    fn of(folder: &Path) -> Result<Holder, Error> {
        let read = std::fs::read_to_string(folder.join(LOCK_FILE));
        read.map(Holder)
            .map_err(Error::system("reading the lock file"))
    }

    /// Process id with the random number; earlier releases wrote none.
    fn process(&self) -> Option<&str> {
        self.0.split_whitespace().next()
    }

    fn process_id(&self) -> Option<u32> {
        self.process()?.split(':').next()?.parse().ok()
    }

    fn is_replacing(&self) -> bool {
        self.0.contains(REPLACING)
    }

    /// Returns whether the same process still holds the folder.
    pub fn still_holds(&self, folder: &Path) -> Result<bool, Error> {
        Ok(Holder::of(folder)?.process() == self.process())
    }
}

/// Opens files of a folder that another process holds, none being replaced in between.
pub(crate) fn beside<T>(
    folder: &Path,
    open: impl Fn() -> Result<T, Error>,
) -> Result<(Holder, T), Error> {
    for _ in 0..TRIES_MAX {
        let holder = Holder::of(folder)?;
        if !holder.is_replacing() {
            let opened = open();
            if Holder::of(folder)? == holder {
                return Ok((holder, opened?));
            }
        }
        std::thread::park_timeout(PAUSE);
    }
    Err(Error::conflict(
        "the server is replacing its database by a compacted copy; try again",
    ))
}

/// Takes the folder's lock and writes this process into the lock file. The system releases the lock
/// when the process ends, however it ends.
pub(crate) fn lock_folder(folder: &Path) -> Result<Taken, Error> {
    let mut options = private::options();
    options.read(true).write(true).truncate(false);
    let path = folder.join(LOCK_FILE);
    let mut file = options.open(&path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Error::System {
            doing: "opening the lock file",
            source: io::Error::new(error.kind(), format!("{}: {error}", path.display())),
        },
        _ => Error::system("opening the lock file")(error),
    })?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // The holder is extra information: the error must say "locked" even if the file is
            // unreadable.
            let read = file.read_to_string(&mut text).ok();
            let process = read.and_then(|_| Holder(text).process_id());
            return Err(Error::Locked {
                folder: folder.to_path_buf(),
                process,
            });
        }
        Err(TryLockError::Error(source)) => {
            return Err(Error::system("locking the data folder")(source));
        }
    }
    let random = RandomState::new().build_hasher().finish();
    let holder = format!("{}:{random:016x}", std::process::id());
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{holder}"));
    match written.map_err(Error::system("writing the lock file")) {
        // A full disk must not keep a server from starting for reads.
        Ok(()) | Err(Error::Full) => Ok(Taken { file, holder }),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn a_process_of_the_same_number_is_another_holder() {
        let folder = TempDir::new().unwrap();
        let taken = lock_folder(folder.path()).unwrap();
        let holder = Holder::of(folder.path()).unwrap();
        assert!(holder.still_holds(folder.path()).unwrap());
        // The same process holds it, while and after it replaces its database.
        let lock = taken;
        lock.begin_replacing().unwrap();
        assert!(holder.still_holds(folder.path()).unwrap());
        lock.end_replacing(1).unwrap();
        assert!(holder.still_holds(folder.path()).unwrap());
        match lock_folder(folder.path()) {
            Err(Error::Locked { process, .. }) => assert_eq!(process, Some(std::process::id())),
            other => panic!("expected that it is locked, got {other:?}"),
        }
        drop(lock);
        let again = lock_folder(folder.path()).unwrap();
        assert!(!holder.still_holds(folder.path()).unwrap());
        drop(again);
    }

    #[test]
    fn lines_of_earlier_releases_are_read() {
        let folder = TempDir::new().unwrap();
        let write = |line: &str| std::fs::write(folder.path().join(LOCK_FILE), line).unwrap();
        write("17\n");
        let holder = Holder::of(folder.path()).unwrap();
        assert_eq!(holder.process_id(), Some(17));
        write("17         3\n");
        assert!(holder.still_holds(folder.path()).unwrap());
        write("18\n");
        assert!(!holder.still_holds(folder.path()).unwrap());
    }
}
