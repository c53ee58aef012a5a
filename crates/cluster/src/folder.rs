//! Folders of a node that are moved or removed as a whole.

use crate::trouble::Trouble;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Removes a folder, or a link to one with the folder in memory that it leads to; it may be
/// missing.
pub(crate) fn remove(folder: &Path) -> Result<(), Trouble> {
    let is_link = fs::symlink_metadata(folder).is_ok_and(|it| it.is_symlink());
    let removed = match is_link {
        true => fs::read_link(folder).and_then(|target| {
            match fs::remove_dir_all(target) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            fs::remove_file(folder)
        }),
        false => fs::remove_dir_all(folder),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(Trouble::file(folder)),
    }
}

/// Renames a folder; it may be missing.
///
/// # Errors
/// The folder cannot be renamed, for instance because `to` exists.
pub(crate) fn rename_if_any(from: &Path, to: &Path) -> Result<(), Trouble> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        renamed => renamed.map_err(Trouble::file(from)),
    }
}
