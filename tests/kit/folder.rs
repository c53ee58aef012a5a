//! Temporary folders that stay for inspection when a test fails.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary folder of one test.
pub struct Folder {
    temporary: Option<TempDir>,
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Folder {
    /// Makes an empty folder.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Makes an empty folder below `parent`.
    pub fn below(parent: &Path) -> Self {
        let temporary = tempfile::Builder::new()
            .prefix("pando-test-")
            .tempdir_in(parent)
            .expect("the machine has room for temporary files");
        Folder {
            temporary: Some(temporary),
        }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.temporary
            .as_ref()
            .expect("present until dropped")
            .path()
    }

    /// Returns the path of a file in the folder.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Reads a file in the folder as text.
    pub fn read(&self, name: &str) -> String {
        let path = self.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take()
            && std::thread::panicking()
        {
            eprintln!("kept for a look: {}", temporary.keep().display());
        }
    }
}
