//! Returns free space to the file system: copies the database without free pages, checks the copy,
//! and replaces the database by it. This file does so while no process has the database open,
//! `online` while it is served.

pub(crate) mod online;
mod standing;

pub(crate) use standing::{Compaction, Verdict};
pub use standing::{Shown, Stage};

use crate::recover;
use state::stop::Failure;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use store::private;
use store::{DATABASE_FILE, Store};

/// Folder in the data folder in which the copy is made.
pub const FOLDER: &str = "compact";

/// Sizes of the database file in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Before compaction.
    pub before: u64,
    /// After compaction.
    pub after: u64,
}

/// Maximum size of the copy in bytes.
///
/// # Errors
/// There is no database, or a process has it open.
pub fn bytes(data: &Path) -> Result<u64, Failure> {
    Ok(recover::open_to_read(data, false)?.sizes()?.0)
}

/// Compacts the database of a data folder that no process has open.
///
/// # Errors
/// A process has it open; the copy cannot be written, or differs. The database is then unchanged.
pub fn compact(data: &Path) -> Result<Compacted, Failure> {
    let folder = data.join(FOLDER);
    remove_leftovers(data)?;
    let compacted = copy_and_swap(data, &folder);
    let _ = fs::remove_dir_all(&folder);
    compacted
}

/// Removes files of an interrupted compaction.
pub fn remove_leftovers(data: &Path) -> Result<(), Failure> {
    let folder = data.join(FOLDER);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(wrong(&folder)(error)),
        _ => Ok(()),
    }
}

fn copy_and_swap(data: &Path, folder: &Path) -> Result<Compacted, Failure> {
    // The store is held to the end, because its lock excludes other processes.
    let store = recover::open_to_read(data, false)?;
    let (path, copy) = (data.join(DATABASE_FILE), folder.join(DATABASE_FILE));
    private::create_folders(folder).map_err(wrong(folder))?;
    let file = private::create(&copy).map_err(wrong(&copy))?;
    store.copy_to(file.as_fd())?;
    file.sync_all().map_err(wrong(&copy))?;
    {
        let copied = Store::read_only(folder, false)?;
        let (mut original, mut copied) = (store.reader()?, copied.reader()?);
        store::compare(&original.snapshot()?, &copied.snapshot()?, &mut |_| {
            Ok::<(), Failure>(())
        })?;
    }
    let length = |path: &PathBuf| fs::metadata(path).map(|it| it.len()).map_err(wrong(path));
    let (before, after) = (length(&path)?, length(&copy)?);
    fs::rename(&copy, &path).map_err(wrong(&path))?;
    let synced = File::open(data).and_then(|it| it.sync_all());
    synced.map_err(wrong(data))?;
    store.close();
    // LMDB has written it in large blocks.
    store::forget(&path);
    Ok(Compacted { before, after })
}

fn wrong(path: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| Failure::file(path.display().to_string(), error)
}
