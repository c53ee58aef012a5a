//! A node that cannot follow its log any longer, and takes a copy of another node's state in its
//! next start.
//!
//! Invariants:
//! - the former state stays until the copy is complete, and for good if it differed from others' or
//!   is of a former generation;
//! - an interrupted copy goes on in the next start;
//! - a node does so once an hour at most, so that a fault which comes back is seen.

use crate::address::Address;
use crate::command::now;
use crate::folder;
use crate::identity::{Identity, Rejoins};
use crate::join::WantedCopy;
use crate::trouble::Trouble;
use crate::volatile::is_in_memory;
use replica::commit_log::LogFailure;
use std::fs;
use std::path::{Path, PathBuf};

/// Seconds between two copies at least.
const PAUSE_S: u64 = 3_600;
/// Name of the data folder, and those of a former state while a copy is made and, if it differed,
/// afterwards.
const DATA: &str = "data";
const BEFORE: &str = "data.before";
const DIFFERENT: &str = "data.different";

/// A copy to be fetched into the folder `data`, which is missing or complete.
#[derive(Debug)]
pub struct Copying {
    /// The node to ask first.
    pub from: Address,
    dir: PathBuf,
    identity: Identity,
    reason: Rejoins,
}

/// Notes that the next start fetches a copy, if the failure asks for one. Returns whether the node
/// has to be started anew.
pub fn note(identity: &Identity, failure: &LogFailure) -> bool {
    let reason = match failure {
        LogFailure::Trimmed { floor } => Rejoins::Trimmed { floor: *floor },
        LogFailure::Different { .. } | LogFailure::Damaged(_) => Rejoins::Different,
        LogFailure::Strange(_) | LogFailure::Level(_) => return false,
    };
    let now_s = now().as_secs();
    let mut noted = false;
    let saved = identity.note(|membership| {
        let is_due = now_s.saturating_sub(membership.rejoined_s) >= PAUSE_S;
        if is_due && !membership.peers.is_empty() {
            membership.rejoins = Some(reason);
            noted = true;
        }
    });
    match saved {
        Ok(()) if noted => {
            tracing::warn!(%failure, "this node is served anew with a copy of another one's state");
            true
        }
        Ok(()) => false,
        Err(error) => {
            tracing::error!(%error, "this node cannot note that it needs a copy");
            false
        }
    }
}

/// Whether the former state of the node in a folder is put aside, so that `data` may be missing.
pub fn is_under_way(dir: &Path) -> bool {
    fs::symlink_metadata(dir.join(BEFORE)).is_ok()
}

/// Notes that this start fetches a copy if the node's data are in memory, and are not to be any
/// longer: `memory` is the folder where they are to be. Returns whether that was noted.
///
/// # Errors
/// `cluster.json` cannot be written.
pub fn note_return_to_disk(
    dir: &Path,
    identity: &Identity,
    memory: Option<PathBuf>,
) -> Result<bool, Trouble> {
    if memory.is_some() || !is_in_memory(dir) {
        return Ok(false);
    }
    identity.note(|membership| membership.rejoins = Some(Rejoins::Trimmed { floor: 0 }))?;
    Ok(true)
}

/// Puts the former state aside if a copy is to be fetched; `None` if none is.
///
/// # Errors
/// A folder cannot be renamed.
pub fn begin(dir: &Path, identity: &Identity) -> Result<Option<Copying>, Trouble> {
    let membership = &identity.membership;
    let (Some(reason), Some(peer)) = (membership.rejoins, membership.peers.first()) else {
        return Ok(None);
    };
    let copying = Copying {
        from: peer.address.clone(),
        dir: dir.to_path_buf(),
        identity: identity.clone(),
        reason,
    };
    if is_under_way(dir) {
        if dir.join(DATA).exists() {
            // The copy is complete.
            copying.end()?;
            return Ok(None);
        }
    } else {
        rename(&dir.join(DATA), &dir.join(BEFORE))?;
    }
    Ok(Some(copying))
}

impl Copying {
    /// The copy that is to be fetched.
    pub fn wanted(&self) -> WantedCopy {
        WantedCopy {
            data: self.dir.join(DATA),
            place: match self.reason {
                Rejoins::Trimmed { floor } => floor,
                Rejoins::Different | Rejoins::Generation { .. } => 0,
            },
        }
    }

