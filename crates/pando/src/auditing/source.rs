//! The files that a command reads lines from.

use crate::cli::AuditFiles;
use crate::node_folder::data_folder;
use crate::report::Problem;
use replica::audit_files::{Lines, attempts_folder, files, folder};
use std::path::{Path, PathBuf};

/// Where lines come from.
pub(super) struct Source {
    /// The files in their order.
    pub files: Vec<PathBuf>,
    /// The folder of the files; `None` for single files.
    folder: Option<PathBuf>,
    /// The folder of the node whose files they are; `None` for other files.
    pub node: Option<PathBuf>,
}

impl Source {
    /// The files that the arguments name: of a node, of a folder, or single ones.
    pub fn of(given: &AuditFiles) -> Result<Source, Problem> {
        if let [only] = given.paths.as_slice()
            && only.is_dir()
        {
            return Source::of_folder(only);
        }
        match given.paths.iter().find(|it| it.is_dir()) {
            None => Ok(Source {
                files: given.paths.clone(),
                folder: None,
                node: None,
            }),
            Some(folder) => Err(Problem::usage(format_args!(
                "expected one folder or any number of files, got the folder {} among others",
                folder.display()
            ))),
        }
    }

    fn of_folder(dir: &Path) -> Result<Source, Problem> {
        let is_node = dir.join("pando.toml").exists();
        let lines = match is_node {
            true => folder(&data_folder(dir)?),
            false => dir.to_owned(),
        };
        let found = files(&lines).map_err(|error| Problem::file(&lines, error))?;
        Ok(Source {
            files: found.into_iter().map(|(_, path)| path).collect(),
            folder: Some(lines),
            node: is_node.then(|| dir.to_owned()),
        })
    }

    /// The files of lines about failed binds and refused operations, which lie in the folder of the
    /// others; `None` for single files.
    pub fn attempts(&self) -> Result<Option<Source>, Problem> {
        let Some(folder) = &self.folder else {
            return Ok(None);
        };
        let attempts = attempts_folder(folder);
        let found = files(&attempts).map_err(|error| Problem::file(&attempts, error))?;
        Ok(Some(Source {
            files: found.into_iter().map(|(_, path)| path).collect(),
            folder: None,
            node: self.node.clone(),
        }))
    }
}

/// Callback for each line of a file and its number in the file.
type EachLine<'e> = dyn FnMut(u64, &[u8]) -> Result<(), Problem> + 'e;

/// Calls `each` with every line of a file and its number in the file, from 1. Returns whether bytes
/// follow that are no whole line.
pub(super) fn each_line(path: &Path, each: &mut EachLine<'_>) -> Result<bool, Problem> {
    let wrong = |error| Problem::file(path, error);
    let mut lines = Lines::open(path).map_err(wrong)?;
    let mut number = 0;
    while let Some(line) = lines.next_line().map_err(wrong)? {
        number += 1;
        each(number, &line)?;
    }
    Ok(lines.is_torn)
}
