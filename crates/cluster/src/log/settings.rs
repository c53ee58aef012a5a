//! Settings of a log, and reasons why opening it can fail.

use replica::Clock;
use replica::commit_log::NodeId;
use replica::level;
use std::sync::Arc;
use std::time::Duration;

/// How a node uses the commit log.
#[derive(Clone)]
pub struct EtcdLogSettings {
    /// URLs of etcd's members, the nearest first: it is used as long as it works. Others can be
    /// named later by [`set_endpoints`](super::EtcdLog::set_endpoints).
    pub endpoints: Vec<String>,
    /// Certificates for `https` URLs; `None` for `http`.
    pub tls: Option<LogTls>,
    /// UUID of the cluster.
    pub cluster: [u8; 16],
    /// This node.
    pub node: NodeId,
    /// Names of the processes that have registered as this node from its folder, or may have; the
    /// last one is that of this process. Empty if this is not known: a name is made then, and no
    /// registration counts as another copy's.
    pub processes: Vec<String>,
    /// Facts about this node, for other nodes and operators.
    pub about: NodeAbout,
    /// Place up to which this node has executed the log, 0 for nothing.
    pub from: u64,
    /// Number of lanes, at least 1: bundles in flight at the same time.
    pub lanes: u8,
    /// Time for the first attempts to append, and for each other question: several round trips. Two
    /// of an append's attempts must fail before another member is asked. While etcd elects a
    /// leader, appends that came to it before are lost, so that the time is part of the longest
    /// pause.
    pub attempt_timeout: Duration,
    /// Bytes of events that wait for [`next`](replica::commit_log::CommitLog::next) before reading
    /// pauses.
    pub waiting_bytes_max: usize,
    /// Time between two reports of this node's place to the others. New digests are reported within
    /// a fifth of it.
    pub report_every: Duration,
    /// When etcd's history is trimmed, and when it is full.
    pub trimming: Trimming,
    /// How far writers go ahead of the slowest node.
    pub credit: Credit,
    /// Time and random identifiers.
    pub clock: Arc<dyn Clock>,
}

/// Certificates for connections to etcd, in PEM.
#[derive(Clone)]
pub struct LogTls {
    /// Certificate of the authority that signed those of etcd's members.
    pub authority: String,
    /// This node's certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// Facts that a node tells when it registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAbout {
    /// Address at which other nodes reach it, `HOST:PORT`.
    pub address: String,
    /// URL at which its member of etcd serves clients, whether or not it runs one; empty if an
    /// operator runs etcd.
    pub etcd_url: String,
    /// URL at which that member speaks to other members; empty like `etcd_url`, and if an older
    /// program registered.
    pub etcd_peer_url: String,
    /// Lowest format level that its program executes.
    pub format_min: u32,
    /// Highest format level that its program executes.
    pub format_max: u32,
    /// Version of its program.
    pub version: String,
    /// Whether its data are in memory.
    pub volatile: bool,
}

impl Default for NodeAbout {
    /// No addresses, and the format levels of this program.
    fn default() -> Self {
        NodeAbout {
            address: String::new(),
            etcd_url: String::new(),
            etcd_peer_url: String::new(),
            format_min: level::LOWEST,
            format_max: level::highest(),
            version: String::new(),
            volatile: false,
        }
    }
}

impl NodeAbout {
    /// Whether its program executes a format level.
    pub fn knows(&self, level: u32) -> bool {
        (self.format_min..=self.format_max).contains(&level)
    }
}

/// Bounds of etcd's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trimming {
    /// Bytes of records that are kept at most for nodes that have not synced them, and at most a
    /// quarter of etcd's quota.
    pub retention_bytes: u64,
    /// Time between two trims.
    pub every: Duration,
    /// Bytes of records after which the log is trimmed before that time.
    pub every_bytes: u64,
    /// A node counts as running while its position was reported within this time.
    pub alive_for: Duration,
    /// A registered node that does not run holds records back for this time, as far as
    /// `retention_bytes` allows, so that a restart needs no copy of another node's state.
    pub absent_for: Duration,
    /// Quota of etcd's database in bytes, for members that do not tell theirs. No bundle is
    /// appended above 60 percent of it.
    pub quota_bytes: u64,
}