    /// Ends the copying: the node follows the log from its copy on.
    ///
    /// # Errors
    /// A folder cannot be removed or renamed, or `cluster.json` not written.
    pub fn end(&self) -> Result<(), Trouble> {
        let before = self.dir.join(BEFORE);
        let kept = match self.reason {
            Rejoins::Trimmed { .. } => None,
            Rejoins::Different => Some(self.dir.join(DIFFERENT)),
            Rejoins::Generation { number } => Some(self.dir.join(format!("{BEFORE}-{number}"))),
        };
        folder::remove(kept.as_ref().unwrap_or(&before))?;
        if let Some(kept) = kept {
            rename(&before, &kept)?;
        }
        self.identity.note(|membership| {
            membership.rejoins = None;
            membership.rejoined_s = now().as_secs();
        })
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), Trouble> {
    fs::rename(from, to).map_err(Trouble::file(from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Authority;
    use crate::identity::{ClusterId, Founding, Member, Membership};
    use replica::commit_log::NodeId;
    use tempfile::TempDir;

    /// A node with a peer and a folder `data`.
    fn node(dir: &Path) -> Identity {
        let (cluster, node) = (ClusterId([1; 16]), NodeId([2; 16]));
        let address: Address = "127.0.0.1:8390".parse().unwrap();
        let peer = Member {
            node: NodeId([3; 16]),
            address: "127.0.0.1:8393".parse().unwrap(),
        };
        let authority = Authority::found(cluster, now()).unwrap();
        let etcd = Membership::managed_etcd(node, &address, Vec::new());
        let founding = Founding {
            membership: Membership {
                peers: vec![peer],
                ..Membership::new(cluster, node, address, etcd)
            },
            authority: &authority,
            files: Vec::new(),
            now: now(),
        };
        fs::create_dir(dir.join(DATA)).unwrap();
        fs::write(dir.join(DATA).join("state"), "former").unwrap();
        Identity::create(dir, founding, || Ok(())).unwrap()
    }

    fn again(dir: &Path) -> Identity {
        Identity::load(dir).unwrap().unwrap()
    }

    #[test]
    fn a_state_that_differs_is_kept_beside_the_copy() {
        let folder = TempDir::new().unwrap();
        let dir = folder.path();
        let identity = node(dir);
        assert!(
            begin(dir, &identity).unwrap().is_none(),
            "nothing is to be done"
        );
        let strange = LogFailure::Strange("a gap".to_owned());
        assert!(!note(&identity, &strange), "a copy would not help");
        assert!(note(&identity, &LogFailure::Different { position: 7 }));
        let copying = begin(dir, &again(dir)).unwrap().unwrap();
        assert_eq!(copying.from.to_string(), "127.0.0.1:8393");
        // Interrupted: the copy is not there yet.
        assert!(is_under_way(dir) && !dir.join(DATA).exists());
        assert!(begin(dir, &again(dir)).unwrap().is_some());
        // Interrupted: the copy is there, and was not noted.
        fs::create_dir(dir.join(DATA)).unwrap();
        assert!(begin(dir, &again(dir)).unwrap().is_none());
        assert!(!is_under_way(dir));
        let kept = fs::read_to_string(dir.join(DIFFERENT).join("state"));
        assert_eq!(kept.unwrap(), "former");
        assert_eq!(again(dir).membership.rejoins, None);
        // Not a second time within the hour.
        assert!(!note(&identity, &LogFailure::Different { position: 9 }));
        assert_eq!(again(dir).membership.rejoins, None);
    }

    #[test]
    fn a_state_that_was_left_behind_goes_when_the_copy_is_there() {
        let folder = TempDir::new().unwrap();
        let dir = folder.path();
        let identity = node(dir);
        assert!(note(&identity, &LogFailure::Trimmed { floor: 12 }));
        let copying = begin(dir, &again(dir)).unwrap().unwrap();
        assert_eq!(copying.wanted().place, 12);
        fs::create_dir(dir.join(DATA)).unwrap();
        copying.end().unwrap();
        assert!(!is_under_way(dir) && !dir.join(DIFFERENT).exists());
        assert!(begin(dir, &again(dir)).unwrap().is_none());
    }
}
