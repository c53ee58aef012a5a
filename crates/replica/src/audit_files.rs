//! Files of the audit: the lines that execution makes, on the node's disk.
//!
//! ```text
//! execution ─► commit ─► lines in files (synced with each checkpoint) ─► pando audit
//! ```
//!
//! They are stored in the folder `audit` of the data folder, in files named after the number of
//! their first line. The file `keep` in it says that lines are written, and how.
//! docs/formats/audit.md describes the format. The folder `attempts` in it has lines about failed
//! binds and denials, which no record has.
//!
//! Invariants:
//! - lines are written after the commit of their record, and synced before the log drops it, so
//!   that only lines which the log can make again may be missing;
//! - a file holds lines of one chain without gaps, and says where in the chain it begins.

mod attempts;
mod end;
mod keeper;
mod standing;
#[cfg(test)]
mod tests;

pub use attempts::{AttemptFiles, attempts_folder};
pub use end::{LINE_BYTES_MAX, Lines};
pub use keeper::AuditKeeper;
pub use standing::{AuditStanding, Shown};

use crate::numbered_files::numbered_files;
use std::path::{Path, PathBuf};

/// Name of the folder in the data folder.
const FOLDER: &str = "audit";
/// Name of the file that says that lines are written.
const KEEP_FILE: &str = "keep";
/// Extension of files of lines.
const EXTENSION: &str = "jsonl";

/// Whether lines of the audit are written to files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Auditing {
    /// The file in the data folder decides.
    #[default]
    AsBefore,
    /// No lines are written; a node alone ends its audit before. Files written before remain.
    Off,
    /// Lines are written by these rules. If the directory has no audit, it begins.
    On(FileRules),
}

/// How files of lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRules {
    /// Bytes from which on a file is followed by another.
    pub file_bytes: u64,
    /// Bytes of all files beyond which the oldest are removed; 0 for no limit.
    pub keep_bytes: u64,
    /// Days after which a file that is written no more is removed; 0 for no limit.
    pub keep_days: u64,
    /// Whether writes are refused while lines cannot be written.
    pub required: bool,
}

impl FileRules {
    /// The rules as the file `keep` has them.
    fn text(&self) -> String {
        let FileRules {
            file_bytes,
            keep_bytes,
            keep_days,
            required,
        } = self;
        let required = u8::from(*required);
        format!("{file_bytes} {keep_bytes} {keep_days} {required}\n")
    }

    fn parse(text: &str) -> Option<FileRules> {
        let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
        match numbers.ok()?[..] {
            [file_bytes, keep_bytes, keep_days, required @ (0 | 1)] => Some(FileRules {
                file_bytes,
                keep_bytes,
                keep_days,
                required: required == 1,
            }),
            _ => None,
        }
    }
}

/// Path of the folder of lines in a data folder.
pub fn folder(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// The files of lines in a folder, with the number of the first line of each, ascending.
///
/// # Errors
/// The folder cannot be read.
pub fn files(folder: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    numbered_files(folder, EXTENSION)
}
