//! The node that the peer service speaks for, as the service needs it.

use super::message::{
    LeaveAnswer, LeaveRequest, NodeStatus, RemoveRequest, UpgradeAnswer, UpgradeRequest,
};
use crate::identity::Member;
use replica::commit_log::NodeId;
use std::io::PipeWriter;
use std::time::Instant;

/// Receives the position of a node's state.
pub type Reached = Box<dyn FnOnce(u64) + Send>;

/// A running node, as far as other nodes ask it. The functions may wait for the disk, and are
/// called on threads where that does no harm.
pub trait PeerNode: Send + Sync + 'static {
    /// The node's state.
    fn status(&self) -> NodeStatus;

    /// Calls `then` with the position of the node's state as soon as that is at least `position`,
    /// or with the one that it has at `until`. Does not wait.
    fn when_reached(&self, position: u64, until: Instant, then: Reached);

    /// The nodes of the cluster, this one included.
    fn members(&self) -> Vec<Member>;

    /// The nodes that were removed from the cluster. Does not wait.
    fn removed(&self) -> Vec<NodeId>;

    /// URLs at which the cluster's etcd serves clients, if nodes run it.
    fn etcd_urls(&self) -> Vec<String>;

    /// Removes another node, which has died.
    ///
    /// # Errors
    /// The reason why it is not removed, for people.
    fn remove(&self, request: &RemoveRequest) -> Result<(), String>;

    /// Begins or goes on with leaving the cluster.
    ///
    /// # Errors
    /// The reason why this node does not leave, for people.
    fn leave(&self, request: &LeaveRequest) -> Result<LeaveAnswer, String>;

    /// Begins or goes on with raising the format level.
    ///
    /// # Errors
    /// The reason why the level is not raised, for people.
    fn upgrade(&self, request: &UpgradeRequest) -> Result<UpgradeAnswer, String>;

    /// Most bytes that a copy of the database can have now.
    ///
    /// # Errors
    /// The reason why there can be no copy, for people.
    fn copy_bytes_max(&self) -> Result<u64, String>;

    /// Writes a copy of the newest state of the database without free pages, from the first byte to
    /// the last. A broken pipe means that nobody wants it any more.
    ///
    /// # Errors
    /// The reason why the copy is not whole, for people.
    fn write_copy(&self, output: PipeWriter) -> Result<(), String>;
}
