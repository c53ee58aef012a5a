//! Kept changes: log records kept after the log has dropped them, for incremental backups, restores
//! to any later moment, and lists of changes.
//!
//! ```text
//! log ─► commit ─► kept changes (synced with each checkpoint) ─► incremental backups, restores,
//!                                                               LDIF of changes
//! ```
//!
//! They are stored in the folder `changes` of the data folder, in files named after the position of
//! their first record. The file `keep` in it says that changes are kept, and up to how many bytes.
//! docs/formats/changes.md describes the format.
//!
//! Invariants:
//! - a record is kept after its commit, and synced before the log drops it, so that only records
//!   which the log can still execute may be missing;
//! - positions are dense: a reader reports a gap as an error.

mod frame;
mod keeper;
mod outcome;
mod point;
mod reader;

pub use frame::Frame;
pub use keeper::Keeper;
pub use outcome::Outcome;
pub use point::Point;
pub use reader::Reader;

use crate::numbered_files::numbered_files;
use std::path::{Path, PathBuf};

/// Name of the folder in the data folder.
const FOLDER: &str = "changes";
/// Name of the file that says that changes are kept.
const KEEP_FILE: &str = "keep";
/// Extension of files of changes.
const EXTENSION: &str = "changes";

/// Whether changes are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keeping {
    /// The value is read from the file in the data folder.
    #[default]
    AsBefore,
    /// Changes are not kept. Files kept before remain.
    Off,
    /// Changes are kept up to this many bytes; beyond it the oldest files are removed.
    Bytes(u64),
}

/// Path of the folder of kept changes in a data folder.
pub fn folder(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// The files of changes in a folder, with the position of the first record of each.
fn files(folder: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    numbered_files(folder, EXTENSION)
}

/// Total bytes of the files that may hold changes after a position.
pub fn bytes_after(folder: &Path, after: u64) -> std::io::Result<u64> {
    let found = files(folder)?;
    let skipped = found.iter().filter(|it| it.0 <= after + 1).count();
    let rest = found.iter().skip(skipped.saturating_sub(1));
    rest.map(|(_, path)| Ok(path.metadata()?.len())).sum()
}

#[cfg(test)]
mod tests;
