//! Giving space back to the file system: the database is copied without free pages, checked, and
//! put in its place. Here, while nobody has it open; `online` does it while it is served.

pub(crate) mod online;
mod standing;

pub(crate) use standing::{Compaction, Stage, Verdict};

use crate::recover;
use state::stop::Failure;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use store::private;
use store::{DATABASE_FILE, Store};

/// The folder, in the data folder, that the copy is made in.
pub(crate) const FOLDER: &str = "compact";

/// What a compaction came to, in bytes of the database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Before.
    pub before: u64,
    /// Now.
    pub after: u64,
}

/// Bytes that the copy takes at most.
///
/// # Errors
/// There is no database, or a process has it open.
pub fn bytes(data: &Path) -> Result<u64, Failure> {
    Ok(recover::open_to_read(data, false)?.sizes()?.0)
}

/// Compacts the database of a data folder that nobody has open.
///
/// # Errors
/// A process has it open; the copy cannot be written, or differs. The database is as it was then.
pub fn compact(data: &Path) -> Result<Compacted, Failure> {
    let folder = data.join(FOLDER);
    remove_leftovers(data)?;
    let compacted = copy_and_swap(data, &folder);
    let _ = fs::remove_dir_all(&folder);
    compacted
}

/// Removes what an interrupted compaction left.
pub(crate) fn remove_leftovers(data: &Path) -> Result<(), Failure> {
    let folder = data.join(FOLDER);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(wrong(&folder)(error)),
        _ => Ok(()),
    }
}

fn copy_and_swap(data: &Path, folder: &Path) -> Result<Compacted, Failure> {
    // Held to the end: its lock keeps others out.
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
    Ok(Compacted { before, after })
}

fn wrong(path: &Path) -> impl Fn(std::io::Error) -> Failure + '_ {
    move |error| Failure::file(path.display().to_string(), error)
}
