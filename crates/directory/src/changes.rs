//! Kept changes: the records of the log, kept after the log has forgotten them, so that backups can
//! be incremental, a restore can end at any moment since, and others can be told what changed.
//!
//! ```text
//! log ─► commit ─► kept changes (synced with each checkpoint) ─► incremental backups, restores,
//!                                                               LDIF of changes
//! ```
//!
//! They stand in the folder `changes` of the data folder, in files named after the position of
//! their first record. The file `keep` in it says that changes are kept, and how many bytes of
//! them. The form is described in docs/formats/changes.md.
//!
//! Invariants:
//! - a record is kept after it was committed, and synced before the log forgets it, so that what
//!   the log can still execute again is all that may be missing;
//! - positions are dense: a reader that meets a hole says so.

mod frame;
mod keeper;
mod outcome;
mod point;
mod reader;

pub(crate) use frame::Frame;
pub(crate) use keeper::Keeper;
pub(crate) use outcome::Outcome;
pub use point::Point;
pub(crate) use reader::Reader;

use std::path::{Path, PathBuf};

/// The folder in the data folder.
const FOLDER: &str = "changes";
/// The file in it that says that changes are kept.
const KEEP_FILE: &str = "keep";
/// How files of changes end.
const EXTENSION: &str = "changes";

/// Whether changes are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keeping {
    /// As the data folder says.
    #[default]
    AsBefore,
    /// No; those that were kept stay where they are.
    Off,
    /// Up to so many bytes; the oldest files go when there are more.
    Bytes(u64),
}

/// The folder of the kept changes of a data folder.
pub fn folder(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// The files of changes in a folder by the position of their first record.
fn files(folder: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let listing = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing?,
    };
    let mut files = Vec::new();
    for entry in listing {
        let path = entry?.path();
        let first = path.file_stem().and_then(|it| it.to_str()?.parse().ok());
        if let Some(first) = first
            && path.extension().is_some_and(|it| it == EXTENSION)
        {
            files.push((first, path));
        }
    }
    files.sort();
    Ok(files)
}

/// Bytes of the files in a folder that may hold changes after a position.
pub(crate) fn bytes_after(folder: &Path, after: u64) -> std::io::Result<u64> {
    let found = files(folder)?;
    let skipped = found.iter().filter(|it| it.0 <= after + 1).count();
    let rest = found.iter().skip(skipped.saturating_sub(1));
    rest.map(|(_, path)| Ok(path.metadata()?.len())).sum()
}

#[cfg(test)]
mod tests;
