//! The node that put a record into the order of a cluster.

use std::fmt;

/// Random identifier of a node of a cluster, made once and never used for another node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub [u8; 16]);

/// The node that appended a record, and which of its records it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The node.
    pub node: NodeId,
    /// Number of the node's registration, from 1. Each start of its process has a greater one.
    pub epoch: u64,
    /// Number of the lane, from 0.
    pub lane: u8,
    /// Number of the record in its lane, from 1, without gaps over all epochs.
    pub sequence: u64,
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
