//! Files and folders that have a temporary name, `….partial`, until they are complete and synced.
//!
//! Each is locked while it is made: a second process that would make a file or folder of this name
//! is refused, and a partial one of a killed process is recognised and removed.

use state::stop::Failure;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use store::private;

/// A file or folder being made. Dropping it removes it, unless it has taken its name.
#[derive(Debug)]
pub struct Partial {
    to: PathBuf,
    path: PathBuf,
    is_folder: bool,
    has_name: bool,
    /// The open file or folder; locked, if the file system supports locks.
    held: File,
}

impl Partial {
    /// Creates an empty file that will be called `to`.
    ///
    /// # Errors
    /// Another process is making the file; it cannot be created.
    pub fn file(to: &Path) -> Result<Partial, Failure> {
        let partial = Partial::begin(to, false)?;
        let emptied = partial.held.set_len(0);
        emptied.map_err(failed(&partial.path))?;
        Ok(partial)
    }

    /// Creates an empty folder that will be called `to`.
    ///
    /// # Errors
    /// The errors of [`Partial::file`].
    pub fn folder(to: &Path) -> Result<Partial, Failure> {
        let partial = Partial::begin(to, true)?;
        let emptied = empty(&partial.path);
        emptied.map_err(failed(&partial.path))?;
        Ok(partial)
    }

    /// Removes the partial file or folder of `to` that a killed process left.
    ///
    /// # Errors
    /// Another process is making it; it cannot be removed.
    pub fn remove_leftover(to: &Path) -> Result<(), Failure> {
        match fs::metadata(partial_name(to)) {
            Ok(left) if left.is_dir() => Partial::folder(to).map(drop),
            Ok(_) => Partial::file(to).map(drop),
            Err(_) => Ok(()),
        }
    }

    /// Temporary path of the file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for writing.
    pub fn content(&self) -> &File {
        &self.held
    }

    /// Syncs the file or folder and renames it to its final name. The contents of a folder must be
    /// synced already.
    ///
    /// # Errors
    /// Syncing or renaming failed; it is then removed.
    pub fn take_name(mut self) -> Result<(), Failure> {
        self.held.sync_all().map_err(failed(&self.path))?;
        fs::rename(&self.path, &self.to).map_err(failed(&self.to))?;
        self.has_name = true;
        sync(above(&self.to))
    }

    fn begin(to: &Path, is_folder: bool) -> Result<Partial, Failure> {
        let path = partial_name(to);
        loop {
            let held = open(&path, is_folder).map_err(failed(&path))?;
            match held.try_lock() {
                // Without file locks the file is made unlocked.
                Ok(()) | Err(TryLockError::Error(_)) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Failure::Input(format!(
                        "{}: another process is making this; try again when it has ended",
                        path.display()
                    )));
                }
            }
            // Another process may have renamed or removed it since it was opened.
            if is_at(&held, &path) {
                return Ok(Partial {
                    to: to.to_owned(),
                    path,
                    is_folder,
                    has_name: false,
                    held,
                });
            }
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if self.has_name {
            return;
        }
        // The caller reports the cause; the next process that makes this file removes the partial
        // one.
        let _ = match self.is_folder {
            true => fs::remove_dir_all(&self.path),
            false => fs::remove_file(&self.path),
        };
    }
}

fn open(path: &Path, is_folder: bool) -> io::Result<File> {
    if is_folder {
        private::create_folders(path)?;
        return File::open(path);
    }
    let mut options = private::options();
    options.write(true).truncate(false).open(path)
}

fn is_at(held: &File, path: &Path) -> bool {
    match (held.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(found)) => (held.dev(), held.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}

fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// The temporary name of a path.
fn partial_name(of: &Path) -> PathBuf {
    let mut name = of.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// Syncs a folder, so that the names in it are on the disk.
pub fn sync(folder: &Path) -> Result<(), Failure> {
    let opened = File::open(folder).and_then(|it| it.sync_all());
    opened.map_err(failed(folder))
}

/// The folder that contains a path.
fn above(path: &Path) -> &Path {
    let above = path.parent().filter(|it| !it.as_os_str().is_empty());
    above.unwrap_or(Path::new("."))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| Failure::file(path.display().to_string(), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use tempfile::TempDir;

    #[test]
    fn one_at_a_time_makes_it() {
        let place = TempDir::new().unwrap();
        for make in [Partial::file, Partial::folder] {
            let to = place.path().join("it");
            let one = make(&to).unwrap();
            let refused = make(&to).unwrap_err().to_string();
            assert!(
                refused.contains("another process is making this"),
                "{refused}"
            );
            assert!(one.path().exists());
            drop(one);
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
            make(&to).unwrap().take_name().unwrap();
            assert!(to.exists() && !partial_name(&to).exists());
            let _ = fs::remove_file(&to);
            let _ = fs::remove_dir(&to);
        }
    }

    #[test]
    fn what_a_killed_process_left_goes() {
        let place = TempDir::new().unwrap();
        let to = place.path().join("file");
        fs::write(partial_name(&to), b"half of something").unwrap();
        let partial = Partial::file(&to).unwrap();
        partial.content().write_all(b"all").unwrap();
        partial.take_name().unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"all");
        let to = place.path().join("folder");
        fs::create_dir_all(partial_name(&to).join("below")).unwrap();
        fs::write(partial_name(&to).join("half"), b"half").unwrap();
        Partial::folder(&to).unwrap().take_name().unwrap();
        assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
        let (one, other) = (place.path().join("one"), place.path().join("other"));
        fs::create_dir(partial_name(&one)).unwrap();
        fs::write(partial_name(&other), b"half").unwrap();
        for to in [&one, &other] {
            Partial::remove_leftover(to).unwrap();
            assert!(!partial_name(to).exists());
            Partial::remove_leftover(to).unwrap();
        }
    }

    #[test]
    fn a_name_that_went_to_another_is_not_taken_for_this_one() {
        let place = TempDir::new().unwrap();
        let path = place.path().join("it");
        let held = open(&path, false).unwrap();
        assert!(is_at(&held, &path));
        fs::rename(&path, place.path().join("other")).unwrap();
        assert!(!is_at(&held, &path));
        fs::write(&path, b"").unwrap();
        assert!(!is_at(&held, &path));
    }
}