impl Default for Trimming {
    fn default() -> Self {
        Trimming {
            retention_bytes: 1 << 30,
            every: Duration::from_secs(10),
            every_bytes: 64 << 20,
            alive_for: Duration::from_secs(15),
            absent_for: Duration::from_secs(3600),
            quota_bytes: 4 << 30,
        }
    }
}

/// How far the nodes that write go ahead of the one that executes most slowly. A node that does
/// not go on at all is not waited for: it needs an operator, or a copy of another node's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credit {
    /// Bytes of records that a running node may be behind before bundles wait for it.
    pub behind_bytes_max: u64,
    /// Time that a bundle waits at most, so that writes become slower and are not refused.
    pub pause_max: Duration,
    /// A node is waited for while it reported within this time that it has gone on.
    pub stuck_after: Duration,
}

impl Default for Credit {
    fn default() -> Self {
        Credit {
            behind_bytes_max: 16 << 20,
            pause_max: Duration::from_secs(1),
            stuck_after: Duration::from_secs(10),
        }
    }
}

impl EtcdLogSettings {
    /// Settings for a local network, with one lane, everything else as usual.
    pub fn new(endpoints: Vec<String>, cluster: [u8; 16], node: NodeId) -> EtcdLogSettings {
        EtcdLogSettings {
            endpoints,
            tls: None,
            cluster,
            node,
            processes: Vec::new(),
            about: NodeAbout::default(),
            from: 0,
            lanes: 1,
            attempt_timeout: Duration::from_millis(500),
            waiting_bytes_max: 64 << 20,
            report_every: Duration::from_secs(5),
            trimming: Trimming::default(),
            credit: Credit::default(),
            clock: Arc::new(replica::SystemClock),
        }
    }
}

/// Reasons why a log cannot be opened however often it is tried.
#[derive(Debug, thiserror::Error)]
pub enum OpenFailure {
    /// The settings contradict themselves.
    #[error("the settings of the commit log: {0}")]
    Settings(String),
    /// An etcd that lacks what the log needs.
    #[error("expected etcd 3.6 or later at {endpoint}, found {found}: update etcd")]
    Version {
        /// URL of the member.
        endpoint: String,
        /// Version that it named.
        found: String,
    },
    /// etcd did not answer, where that is needed at once.
    #[error(transparent)]
    Unreachable(#[from] replica::commit_log::Unreachable),
    /// etcd holds something else.
    #[error("{0}")]
    Strange(String),
    /// The node is no member of the cluster any longer.
    #[error(
        "node {0} was removed from the cluster and cannot come back: join with a new folder \
         (pando cluster join)"
    )]
    Removed(replica::commit_log::NodeId),
    /// The node was served from another copy of its folder.
    #[error(
        "this folder is a copy of that of node {0}, which was served from another copy since, and \
         of several copies one goes on: serve the other one and delete this folder, or take the \
         node out (pando cluster remove) and join with a new folder (pando cluster join)"
    )]
    Copied(replica::commit_log::NodeId),
    /// The log that the node had closed for an import was opened again.
    #[error(
        "the import into node {0} was given up, because the node was removed from the cluster: its \
         folder belongs to no generation any more; join with a new folder (pando cluster join)"
    )]
    Reopened(replica::commit_log::NodeId),
    /// The cluster has a format level that this program does not execute.
    #[error(transparent)]
    Level(#[from] level::Unknown),
    /// The system gave no thread.
    #[error("the thread of the commit log could not be started: {0}")]
    Thread(#[from] std::io::Error),
}
