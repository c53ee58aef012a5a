//! The node's part in a cluster, as the directory sees it.

/// The node's part in a cluster, which knows the log and the other nodes.
pub trait ClusterPart: Send + Sync {
    /// The present state; `None` while the node ends.
    fn facts(&self) -> Option<ClusterFacts>;
}

/// State of a cluster, as one of its nodes knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Identifier of the cluster.
    pub id: String,
    /// Which of the cluster's logs is followed, from 1.
    pub generation: u64,
    /// Place of the log's last record, as far as this node knows.
    pub head: u64,
    /// Place of the last record that was trimmed or may be at any time; 0 for none.
    pub floor: u64,
    /// Bytes that the database of etcd uses; `None` before it was asked.
    pub used_bytes: Option<u64>,
    /// Bytes that this database may use at most; `None` before it was asked.
    pub quota_bytes: Option<u64>,
    /// Format level of records; `None` before it was read.
    pub format_level: Option<u32>,
    /// Number of voters of etcd; 0 before one was reached.
    pub voters: u64,
    /// Number of voters that answer.
    pub voters_answering: u64,
    /// Number of voters that must answer for writes to go on.
    pub quorum: u64,
    /// The cost of the next failure, in words.
    pub outlook: String,
    /// Reason why this node takes no writes; `None` if it does.
    pub trouble: Option<String>,
    /// The nodes of the cluster, in the order of joining.
    pub nodes: Vec<NodeFacts>,
}

/// State of a node of a cluster, as it reported it to the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Identifier of the node.
    pub id: String,
    /// Address at which other nodes reach it.
    pub address: String,
    /// Number of records that changed its state.
    pub position: u64,
    /// Places of the log that it has not executed.
    pub lag: u64,
    /// How its state compares with the others': `equal`, `behind` or `different`.
    pub equality: String,
    /// Its vote on the order of writes: `voter`, `learner` or `none`.
    pub vote: String,
    /// Seconds since its last report; `None` before the first.
    pub seen_s: Option<u64>,
    /// Its clock less this node's in microseconds; `None` before it is known.
    pub clock_offset_us: Option<i64>,
}
