//! How long clients wait for the log of a cluster.

use std::time::Duration;

/// Times for which a write waits for the log of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Time after which a write that was never handed to the log is refused: it changed nothing.
    pub write: Duration,
    /// Time after which the client of a write that was handed over hears that its fate is unknown.
    /// Not shorter than `write`, for until then the write may be refused.
    pub undecided: Duration,
}

impl Default for Patience {
    /// Longer than the log is without a leader when one of its members fails.
    fn default() -> Patience {
        Patience {
            write: Duration::from_secs(10),
            undecided: Duration::from_secs(30),
        }
    }
}
