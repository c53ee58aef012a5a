//! The writes that a node of a cluster makes itself: it submits them as those of clients, while it
//! is the steward.

use crate::commit_log::CommitLog;
use state::write::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes writes on their way to the log.
pub(crate) type Submit = Box<dyn Fn(Vec<Write>) + Send>;

/// The node's part in the work that any node may do.
pub(crate) struct Steward {
    log: Arc<dyn CommitLog>,
    submit: Submit,
    /// Whether the last writes have no result yet.
    waits: Arc<AtomicBool>,
}

impl Steward {
    /// A node with a log, and the way to it. `waits` becomes true with a submission; its results
    /// make it false.
    pub fn new(log: Arc<dyn CommitLog>, submit: Submit, waits: Arc<AtomicBool>) -> Steward {
        Steward { log, submit, waits }
    }

    /// Whether this node is the steward.
    pub fn is_steward(&self) -> bool {
        self.log.is_steward()
    }

    /// Whether this node is the steward, and its last writes have their results.
    pub fn is_free(&self) -> bool {
        !self.waits.load(Ordering::Acquire) && self.log.is_steward()
    }

    /// Whether this node's last writes have their results, be it the steward or not.
    pub fn may_submit(&self) -> bool {
        !self.waits.load(Ordering::Acquire)
    }

    /// The format level that the cluster is to have; `None` before the log has told it.
    pub fn agreed_level(&self) -> Option<u32> {
        self.log.agreed_level()
    }

    /// Submits writes.
    pub fn submit(&self, writes: Vec<Write>) {
        self.waits.store(true, Ordering::Release);
        (self.submit)(writes);
    }
}
