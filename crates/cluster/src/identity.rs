//! A node's knowledge of its cluster while it is stopped: the folder `cluster` beside its data.
//!
//! The folder has the authority's certificate and key (`ca.pem`, `ca.key`), the node's (`node.pem`,
//! `node.key`), and `cluster.json`.
//!
//! Invariants:
//! - the folder has its name only when all files in it are complete and synced;
//! - a file in it is replaced as a whole or not at all;
//! - only the owner reads the folder.

mod file;
#[doc(hidden)]
pub mod fuzz;
mod membership;
mod processes;

pub use crate::ids::{ClusterId, node as node_id};
pub use file::{CA_FILE, CA_KEY_FILE, CLUSTER_FILE, NODE_FILE, NODE_KEY_FILE};
pub use membership::{Etcd, ExternalEtcd, ManagedEtcd, Member, Membership, Rejoins, VERSION};
pub use processes::Processes;

use crate::authority::{Authority, Root};
use crate::trouble::Trouble;
use file::{read, replace};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the folder in a node's folder.
pub const FOLDER: &str = "cluster";

/// Files of certificates for connections to etcd, all PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdFiles {
    /// The authority of its members' certificates.
    pub authority: PathBuf,
    /// The certificate to present.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The folder `cluster` of a node, read and checked.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The folder.
    pub folder: PathBuf,
    /// The content of `cluster.json`.
    pub membership: Membership,
}

/// The material of a new folder.
#[derive(Debug)]
pub struct Founding<'a> {
    /// The content of `cluster.json`.
    pub membership: Membership,
    /// The authority, able to issue the node's certificate.
    pub authority: &'a Authority,
    /// Further files: names in the folder, and contents.
    pub files: Vec<(&'static str, String)>,
    /// The time since 1970.
    pub now: Duration,
}

impl Identity {
    /// The folder `cluster` of the node in `dir`; it may be missing.
    pub fn folder_of(dir: &Path) -> PathBuf {
        dir.join(FOLDER)
    }

    /// Reads the identity of the node in `dir`; `None` if it belongs to no cluster.
    ///
    /// # Errors
    /// A file cannot be read, or has another content than expected: the file and the field are
    /// named.
    pub fn load(dir: &Path) -> Result<Option<Identity>, Trouble> {
        let folder = Identity::folder_of(dir);
        if !folder.exists() {
            return Ok(None);
        }
        let membership = file::membership(&folder.join(CLUSTER_FILE))?;
        Ok(Some(Identity { folder, membership }))
    }

    /// Makes the folder `cluster` of the node in `dir`. `confirm` is called when all files of it
    /// are written; if it fails, nothing stays.
    ///
    /// # Errors
    /// The folder exists, or a file cannot be written; the error of `confirm`.
    pub fn create(
        dir: &Path,
        founding: Founding<'_>,
        confirm: impl FnOnce() -> Result<(), Trouble>,
    ) -> Result<Identity, Trouble> {
        let folder = Identity::folder_of(dir);
        let Membership { node, address, .. } = &founding.membership;
        let authority = founding.authority;
        let issued = authority.issue(*node, address, None, founding.now)?;
        let mut files = founding.files;
        files.push((CA_FILE, authority.pem().to_owned()));
        files.push((CA_KEY_FILE, authority.key_pem()));
        files.push((NODE_FILE, issued.certificate));
        files.push((NODE_KEY_FILE, issued.key));
        files.push((CLUSTER_FILE, file::print(&founding.membership)?));
        file::create_folder(&folder, &files, confirm)?;
        Ok(Identity {
            folder,
            membership: founding.membership,
        })
    }

    /// Writes `cluster.json` anew.
    ///
    /// # Errors
    /// The file cannot be written; the earlier one stays.
    pub fn save(&self) -> Result<(), Trouble> {
        let text = file::print(&self.membership)?;
        replace(&self.folder.join(CLUSTER_FILE), &text)
    }

    /// The identity with `cluster.json` as it is now.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn reload(&self) -> Result<Identity, Trouble> {
        Ok(Identity {
            folder: self.folder.clone(),
            membership: file::membership(&self.folder.join(CLUSTER_FILE))?,
        })
    }

    /// Changes `cluster.json` as it is now, and writes it if that makes a difference.
    ///
    /// # Errors
    /// The file cannot be read or written; the earlier one stays.
    pub fn note(&self, change: impl FnOnce(&mut Membership)) -> Result<(), Trouble> {
        let path = self.folder.join(CLUSTER_FILE);
        let before = file::membership(&path)?;
        let mut after = before.clone();
        change(&mut after);
        match after == before {
            true => Ok(()),
            false => replace(&path, &file::print(&after)?),
        }
    }

    /// Reads the cluster's authority, with its key.
    ///
    /// # Errors
    /// A file cannot be read, or is not what its name says.
    pub fn authority(&self) -> Result<Authority, Trouble> {
        let pem = read(&self.folder.join(CA_FILE))?;
        let path = self.folder.join(CA_KEY_FILE);
        let authority = Authority::load(self.membership.cluster, &pem, &read(&path)?);
        authority.map_err(|trouble| self.about(trouble))
    }

    /// Reads the authority's certificate.
    ///
    /// # Errors
    /// The errors of [`Identity::authority`].
    pub fn root(&self) -> Result<Root, Trouble> {
        let root = Root::load(&read(&self.folder.join(CA_FILE))?);
        root.map_err(|trouble| self.about(trouble))
    }

    /// Issues the node's certificate anew if it is due: less than a third of its time is left, or
    /// the node's address has changed. Returns whether it was. `now` is the time since 1970.
    ///
    /// # Errors
    /// A file cannot be read or written, or is not what its name says.
    pub fn renew(&self, now: Duration) -> Result<bool, Trouble> {
        let authority = self.authority()?;
        let Membership { node, address, .. } = &self.membership;
        let path = self.folder.join(NODE_FILE);
        if !authority.is_due(&read(&path)?, *node, address, now) {
            return Ok(false);
        }
        let key = read(&self.folder.join(NODE_KEY_FILE))?;
        let issued = authority.issue(*node, address, Some(&key), now);
        let issued = issued.map_err(|trouble| self.about(trouble))?;
        replace(&path, &issued.certificate)?;
        Ok(true)
    }

    /// The certificates for connections to the etcd that keeps the log.
    pub fn etcd_files(&self) -> EtcdFiles {
        match &self.membership.etcd {
            Etcd::Managed(_) => EtcdFiles {
                authority: self.path(CA_FILE.as_ref()),
                certificate: self.path(NODE_FILE.as_ref()),
                key: self.path(NODE_KEY_FILE.as_ref()),
            },
            Etcd::External(etcd) => EtcdFiles {
                authority: self.path(&etcd.ca),
                certificate: self.path(&etcd.certificate),
                key: self.path(&etcd.key),
            },
        }
    }

    /// A path of `cluster.json`, which may be relative to the folder.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    fn about(&self, trouble: Trouble) -> Trouble {
        Trouble::Refused(format!("{}: {trouble}", self.folder.display()))
    }
}

#[cfg(test)]
mod tests;
