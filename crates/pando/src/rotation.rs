//! A folder of backups by rotation: backups are named after their time and made one at a time; the
//! oldest are removed.

use crate::report::{Problem, note};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use store::private;

/// Length of the name of a backup, a GeneralizedTime to the second.
const NAME_LETTERS: usize = 15;
/// File locked against a second backup in the folder.
const LOCK_FILE: &str = "pando-backup.lock";

/// A backup being made in a rotation.
pub struct Rotation<'r> {
    folder: &'r Path,
    /// The lock file, locked.
    _file: File,
}

impl Rotation<'_> {
    /// Creates the folder if it is missing, locks it until dropped, and removes incomplete backups
    /// before room is checked.
    pub fn begin(folder: &Path) -> Result<Rotation<'_>, Problem> {
        private::create_folders(folder).map_err(|error| Problem::file(folder, error))?;
        let path = folder.join(LOCK_FILE);
        let file = private::create(&path).map_err(|error| Problem::file(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Problem::failed(format_args!(
                    "{}: another backup is being made here; try again when it has ended",
                    folder.display()
                )));
            }
            // Without file locks backups are made unlocked.
            Err(TryLockError::Error(error)) => note(format_args!(
                "{}: {error}: a second backup at the same time is not prevented",
                path.display()
            )),
        }
        for path in named(folder, |it| {
            it.strip_suffix(".partial").is_some_and(is_name)
        })? {
            fs::remove_dir_all(&path).map_err(|error| Problem::file(&path, error))?;
        }
        Ok(Rotation {
            folder,
            _file: file,
        })
    }

    /// Removes the oldest backups beyond the number to keep, but never the one just made, whose
    /// name is not the last if the clock was set back.
    pub fn end(self, made: &Path, keep: usize) -> Result<(), Problem> {
        let mut others = named(self.folder, is_name)?;
        others.retain(|it| it != made);
        let surplus = (others.len() + 1).saturating_sub(keep);
        for path in others.iter().take(surplus) {
            fs::remove_dir_all(path).map_err(|error| Problem::file(path, error))?;
            note(format_args!("{} removed", path.display()));
        }
        Ok(())
    }
}

/// Whether this is the name of a backup by rotation; files with other names are never removed.
fn is_name(name: &str) -> bool {
    let (digits, end) = name.split_at_checked(NAME_LETTERS - 1).unwrap_or_default();
    end == "Z" && digits.bytes().all(|it| it.is_ascii_digit())
}

/// Paths in a folder of backups whose names pass a test, sorted by name.
fn named(folder: &Path, test: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Problem> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Problem::file(folder, error))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or("");
        if test(name) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
