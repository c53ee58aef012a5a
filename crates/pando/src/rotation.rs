//! A folder of backups by rotation: they are named after the time, made one at a time, and the
//! oldest go.

use crate::report::{Problem, note};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use store::private;

/// Letters of the name of a backup, a GeneralizedTime to the second.
const NAME_LETTERS: usize = 15;
/// What keeps a second backup out of the folder while one is made.
const LOCK_FILE: &str = "pando-backup.lock";

/// A backup being made in such a folder.
pub struct Rotation<'r> {
    folder: &'r Path,
    /// Locked.
    _file: File,
}

impl Rotation<'_> {
    /// Makes the folder if it is missing, keeps others out until dropped, and removes what
    /// interrupted backups left, before the next one asks for room.
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
            // A file system without locks is no reason to have no backups.
            Err(TryLockError::Error(error)) => note(format_args!(
                "{}: {error}: nothing keeps a second backup out meanwhile",
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

    /// Removes the oldest backups beyond those to keep, but not the one that was just made: when
    /// the clock was set back, its name is not the last one.
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

/// Whether a backup by rotation has this name: nothing else is ever removed.
fn is_name(name: &str) -> bool {
    let (digits, end) = name.split_at_checked(NAME_LETTERS - 1).unwrap_or_default();
    end == "Z" && digits.bytes().all(|it| it.is_ascii_digit())
}

/// What stands in a folder of backups and has a name that passes a test, in the order of names.
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
