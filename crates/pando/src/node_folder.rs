//! The folder of a node: where its database and its owner's socket are.

use crate::report::Problem;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The socket below a node's folder through which the node's owner administers it.
pub const SOCKET_FILE: &str = "ldapi";
/// The longest path of a Unix domain socket on Linux, in bytes, with the zero that ends it.
const SOCKET_PATH_BYTES_MAX: usize = 108;

/// The folder of the database of the node in `dir`.
///
/// # Errors
/// `dir` holds no node, or this process may not look into `dir`.
pub fn data_folder(dir: &Path) -> Result<PathBuf, Problem> {
    let data = dir.join("data");
    match std::fs::metadata(&data) {
        Ok(it) if it.is_dir() => Ok(data),
        Ok(_) => Err(no_node(dir, &ErrorKind::NotADirectory.into())),
        Err(error) => Err(no_node(dir, &error)),
    }
}

/// Like [`data_folder`], for a command that changes the database without the log of a cluster.
///
/// # Errors
/// The errors of [`data_folder`]; the node belongs to a cluster.
pub fn data_folder_alone(dir: &Path) -> Result<PathBuf, Problem> {
    let data = data_folder(dir)?;
    match dir.join(cluster::identity::FOLDER).exists() {
        false => Ok(data),
        true => Err(Problem::failed(format_args!(
            "{}: this node belongs to a cluster, and the other nodes would not get what this \
             command changes; add --new-generation to an import, after which all nodes take this \
             one's state, or send the entries to a served node with ldapadd",
            dir.display()
        ))),
    }
}

/// The problem of a command that found no database in `dir`: there is no node, or this process may
/// not look into the folder.
fn no_node(dir: &Path, error: &std::io::Error) -> Problem {
    let shown = dir.display();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Problem::failed(format_args!(
            "{shown}: no node here; make one with `pando init {shown} --suffix …`"
        )),
        ErrorKind::PermissionDenied => Problem::failed(format_args!(
            "{shown}: {error}; run this command as the owner of the folder"
        )),
        _ => Problem::file(dir, error),
    }
}

/// The absolute path of the owner's socket of the node in `dir`; `None` when the path is too long
/// for a Unix domain socket, or the current folder cannot be found.
pub fn socket_path(dir: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(dir.join(SOCKET_FILE)).ok()?;
    (path.as_os_str().len() < SOCKET_PATH_BYTES_MAX).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_one_may_not_enter_is_not_an_empty_one() {
        let said = |kind: ErrorKind| {
            let problem = no_node(Path::new("/srv/node"), &kind.into());
            problem.text().to_owned()
        };
        assert_eq!(
            said(ErrorKind::PermissionDenied),
            "/srv/node: permission denied; run this command as the owner of the folder"
        );
        for missing in [ErrorKind::NotFound, ErrorKind::NotADirectory] {
            assert!(said(missing).starts_with("/srv/node: no node here; make one with"));
        }
        let other = said(ErrorKind::TimedOut);
        assert!(other.starts_with("/srv/node: ") && !other.contains("no node"));
    }
}
