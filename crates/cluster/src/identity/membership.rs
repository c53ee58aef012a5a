//! A node's place in its cluster, as `cluster.json` has it.

use super::processes::Processes;
use crate::address::Address;
use crate::authority::node_name;
use crate::ids::{self, ClusterId};
use replica::commit_log::NodeId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of `cluster.json` that this program writes and reads.
pub const VERSION: u32 = 1;

/// A node's place in its cluster: the content of `cluster.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Membership {
    /// Version of the file.
    pub version: u32,
    /// The cluster.
    pub cluster: ClusterId,
    /// Which of the cluster's logs the node follows, from 1. A cluster that lost its log, or was
    /// filled anew, begins another.
    pub generation: u64,
    /// This node.
    #[serde(with = "ids::node")]
    pub node: NodeId,
    /// Where other nodes reach this one.
    pub address: Address,
    /// The other nodes, as far as they were known when the file was written.
    pub peers: Vec<Member>,
    /// The etcd that keeps the log.
    pub etcd: Etcd,
    /// Whether the log is still to be begun, which the node of `init` does at its first start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins: bool,
    /// Whether the node has closed its log for an import, which begins the next generation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imports: bool,
    /// Whether the generation was begun by an import: nodes of a former one take its state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces: bool,
    /// Whether the node has left the cluster. It follows the log no longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// Why the node's next start fetches a copy of another node's state; `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejoins: Option<Rejoins>,
    /// When the node last had a copy of another node's state because of such a reason, in seconds
    /// since 1970; 0 for never.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejoined_s: u64,
    /// The processes by which the log knows this folder from copies of it.
    #[serde(default, skip_serializing_if = "Processes::is_unknown")]
    pub processes: Processes,
}

/// Reason why a node needs a copy of another node's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rejoins {
    /// Records that it lacks are no longer in the log.
    Trimmed {
        /// Place of the last record that is gone.
        floor: u64,
    },
    /// Its state is not that of most nodes.
    Different,
    /// An import has begun another generation.
    Generation {
        /// The generation.
        number: u64,
    },
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A node of a cluster, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The node.
    #[serde(with = "ids::node")]
    pub node: NodeId,
    /// Where other nodes reach it.
    pub address: Address,
}

/// The etcd that keeps a cluster's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Etcd {
    /// Nodes run it themselves, and use the cluster's own certificates.
    Managed(ManagedEtcd),
    /// An operator runs it.
    External(ExternalEtcd),
}

/// An etcd that nodes of the cluster run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManagedEtcd {
    /// Name of this node's member, whether or not it runs one.
    pub name: String,
    /// URL at which this node's member serves clients.
    pub client_url: String,
    /// URL at which this node's member speaks to other members.
    pub peer_url: String,
    /// URLs at which other nodes' members serve clients, those of voters first, as far as they were
    /// known when the file was written. Not all of these members exist.
    pub others: Vec<String>,
}

/// An etcd that an operator runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExternalEtcd {
    /// URLs at which its members serve clients.
    pub urls: Vec<String>,
    /// File of the authority of its members' certificates. Relative paths begin at the folder
    /// `cluster`.
    pub ca: PathBuf,
    /// File of the certificate to present.
    pub certificate: PathBuf,
    /// File of its private key.
    pub key: PathBuf,
}

impl Membership {
    /// The place of a new node in the first generation of a cluster, alone.
    pub fn new(cluster: ClusterId, node: NodeId, address: Address, etcd: Etcd) -> Membership {
        Membership {
            version: VERSION,
            cluster,
            generation: 1,
            node,
            address,
            peers: Vec::new(),
            etcd,
            begins: false,
            imports: false,
            replaces: false,
            left: false,
            rejoins: None,
            rejoined_s: 0,
            processes: Processes::default(),
        }
    }

    /// The managed etcd of a node at an address.
    pub fn managed_etcd(node: NodeId, address: &Address, others: Vec<String>) -> Etcd {
        Etcd::Managed(ManagedEtcd {
            name: node_name(node),
            client_url: address.etcd_client_url(),
            peer_url: address.etcd_peer_url(),
            others,
        })
    }

    /// Token by which members of etcd know that they are of one cluster: another one in each
    /// generation, so that members of a former one cannot take part.
    pub fn etcd_token(&self) -> String {
        match self.generation {
            1 => self.cluster.to_string(),
            generation => format!("{}-{generation}", self.cluster),
        }
    }

    /// Identifier of the log that the node follows: another one in each generation, so that a new
    /// log can be kept where the former one was.
    pub fn log(&self) -> [u8; 16] {
        let ClusterId(mut log) = self.cluster;
        let generation = (self.generation - 1).to_be_bytes();
        let tail = log.iter_mut().skip(8);
        tail.zip(generation).for_each(|(byte, it)| *byte ^= it);
        log
    }

    /// This node as a member.
    pub fn own(&self) -> Member {
        Member {
            node: self.node,
            address: self.address.clone(),
        }
    }
}
