//! The commit log of a cluster: one order of the writes of all nodes, as a stream.
//!
//! A node hands over *bundles* of writes, and executes the *records* that come back, its own and
//! those of other nodes, in one order. A record of its own is the only news that a bundle has its
//! place.
//!
//! Invariants:
//! - all nodes get the same records in the same order, with the same places;
//! - a bundle becomes one record or none, also over lost replies, retries and restarts;
//! - bundles of one lane become records in the order in which they were handed over;
//! - a log does not look into payloads.

pub use state::level::Unknown;
pub use state::origin::{NodeId, Origin};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of the longest payload. Whoever has more to say splits it into several bundles.
pub const PAYLOAD_BYTES_MAX: usize = 1_000_000;

/// Writes of this node on their way into the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// Number by which this process knows the bundle again, ascending from 1.
    pub number: u64,
    /// The lane to append to.
    pub lane: u8,
    /// At most [`PAYLOAD_BYTES_MAX`] bytes.
    pub payload: Vec<u8>,
    /// When the bundle is refused if it could not be sent.
    pub until: Instant,
}

/// A bundle that has its place in the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Place in the log, greater than those of all records before it. Places may have gaps.
    pub place: u64,
    /// Who appended it.
    pub origin: Origin,
    /// Number of the bundle if this process handed it over; `None` for other nodes and for earlier
    /// processes of this node.
    pub own: Option<u64>,
    /// The payload, as handed over.
    pub payload: Vec<u8>,
}

/// News of the log, in the order of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEvent {
    /// The next record.
    Record(LogRecord),
    /// There is no further record up to this place.
    Reached(u64),
    /// The bundle of this number is not in the log and will never be.
    Refused {
        /// Number of the bundle.
        number: u64,
        /// Reason, for clients.
        reason: String,
    },
}

/// Reasons why a node cannot follow a log any longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogFailure {
    /// Records that this node lacks were removed: it needs a copy of another node's state.
    #[error("the log begins behind place {floor}, which this node has not reached")]
    Trimmed {
        /// Place of the last removed record.
        floor: u64,
    },
    /// Most nodes have another state than this node: it needs a copy of another node's state.
    #[error("its state differs from that of most nodes at position {position}")]
    Different {
        /// The last position at which the states were compared.
        position: u64,
    },
    /// This node cannot execute a record that others have executed: it needs a copy of another
    /// node's state.
    #[error("its database is damaged: {0}")]
    Damaged(String),
    /// The log is not the one that this node followed, or lacks a record in the middle.
    #[error("the log cannot be followed: {0}")]
    Strange(String),
    /// The next record, or the cluster, has a format level that this program does not execute.
    #[error(transparent)]
    Level(Unknown),
}

/// The log could not be reached in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log cannot be reached: {0}")]
pub struct Unreachable(pub String);

/// What a node has executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Place of the last executed record, or a later place without records before it.
    pub place: u64,
    /// The last place that a power failure cannot undo on this node.
    pub synced_place: u64,
    /// Position of the state: number of records that changed it.
    pub position: u64,
    /// Digest by which nodes compare their states, at the last position that is a multiple of
    /// [`DIGEST_EVERY`], with that position; 0 and 0 before the first since the process began.
    pub digest: (u64, u128),
    /// Time of the last executed record, in microseconds since 1970.
    pub time_us: u64,
    /// Format level at which records are executed.
    pub level: u32,
}

/// Number of positions between two digests that nodes compare.
pub const DIGEST_EVERY: u64 = if cfg!(test) { 2 } else { 1_024 };

/// State of the connection to a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogHealth {
    /// Why no bundle can be appended at present; `None` if appending works.
    pub trouble: Option<String>,
    /// Whether the log answers no questions at present.
    pub is_silent: bool,
    /// The last place of the log, as far as this node knows.
    pub head: u64,
}

/// Receives the last place of the log at the time of a question.
pub type Fenced = Box<dyn FnOnce(Result<u64, Unreachable>) + Send>;

/// Wakes the node's orderer.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A log that orders the bundles of all nodes.
///
/// No function but [`next`](CommitLog::next) waits.
pub trait CommitLog: Send + Sync {
    /// Sets the function to call whenever a lane becomes free.
    fn on_free(&self, wake: Wake);

    /// Number of lanes, at least 1.
    fn lanes(&self) -> u8;

    /// Whether a lane takes a bundle: it does not while another one of its bundles has no place
    /// yet.
    fn is_free(&self, lane: u8) -> bool;

    /// Hands over a bundle of a free lane. It comes back as a record or as [`LogEvent::Refused`],
    /// or stays undecided while the log cannot be reached.
    fn submit(&self, bundle: Bundle);

    /// Waits until there are events, at most for `wait`, and returns those that have come.
    ///
    /// # Errors
    /// This node cannot follow the log any longer; each later call fails alike.
    fn next(&self, wait: Duration) -> Result<Vec<LogEvent>, LogFailure>;

    /// Asks for the last place of the log. A node that has executed it shows every write that was
    /// acknowledged, on any node, before the question.
    fn fence(&self, then: Fenced);

    /// Tells the log how far this node is. The log trims by the nodes' synced places, and other
    /// nodes compare the digests.
    fn report(&self, standing: Standing);

    /// Whether another node is known to have executed the log up to this place or beyond.
    fn is_executed_elsewhere(&self, place: u64) -> bool;

    /// Ends following for good, because this node cannot execute the next record:
    /// [`next`](CommitLog::next) fails with this from now on.
    fn give_up(&self, failure: LogFailure);

    /// Whether this node is the one that removes expired entries and what deletes left behind.
    /// Several nodes at once do no harm.
    fn is_steward(&self) -> bool;

    /// The format level that the cluster is to have, which every node's program executes; `None`
    /// before it was read. The steward raises that of the databases, by a write.
    fn agreed_level(&self) -> Option<u32>;

    /// State of the connection.
    fn health(&self) -> LogHealth;

    /// Ends the connection; a waiting [`next`](CommitLog::next) returns.
    fn end(&self);
}
