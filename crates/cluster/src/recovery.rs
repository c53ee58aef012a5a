//! A cluster that has lost its log begins another generation, on the survivor that is furthest.
//!
//! Invariant: no generation begins while the log works, nor on a node that is known to have
//! executed less than another one.

use crate::etcd::claim;
use crate::folder;
use crate::identity::{Etcd, Identity, Member, Processes};
use crate::log::OpenFailure;
use crate::peer::{self, NodeStatus, Surveyed};
use crate::snapshot::SNAPSHOTS;
use crate::succession::Successor;
use crate::trouble::Trouble;
use std::path::{Path, PathBuf};

/// How far a node has followed the lost log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survivor {
    /// Place of the last record that it has executed.
    pub place: u64,
    /// Position of its state.
    pub position: u64,
}

/// Nodes that are not heard. Writes that they alone have executed are not in the new generation.
pub type Silent = Vec<Member>;

/// Looks whether the generation may begin on this node: the log is lost to all nodes that answer,
/// and none of them is further. Returns the nodes that do not answer.
///
/// # Errors
/// A node follows a log that works or one of a later generation, or has executed more.
pub fn survey(identity: &Identity, own: Survivor) -> Result<Silent, Trouble> {
    let mut silent = Vec::new();
    for Surveyed { member, status, .. } in peer::survey(identity, &identity.membership.peers)? {
        match status {
            Ok(status) => judge(identity, own, &status)?,
            Err(_) => silent.push(member),
        }
    }
    Ok(silent)
}

fn judge(identity: &Identity, own: Survivor, other: &NodeStatus) -> Result<(), Trouble> {
    let NodeStatus { node, address, .. } = other;
    require_generation(identity, other)?;
    if other.trouble.is_none() {
        return Err(Trouble::Refused(format!(
            "node {node} at {address} writes: the cluster has not lost its log; take lost nodes \
             out with `pando cluster remove`"
        )));
    }
    if let Some(closing) = &other.log.closing {
        return Err(Trouble::Refused(format!(
            "the log works and is closed by an import into the node at {0}: serve that node, or \
             take it out with `pando cluster remove DIR {0}` on another one",
            closing.address
        )));
    }
    if other.place > own.place {
        return Err(Trouble::Refused(format!(
            "node {node} at {address} is further: it has reached position {}, this node {}; \
             recover there",
            other.position, own.position
        )));
    }
    Ok(())
}

/// Refuses if another node follows a log of a later generation.
fn require_generation(identity: &Identity, other: &NodeStatus) -> Result<(), Trouble> {
    let own = identity.membership.generation;
    match other.generation > own {
        false => Ok(()),
        true => Err(Trouble::Refused(format!(
            "the cluster has begun generation {} at node {} ({}), and this node belongs to \
             generation {own}: join the cluster with a new folder",
            other.generation, other.node, other.address
        ))),
    }
}

/// Refuses if another node knows a registration that was made from another copy of the folder.
fn require_registration(identity: &Identity, other: &NodeStatus) -> Result<(), Trouble> {
    let membership = &identity.membership;
    let registered = other.log.registrations.iter();
    let mut own = registered.filter(|it| it.node == membership.node);
    match own.any(|it| membership.processes.is_foreign(it.epoch, &it.process)) {
        true => Err(Trouble::Refused(
            OpenFailure::Copied(membership.node).to_string(),
        )),
        false => Ok(()),
    }
}

/// Refuses to follow a log that other nodes have left, and to serve a copy of a node's folder that
/// was left behind: one of the nodes that answer is of a later generation, or knows a later
/// registration of this node. If an import has begun the latest one, returns a node of it, whose
/// state this one is to take; `None` if this node's generation is the latest.
///
/// # Errors
/// The node that answered, and its generation; or that the folder is a copy.
pub fn require_newest(identity: &Identity) -> Result<Option<Successor>, Trouble> {
    let answers = peer::survey(identity, &identity.membership.peers)?;
    let nodes: Vec<NodeStatus> = answers
        .into_iter()
        .filter_map(|it| it.status.ok())
        .collect();
    if let Some(successor) = Successor::among(identity, &nodes) {
        return Ok(Some(successor));
    }
    for status in &nodes {
        require_generation(identity, status)?;
        require_registration(identity, status)?;
    }
    Ok(None)
}

/// Reason why a generation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The log was lost. Other nodes may have executed more, and join with new folders.
    Loss,
    /// An import has filled a stopped node. Others have executed no more, and take its state.
    Import,
}

/// Ends the node's member of etcd, and keeps its data in another folder: the generation has an etcd
/// of its own.
///
/// # Errors
/// The folder cannot be renamed.
pub(crate) fn put_etcd_aside(dir: &Path, generation: u64) -> Result<(), Trouble> {
    let etcd = dir.join("etcd");
    claim::end_left(&etcd).map_err(Trouble::file(&etcd))?;
    // A call that was interrupted may have put it aside, and a start after it have made another.
    let mut kept = kept_etcd(dir, generation);
    while kept.exists() {
        kept.as_mut_os_string().push(".later");
    }
    folder::rename_if_any(&etcd, &kept)
}

/// The folder to which a node's etcd is put when a generation begins.
fn kept_etcd(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("etcd.before-{generation}"))
}

/// Whether the etcd of the former generation was put aside on this node, because the generation
/// begins: nothing but writing `cluster.json` is left to do.
pub fn has_begun(dir: &Path, generation: u64) -> bool {
    kept_etcd(dir, generation).exists()
}

/// Makes the node the first one of the next generation, after its database was marked. The data of
/// its member of etcd are kept in another folder.
///
/// # Errors
/// A file cannot be written or renamed; the call can be repeated.
pub fn begin(
    dir: &Path,
    identity: &Identity,
    generation: u64,
    cause: Cause,
) -> Result<(), Trouble> {
    put_etcd_aside(dir, generation)?;
    // A copy of the former generation would leave nodes that join without what came after it.
    folder::remove(&dir.join(SNAPSHOTS))?;
    identity.note(|membership| {
        membership.generation = generation;
        membership.begins = true;
        membership.imports = false;
        membership.replaces = cause == Cause::Import;
        membership.processes = Processes::default();
        membership.peers.clear();
        if let Etcd::Managed(etcd) = &mut membership.etcd {
            etcd.others.clear();
        }
    })
}
