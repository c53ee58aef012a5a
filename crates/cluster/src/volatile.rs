//! A node whose data are in memory: each start fetches a copy of another node's state into a file
//! system in memory, and the folder `data` of the node is a link to it.
//!
//! Invariants:
//! - data on a disk are removed only after a copy in memory is complete, and while another node
//!   that answers keeps the directory on its disk;
//! - one process at a time uses the folder in memory.

use crate::command::now;
use crate::folder;
use crate::identity::Identity;
use crate::join::WantedCopy;
use crate::peer;
use crate::trouble::Trouble;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use store::private;

/// Name of the data folder, in the node's folder and in that in memory.
const DATA: &str = "data";
/// Name of the file in memory that is locked while a process uses the folder.
const LOCK: &str = "lock";
/// Numbers by which Linux tells its file systems in memory: tmpfs and ramfs.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// The folder in memory of a node, locked as long as this lives.
#[derive(Debug)]
pub struct InMemory {
    dir: PathBuf,
    identity: Identity,
    folder: PathBuf,
    _lock: File,
}

/// Whether the data of the node in a folder are in memory, or were before the machine started: the
/// folder `data` is a link then, perhaps to nothing.
pub fn is_in_memory(dir: &Path) -> bool {
    fs::symlink_metadata(dir.join(DATA)).is_ok_and(|it| it.is_symlink())
}

/// Prepares a folder for the data of the node in `dir` in a file system in memory. What an earlier
/// process left there is removed.
///
/// # Errors
/// `memory` is on no such file system, another process uses the folder, or the node has the only
/// data that are on a disk.
pub fn begin(dir: &Path, identity: &Identity, memory: &Path) -> Result<InMemory, Trouble> {
    let kind = rustix::fs::statfs(memory).map_err(|it| Trouble::file(memory)(it.into()))?;
    if !IN_MEMORY.contains(&u64::try_from(kind.f_type).unwrap_or(0)) {
        return Err(Trouble::Refused(format!(
            "{}: expected a file system in memory (tmpfs) for cluster.volatile, got another one; \
             mount one there, or name another folder in cluster.volatile_folder",
            memory.display()
        )));
    }
    if !is_in_memory(dir) {
        require_durable_peer(identity)?;
    }
    let folder = memory.join(format!("pando-{}", identity.membership.node));
    private::create_folders(&folder).map_err(Trouble::file(&folder))?;
    require_own(&folder)?;
    let path = folder.join(LOCK);
    let lock = private::options().write(true).truncate(false).open(&path);
    let lock = lock.map_err(Trouble::file(&path))?;
    if let Err(TryLockError::WouldBlock) = lock.try_lock() {
        return Err(Trouble::Refused(format!(
            "{} is in use: another process serves this node",
            folder.display()
        )));
    }
    folder::remove(&folder.join(DATA))?;
    Ok(InMemory {
        dir: dir.to_path_buf(),
        identity: identity.clone(),
        folder,
        _lock: lock,
    })
}

/// Refuses a folder that somebody else has made: every user may write to `/dev/shm`.
fn require_own(folder: &Path) -> Result<(), Trouble> {
    let found = fs::symlink_metadata(folder).map_err(Trouble::file(folder))?;
    let own = rustix::process::geteuid().as_raw();
    if found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(Trouble::Refused(format!(
        "{}: expected a folder that user {own} has made and nobody else can read, got one of user \
         {} with mode {:o}: remove it",
        folder.display(),
        found.uid(),
        found.mode() & 0o7777,
    )))
}

/// Refuses unless another node answers that keeps the directory on its disk.
fn require_durable_peer(identity: &Identity) -> Result<(), Trouble> {
    let answers = peer::survey(identity, &identity.membership.peers)?;
    let mut told = answers.iter().filter_map(|it| it.status.as_ref().ok());
    match told.any(|it| !it.volatile) {
        true => Ok(()),
        false => Err(Trouble::Refused(
            "this may be the last node that keeps the directory on a disk, and cluster.volatile \
             would lose it at the next stop: expected another such node that answers; serve one, \
             or take cluster.volatile out of pando.toml"
                .to_owned(),
        )),
    }
}

impl InMemory {
    /// The data folder in memory, missing until a copy is complete.
    fn data(&self) -> PathBuf {
        self.folder.join(DATA)
    }

    /// The copy that is to be fetched.
    pub fn wanted(&self) -> WantedCopy {
        WantedCopy {
            data: self.data(),
            place: 0,
        }
    }

    /// Makes the complete copy the data of the node: links to it, and removes what a disk had.
    ///
    /// # Errors
    /// A folder cannot be removed, the link cannot be made, or `cluster.json` not be written.
    pub fn take_place(&self) -> Result<(), Trouble> {
        let link = self.dir.join(DATA);
        // The link of the process before leads to the copy that was just made.
        if fs::read_link(&link).ok() != Some(self.data()) {
            folder::remove(&link)?;
            symlink(self.data(), &link).map_err(Trouble::file(&link))?;
        }
        // A copy that was due is there.
        self.identity.note(|membership| {
            if membership.rejoins.take().is_some() {
                membership.rejoined_s = now().as_secs();
            }
        })
    }
}
