//! Files of one kind in a folder, named by the number of the first thing in each.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The files with an extension whose names are numbers, with these numbers, ascending. Empty if
/// there is no folder.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn numbered_files(folder: &Path, extension: &str) -> Result<Vec<(u64, PathBuf)>, Error> {
    let listing = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing?,
    };
    let mut files = Vec::new();
    for entry in listing {
        let path = entry?.path();
        let first = path.file_stem().and_then(|it| it.to_str()?.parse().ok());
        if let Some(first) = first
            && path.extension().is_some_and(|it| it == extension)
        {
            files.push((first, path));
        }
    }
    files.sort();
    Ok(files)
}
