//! Reasons why membership of a cluster, its files or its peers could not be used, one line each.

use std::io;
use std::path::{Path, PathBuf};

/// Reason why something about a cluster failed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file has another content than expected.
    #[error("{}: {field}: expected {expected}, got {found}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Name of the field, or what part of the file it is.
        field: String,
        /// The expected content.
        expected: String,
        /// The content found.
        found: String,
    },
    /// A request cannot be fulfilled; the text says why and what to do.
    #[error("{0}")]
    Refused(String),
    /// Another node, or etcd, does not answer as expected.
    #[error("{address}: {detail}")]
    Unreachable {
        /// `HOST:PORT` or the URL that was tried.
        address: String,
        /// Description of what happened.
        detail: String,
    },
}

impl Trouble {
    /// Makes the trouble of operations on this path.
    pub fn file(path: &Path) -> impl Fn(io::Error) -> Trouble + '_ {
        move |source| Trouble::File {
            path: path.to_path_buf(),
            source,
        }
    }

    /// The trouble with a peer or etcd.
    pub fn unreachable(address: impl ToString, detail: impl ToString) -> Trouble {
        Trouble::Unreachable {
            address: address.to_string(),
            detail: detail.to_string(),
        }
    }

    /// The trouble that an error's own text says in full.
    pub(crate) fn of(error: impl std::fmt::Display) -> Trouble {
        Trouble::Refused(error.to_string())
    }

    /// The trouble with one of this program's own steps, which no input should cause.
    pub(crate) fn internal(doing: &str, error: impl std::fmt::Display) -> Trouble {
        Trouble::Refused(format!("{doing}: {error}"))
    }
}
