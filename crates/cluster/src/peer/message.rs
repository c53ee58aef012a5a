//! Messages between nodes, as JSON.
//!
//! Fields may be added in later versions: what a reader does not know it skips.

use crate::address::Address;
use crate::etcd::Seen;
use crate::identity::{ClusterId, Member, node_id};
use replica::commit_log::NodeId;
use replica::level;
use serde::{Deserialize, Serialize};

/// Request of a node that wants to join: `POST /join`.
#[derive(Clone, Serialize, Deserialize)]
pub struct JoinRequest {
    /// The secret of the token.
    pub secret: String,
    /// The new node.
    #[serde(with = "node_id")]
    pub node: NodeId,
    /// Where other nodes will reach it.
    pub address: Address,
    /// Highest format level that its program executes; the first if the program does not say.
    #[serde(default = "first_level")]
    pub format_max: u32,
    /// Reason why its machine has no etcd to run; `None` if it has one, or does not say.
    #[serde(default)]
    pub without_etcd: Option<String>,
}

fn first_level() -> u32 {
    level::LOWEST
}

/// Answer to a [`JoinRequest`].
#[derive(Clone, Serialize, Deserialize)]
pub struct JoinAnswer {
    /// The authority's certificate as PEM.
    pub ca: String,
    /// The authority's private key as PEM: all nodes are equal.
    pub ca_key: String,
    /// The cluster.
    pub cluster: ClusterId,
    /// Which of the cluster's logs is followed, from 1.
    pub generation: u64,
    /// Whether an import has begun that generation.
    #[serde(default)]
    pub replaces: bool,
    /// The nodes of the cluster, without the new one.
    pub members: Vec<Member>,
    /// The etcd that keeps the log.
    pub etcd: JoinEtcd,
}

/// The etcd of a [`JoinAnswer`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinEtcd {
    /// Nodes run it.
    Managed {
        /// URLs at which nodes' members serve clients.
        urls: Vec<String>,
    },
    /// An operator runs it.
    External {
        /// URLs at which its members serve clients.
        urls: Vec<String>,
        /// Authority of its members' certificates, as PEM.
        ca: String,
        /// The certificate to present, as PEM.
        certificate: String,
        /// Its private key, as PEM.
        key: String,
    },
}

/// State of a node: `GET /status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// The node.
    #[serde(with = "node_id")]
    pub node: NodeId,
    /// Where other nodes reach it.
    pub address: Address,
    /// Version of the program.
    pub version: String,
    /// Which of the cluster's logs the node follows, from 1.
    pub generation: u64,
    /// Whether an import has begun that generation: nodes of a former one take its state.
    #[serde(default)]
    pub replaces: bool,
    /// URLs at which that generation's etcd serves clients; empty if an operator runs it.
    #[serde(default)]
    pub etcd_urls: Vec<String>,
    /// The last place of the log, as far as the node knows.
    pub head: u64,
    /// Place of the last executed record, or a later place without records before it.
    pub place: u64,
    /// The last place that a power failure cannot undo on this node.
    pub synced_place: u64,
    /// Number of records that changed the state.
    pub position: u64,
    /// The last position whose digest is told.
    pub digest_position: u64,
    /// Digest of the state at that position, in hexadecimal digits.
    pub digest: String,
    /// Time of the last executed record, in microseconds since 1970.
    pub record_time_us: u64,
    /// The node's clock when it answered, in microseconds since 1970.
    pub clock_us: u64,
    /// Why the node takes no writes or follows no log; `None` if it does both.
    pub trouble: Option<String>,
    /// Whether the node's data are in memory.
    #[serde(default)]
    pub volatile: bool,
    /// All nodes of the cluster that the node knows, itself included.
    pub members: Vec<Member>,
    /// The log and its etcd, as the node sees them.
    #[serde(default)]
    pub log: LogStatus,
}

