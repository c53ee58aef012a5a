//! Errors of the store.

use std::fmt;
use std::path::PathBuf;

use crate::id::EntryId;
use crate::lmdb::codes::means_damage;

/// The reason why an operation of the store failed.
#[derive(Debug)]
pub enum Error {
    /// The disk, the quota or the map is full. The write transaction is void; everything committed
    /// before is untouched, reads go on, and writes work again when there is room.
    Full,
    /// The content of the disk is unknown, so nothing is written any more; reads go on. A restart
    /// recovers all acknowledged writes.
    Halted {
        /// Cause of the halt: the failed action and its error, as text.
        reason: String,
    },
    /// The log may or may not have the record of the last writes; only the next start reads it.
    /// Nothing is written any more; reads go on.
    Undecided {
        /// Cause of the doubt: the failed action and its error, as text.
        reason: String,
    },
    /// A write of the database's first pages failed earlier, so nothing is read or written any
    /// more. A restart recovers all acknowledged writes.
    Broken,
    /// The folder was not closed: its log must be recovered first ([`crate::Store::recover`]).
    Unrecovered {
        /// The data folder.
        folder: PathBuf,
    },
    /// Another process has the folder open.
    Locked {
        /// The data folder.
        folder: PathBuf,
        /// Id of the process in the lock file; `None` if the file cannot be read.
        process: Option<u32>,
    },
    /// `create` found a database in the folder.
    Exists {
        /// The database file.
        file: PathBuf,
    },
    /// `open` found no database.
    Missing {
        /// The database file.
        file: PathBuf,
    },
    /// The database was written in a format that this build does not read.
    Format {
        /// The versioned object: a table or the database.
        what: &'static str,
        /// The version that was found.
        found: u32,
        /// The version that this build reads.
        expected: u32,
    },
    /// The row of an entry differs from the row written: the disk or this program is faulty.
    DamagedEntry {
        /// The entry.
        id: EntryId,
    },
    /// The database file cannot be read.
    DamagedFile {
        /// The database file.
        file: PathBuf,
        /// Description of the damage.
        detail: String,
    },
    /// Rows contradict each other or cannot be read: the disk or this program is faulty.
    Corrupt {
        /// Name of the table.
        table: &'static str,
        /// Description of the damage.
        detail: String,
    },
    /// The write-ahead log, its checkpoint and the database do not belong together.
    CorruptLog {
        /// Description of the contradiction.
        detail: String,
    },
    /// The log ends before an acknowledged write.
    LostRecords {
        /// Sequence number of the record that cannot be read.
        sequence: u64,
        /// Position of the last write that can be executed again.
        reached: u64,
        /// Position that the database had reached.
        acknowledged: u64,
    },
    /// The request contradicts the present state, e.g. a name is taken.
    Conflict {
        /// Description of the conflict.
        detail: String,
    },
    /// The caller cancelled the operation.
    Cancelled,
    /// The operating system returned an error.
    System {
        /// The action that failed.
        doing: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// LMDB returned an error.
    Lmdb {
        /// LMDB's error number.
        code: i32,
        /// LMDB's text for the number.
        message: String,
    },
}

impl Error {
    pub(crate) fn corrupt(table: &'static str, detail: impl Into<String>) -> Error {
        Error::Corrupt {
            table,
            detail: detail.into(),
        }
    }

    pub(crate) fn corrupt_log(detail: impl Into<String>) -> Error {
        Error::CorruptLog {
            detail: detail.into(),
        }
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Error {
        Error::Conflict {
            detail: detail.into(),
        }
    }

    /// Returns whether LMDB wrote only a part: the disk is broken, or was full a moment ago, which
    /// LMDB does not tell apart. A second attempt does.
    pub fn is_half_a_write(&self) -> bool {
        matches!(
            self,
            Error::Lmdb {
                code: libc::EIO,
                ..
            }
        )
    }

    pub(crate) fn system(doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
        move |source| {
            if source.raw_os_error().is_some_and(means_full) {
                Error::Full
            } else {
                Error::System { doing, source }
            }
        }
    }
}

/// Returns whether an error of the operating system means lack of room: of the device, the quota,
/// or the limit on file sizes.
pub(crate) fn means_full(code: i32) -> bool {
    matches!(code, libc::ENOSPC | libc::EDQUOT | libc::EFBIG)
}

/// The commands that help with a damaged database.
const WAY_OUT: &str = "`pando check` finds all damage, `pando restore` brings a backup back";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Full => f.write_str("no room left for the database"),
            Error::Halted { reason } => {
                write!(f, "writing has ended until the next start, after {reason}")
            }
            Error::Undecided { reason } => write!(
                f,
                "the next start finds out whether the last writes are done, and writing has ended \
                 until then, after {reason}"
            ),
            Error::Broken => f.write_str(
                "writing the first pages of the database has failed: it can be neither read nor \
                 written before it is opened again",
            ),
            Error::Unrecovered { folder } => write!(
                f,
                "{} was not closed: its log has to be executed first",
                folder.display()
            ),
            Error::CorruptLog { detail } => write!(f, "the write-ahead log: {detail}"),
            Error::LostRecords {
                sequence,
                reached,
                acknowledged,
            } => write!(
                f,
                "the write-ahead log: record {sequence} is damaged: the log ends at position \
                 {reached}, and writes up to position {acknowledged} were acknowledged; bring a \
                 backup back with `pando restore`, or go on without those writes by `pando check \
                 --forget-lost DIR`"
            ),
            Error::Locked { folder, process } => {
                write!(f, "{} is in use by ", folder.display())?;
                match process {
                    Some(process) => write!(f, "process {process}"),
                    None => f.write_str("another process"),
                }
            }
            Error::Exists { file } => write!(f, "{} exists already", file.display()),
            Error::Missing { file } => write!(f, "there is no database {}", file.display()),
            Error::Format {
                what,
                found,
                expected,
            } => write!(
                f,
                "{what} has format {found}, this build reads format {expected}: use the release \
                 that wrote it, or, if it is damaged, bring a backup back with `pando restore`"
            ),
            Error::DamagedEntry { id } => write!(
                f,
                "entry {id} is damaged: its checksum does not fit what is stored; {WAY_OUT}"
            ),
            Error::DamagedFile { file, detail } => write!(
                f,
                "{} is damaged: {detail}; bring a backup back with `pando restore`",
                file.display()
            ),
            Error::Corrupt { table, detail } => {
                write!(f, "table {table} is damaged: {detail}; {WAY_OUT}")
            }
            Error::Conflict { detail } => f.write_str(detail),
            Error::Cancelled => f.write_str("cancelled before its end"),
            Error::System { doing, source } => write!(f, "{doing}: {source}"),
            Error::Lmdb { code, message } => write_lmdb(f, *code, message),
        }
    }
}

/// Writes LMDB's text, and the remedy if its pages are damaged.
fn write_lmdb(f: &mut fmt::Formatter<'_>, code: i32, message: &str) -> fmt::Result {
    f.write_str(message)?;
    match means_damage(code) {
        true => write!(f, ": the database is damaged; {WAY_OUT}"),
        false => Ok(()),
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
