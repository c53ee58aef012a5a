//! Why the server of a node of a cluster ends by itself.

use replica::commit_log::Unknown;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Time between two looks whether the node can still follow its log.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Reason why a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The node has left its cluster.
    Left,
    /// The node needs a copy of another node's state, which its next start fetches.
    NeedsCopy,
    /// The log that an import had closed is open again, and the node must register anew.
    Reopened,
    /// The cluster has a format level that this program does not execute.
    Outdated(Unknown),
    /// The server was told to stop.
    Stopped,
}

/// News of the reason, told once.
#[derive(Default)]
pub struct Endings {
    reason: Mutex<Option<Ending>>,
    told: Condvar,
}

impl Endings {
    /// Waits for the reason; `look` is asked for one now and then.
    pub fn wait(&self, mut look: impl FnMut() -> Option<Ending>) -> Ending {
        loop {
            let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = self
                .told
                .wait_timeout_while(reason, LOOK_EVERY, |it| it.is_none());
            let reason = *waited.unwrap_or_else(PoisonError::into_inner).0;
            if let Some(reason) = reason {
                return reason;
            }
            // Not under the lock: a look may ask other nodes.
            if let Some(reason) = look() {
                self.tell(reason);
            }
        }
    }

    /// Tells the reason, unless one was told before.
    pub fn tell(&self, ending: Ending) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.get_or_insert(ending);
        self.told.notify_all();
    }
}
