//! Files and folders that only their owner may read and write, whatever the umask.
//!
//! Database, log, backups and exports hold password hashes. All files that the program writes are
//! made here (`tests/tidy.rs` refuses other ways), except texts meant for everybody.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Mode of a file: its owner reads and writes it.
const FILE_MODE: u32 = 0o600;
/// Mode of a folder: its owner lists and changes it.
const FOLDER_MODE: u32 = 0o700;
/// The mode bits of the group and of others.
const NOT_OWNER: u32 = 0o077;

/// Returns options that create a missing file with mode 0600.
pub fn options() -> OpenOptions {
    let mut options = File::options();
    options.create(true).mode(FILE_MODE);
    options
}

/// Opens an empty file for writing. An existing file is emptied, and closed to the group and to
/// others before anything is written; a pipe or a device is opened as it is.
///
/// # Errors
/// The file cannot be made, or an existing one of another owner stays readable by others.
pub fn create(path: &Path) -> io::Result<File> {
    let file = options().write(true).truncate(true).open(path)?;
    let found = file.metadata()?;
    if found.is_file() && found.mode() & NOT_OWNER != 0 {
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    }
    Ok(file)
}

/// Writes a file with this content, opened by [`create`].
///
/// # Errors
/// The errors of [`create`], and those of writing.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    create(path)?.write_all(content.as_ref())
}

/// Creates a folder with mode 0700.
///
/// # Errors
/// The folder exists already or cannot be created.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER_MODE).create(path)
}

/// Creates a folder and its missing parents. Existing folders keep their modes.
///
/// # Errors
/// A folder cannot be created.
pub fn create_folders(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(FOLDER_MODE).create(path)
}

/// Closes a folder, and the files and folders in it, to the group and to others. Symbolic links are
/// not followed. Returns the number of files and folders that were open.
///
/// # Errors
/// A folder cannot be read, or a mode cannot be changed: all others are changed, and the first
/// error is returned.
pub fn close_folder(folder: &Path) -> io::Result<u64> {
    let (mut closed, mut first) = (0, None);
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let result = close(&path, &mut waiting);
        match result {
            Ok(was_open) => closed += u64::from(was_open),
            // A running import or compaction of an older release removes its own files.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => first = first.or(Some(error)),
        }
    }
    first.map_or(Ok(closed), Err)
}

/// Closes one file or folder, and appends the content of a folder to `next`.
fn close(path: &Path, next: &mut Vec<std::path::PathBuf>) -> io::Result<bool> {
    let found = path.symlink_metadata()?;
    if !found.is_file() && !found.is_dir() {
        return Ok(false);
    }
    let is_open = found.mode() & NOT_OWNER != 0;
    if is_open {
        let mode = found.mode() & 0o7777 & !NOT_OWNER;
        std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    if found.is_dir() {
        for entry in path.read_dir()? {
            next.push(entry?.path());
        }
    }
    Ok(is_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn existing_files_are_closed_before_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("export.ldif");
        std::fs::write(&path, "old and long").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
        write(&path, "new").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        write(Path::new("/dev/null"), "devices keep their mode").unwrap();
        assert_eq!(mode(Path::new("/dev/null")), 0o666);
    }

    #[test]
    fn a_folder_is_closed_with_everything_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let (data, log) = (folder.path().join("data"), folder.path().join("data/log"));
        create_folders(&log).unwrap();
        assert_eq!((mode(&data), mode(&log)), (0o700, 0o700));
        let (outside, segment) = (folder.path().join("outside"), log.join("1.log"));
        for path in [&outside, &segment] {
            std::fs::write(path, "").unwrap();
            std::fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        }
        std::fs::set_permissions(&log, Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(&outside, log.join("link")).unwrap();
        assert_eq!(close_folder(&data).unwrap(), 2);
        assert_eq!((mode(&log), mode(&segment)), (0o700, 0o600));
        assert_eq!(mode(&outside), 0o644);
        assert_eq!(close_folder(&data).unwrap(), 0);
    }
}
