//! Remains of bulk imports that were interrupted, which the next process that opens the data folder
//! removes.

use state::stop::Failure;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Folder in the data folder in which an import makes the new database.
pub const NEW_FOLDER: &str = "import";
/// First part of the names of an import's folders for sorting, which may be anywhere.
pub const TEMPORARY_NAME: &str = "pando-import-";
/// File in the folder of the new database with the path of the folder for sorting.
pub const TEMPORARY_NOTE: &str = "temporary";

/// Removes the files of an import that was interrupted.
pub fn remove_leftovers(data: &Path) -> Result<(), Failure> {
    let folder = data.join(NEW_FOLDER);
    remove_temporary(&folder);
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::file(
            "removing what an interrupted import left",
            error,
        )),
        _ => Ok(()),
    }
}

/// Removes the folder for sorting whose path is recorded in the folder of a new database.
fn remove_temporary(folder: &Path) {
    let Ok(noted) = std::fs::read(folder.join(TEMPORARY_NOTE)) else {
        return;
    };
    let temporary = Path::new(OsStr::from_bytes(&noted));
    let name = temporary.file_name().unwrap_or_default();
    if !name.as_bytes().starts_with(TEMPORARY_NAME.as_bytes()) {
        return;
    }
    match std::fs::remove_dir_all(temporary) {
        // A folder that stays only takes space, possibly on another file system.
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let folder = temporary.display();
            tracing::warn!(%folder, %error, "what an interrupted import left cannot be removed");
        }
        _ => {}
    }
}
