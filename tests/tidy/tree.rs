//! The files of the repository, as the rules read them.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders without hand-written files.
const SKIPPED: &[&str] = &["target", ".git", "node_modules", "dist", "corpus", "book"];

/// Returns the repository's top folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ lies in the repository")
}

/// One text file of the repository.
pub struct File {
    /// Path below the top folder, with `/`.
    pub path: String,
    /// Content of the file.
    pub text: String,
}

/// Returns all text files whose name ends in one of `endings`, in the order of their paths.
pub fn files(endings: &[&str]) -> Vec<File> {
    let mut paths = Vec::new();
    walk(root(), &mut paths);
    paths.sort();
    paths
        .into_iter()
        .filter(|path| {
            endings
                .iter()
                .any(|ending| path.to_string_lossy().ends_with(ending))
        })
        .filter_map(|path| {
            let text = fs::read_to_string(&path).ok()?;
            let path = path
                .strip_prefix(root())
                .expect("found below the top folder");
            Some(File {
                path: path.to_string_lossy().replace('\\', "/"),
                text,
            })
        })
        .collect()
}

/// Returns the text of one file, which must exist.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            walk(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
}