/// State of the cluster's log and of the etcd that keeps it, in a [`NodeStatus`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogStatus {
    /// Place of the last record that was trimmed or may be at any time; 0 for none.
    pub floor: u64,
    /// Bytes that etcd's database uses, and at most may use; `None` before it was asked.
    pub fill: Option<Fill>,
    /// Format level at which the node executes records; `None` if the node cannot tell.
    pub format_level: Option<u32>,
    /// Format level that the cluster is to have; `None` before it was read, and from programs that
    /// do not tell it.
    pub format_agreed: Option<u32>,
    /// Highest format level that the node's program executes.
    pub format_max: u32,
    /// Members of etcd; empty before one was reached.
    pub voters: Vec<Voter>,
    /// Reason why the voters are not those that are wanted yet; `None` if they are.
    pub waiting: Option<String>,
    /// The import that has closed the log; `None` while it is open, and while etcd does not
    /// answer.
    pub closing: Option<ClosedBy>,
    /// The last registration of each node.
    pub registrations: Vec<Registered>,
}

/// An import that has closed the log, in a [`LogStatus`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedBy {
    /// The node that it fills.
    #[serde(with = "node_id")]
    pub node: NodeId,
    /// Where other nodes reach that node, `HOST:PORT`.
    pub address: String,
    /// The generation that begins with it.
    pub generation: u64,
}

/// The last registration of a node, in a [`LogStatus`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// The node.
    #[serde(with = "node_id")]
    pub node: NodeId,
    /// Number of the registration.
    pub epoch: u64,
    /// Random name of the process that registered.
    pub process: String,
}

/// Fullness of etcd's database, in a [`LogStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes that its file may have at most.
    pub quota_bytes: u64,
}

/// A member of etcd, in a [`LogStatus`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voter {
    /// Its name; empty until it has been started once.
    pub name: String,
    /// URL at which it serves clients; `None` until it has been started once.
    pub url: Option<String>,
    /// Whether it has no vote yet.
    pub is_learner: bool,
    /// Whether it answered when it was last asked.
    pub answers: bool,
}

impl From<&Seen> for Voter {
    fn from(member: &Seen) -> Voter {
        Voter {
            name: member.name.clone(),
            url: member.client_url.clone(),
            is_learner: member.is_learner,
            answers: member.answers,
        }
    }
}

/// Request to remove a node that has died: `POST /remove`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoveRequest {
    /// The node to remove.
    #[serde(with = "node_id")]
    pub node: NodeId,
    /// Whether that may stop writes until other nodes are back.
    pub lose_quorum: bool,
}

/// Answer to a [`RemoveRequest`]: the node is no member any longer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Removed {}

/// Request that the asked node leaves the cluster, given again until it has left: `POST /leave`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeaveRequest {
    /// Whether that may stop writes until other nodes are back.
    pub lose_quorum: bool,
}

/// Request to raise the format level, given again until it is raised: `POST /upgrade`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UpgradeRequest {
    /// The level that an earlier answer named; `None` in the first request.
    pub to: Option<u32>,
}

/// Answer to an [`UpgradeRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpgradeAnswer {
    /// Format level at which the node executes records.
    pub level: u32,
    /// The level that the cluster is to have.
    pub to: u32,
}

/// Answer to a [`LeaveRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveAnswer {
    /// Whether the node has left, and ends.
    pub left: bool,
    /// Reason why it has not left yet; `None` if it has left.
    pub waiting: Option<String>,
}

/// How far a node is: `GET /executed/POSITION`. Waits a moment until the node has executed that
/// position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Number of records that changed the node's state.
    pub position: u64,
}

/// A copy of a node's database that is made or served: `GET /snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Identifier of the copy.
    pub id: String,
    /// Bytes of each piece but the last, before compression.
    pub piece_bytes: u64,
    /// Most bytes that the copy can have.
    pub bytes_max: u64,
    /// The copy has executed every record up to this place of the log, and perhaps more.
    pub place: u64,
    /// Which of the cluster's logs the copy follows, from 1; `None` if the program does not say.
    #[serde(default)]
    pub generation: Option<u64>,
}

/// Checksums of a copy's pieces: `GET /snapshot/ID/sums/FIRST`. Waits until there are some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// XXH3 (128 bits) of the pieces from number FIRST on, before compression, in hexadecimal
    /// digits. They detect damage; TLS keeps others from changing pieces.
    pub sums: Vec<String>,
    /// Bytes of the whole copy before compression; `None` while it is being made.
    pub bytes: Option<u64>,
}

/// Body of answers other than success.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Refusal {
    /// One line that says why, and what to do.
    pub error: String,
}
