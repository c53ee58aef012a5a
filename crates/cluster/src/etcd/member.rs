//! One member of an etcd cluster, as this machine is to run it, and its folder.
//!
//! The folder has these files: `data/`, which etcd writes; `token`, the token of the cluster that
//! the data belong to; `lock`, which the running etcd holds (`claim.rs`); `etcd.log`, its messages;
//! `etcd.stderr`, what it prints before it can log; `removed/`, the data of a member that the
//! cluster has removed.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// One member of an etcd cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Name of the member in its cluster: the node's identifier.
    pub name: String,
    /// Absolute path of the folder that holds all of the member's files.
    pub folder: PathBuf,
    /// Where clients reach the member.
    pub client: Address,
    /// Where other members reach it.
    pub peer: Address,
    /// Token of the cluster, different for each cluster ever made.
    pub token: String,
    /// How the member comes into its cluster. Without effect once the folder holds data.
    pub start: Start,
    /// Certificates of the cluster.
    pub tls: TlsFiles,
    /// How fast a lost leader is noticed.
    pub pace: Pace,
}

/// Where a member listens, and what others type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Address of this machine to listen on; may be that of all interfaces.
    pub listen: SocketAddr,
    /// URL for others, such as `https://ldap1.example.com:8392`.
    pub url: String,
}

/// How a member comes into its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// It is the first member of a new cluster.
    New,
    /// It was added to a cluster of these members, itself among them.
    Existing(Vec<Peer>),
}

/// A member of the cluster, as the others reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Name of the member.
    pub name: String,
    /// Its URL for other members.
    pub url: String,
}

/// Files in PEM that a member proves itself with, to clients and to other members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate of the cluster's own authority. Who has none from it is not spoken to.
    pub authority: PathBuf,
    /// The node's certificate, good for servers and for clients.
    pub certificate: PathBuf,
    /// Key of the certificate.
    pub key: PathBuf,
}

/// Times that decide how fast a lost leader is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Milliseconds between two signs of life of the leader: about a round trip between members.
    pub heartbeat_ms: u32,
    /// Milliseconds without a sign of life until another leader is chosen: ten round trips, at
    /// least five heartbeats. All members need the same.
    pub election_ms: u32,
}

impl Default for Pace {
    /// Good for a local network.
    fn default() -> Self {
        Pace {
            heartbeat_ms: 100,
            election_ms: 1_000,
        }
    }
}

/// Reasons why a member's folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds a member of another cluster.
    #[error(
        "{} holds etcd's data of cluster {found}, expected of cluster {expected}: \
         move this folder away if that cluster is gone",
        folder.display()
    )]
    Stale {
        /// Folder of the member.
        folder: PathBuf,
        /// Token found, or that none is there.
        found: String,
        /// Token of the cluster that was to be started.
        expected: String,
    },
    /// A file of the folder cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl Member {
    /// Folder that etcd writes.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// File of etcd's messages.
    pub fn log(&self) -> PathBuf {
        self.folder.join("etcd.log")
    }

    /// Whether the folder holds a member that has been started before.
    pub fn has_data(&self) -> bool {
        // etcd makes this folder in one step, when it knows which member it is.
        self.data().join("member").join("wal").exists()
    }

    /// Makes the folder if it is not there, and checks that what it holds belongs to the cluster.
    ///
    /// # Errors
    /// It belongs to another cluster, or cannot be read or written.
    pub fn prepare(&self) -> Result<(), FolderError> {
        let failed = |path: &Path, error| FolderError::File {
            path: path.to_owned(),
            error,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|error| failed(&self.folder, error))?;
        let path = self.folder.join("token");
        if !self.has_data() {
            return write(&path, &self.token).map_err(|error| failed(&path, error));
        }
        let found = match fs::read_to_string(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => "unknown".to_owned(),
            Err(error) => return Err(failed(&path, error)),
        };
        if found == self.token {
            return Ok(());
        }
        Err(FolderError::Stale {
            folder: self.folder.clone(),
            found,
            expected: self.token.clone(),
        })
    }

    /// Moves etcd's data to `removed/`, in place of what is there: they are of no member any
    /// longer, or of none yet. Nothing may use them.
    ///
    /// # Errors
    /// They cannot be moved.
    pub fn forget(&self) -> Result<(), FolderError> {
        let removed = self.folder.join("removed");
        let moved = match fs::remove_dir_all(&removed) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(self.data(), removed),
        };
        match moved {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FolderError::File {
                path: self.data(),
                error,
            }),
            _ => Ok(()),
        }
    }
}

/// Opens a file for reading and writing, for its owner alone, making it if it is not there.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = open_private(path)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
