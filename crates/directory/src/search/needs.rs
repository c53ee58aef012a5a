//! Parts of the server and the connection that a search needs.

use crate::last_name::LastName;
use crate::memory::Hold;
use crate::operations_log::OperationsLog;
use crate::peer::Peer;
use crate::search::cookie_key::CookieKey;
use crate::shared::Shared;
use policy::{LimitSettings, Limits, Whose};
use replica::Clock;
use std::cell::RefCell;

/// Maximum size in bytes of the buffer that one search leaves to the next.
const SCRATCH_BYTES_MAX: usize = 64 * 1024;

/// State of a search after a slice.
pub(crate) enum Step {
    /// The final result is in the output.
    Finished,
    /// The search continues in another slice.
    Parked,
}

/// Parts of the server and the connection that a search needs besides its context.
pub(crate) struct Needs<'n> {
    pub key: &'n CookieKey,
    pub limits: (Limits, Whose),
    /// Settings from which `limits` come, for the texts of refusals.
    pub settings: &'n LimitSettings,
    pub last_name: &'n RefCell<LastName>,
    /// Buffer for names and normalised values, so that a short search does not allocate.
    pub scratch: &'n RefCell<Vec<u8>>,
    /// Structures that all serving threads share.
    pub shared: &'n Shared,
    /// Clock, read only by searches that follow aliases, are about the present time or take more
    /// than one slice.
    pub clock: &'n dyn Clock,
    pub peer: &'n Peer,
    /// Memory of the server that the connection uses for other operations.
    pub memory: &'n Hold,
    /// Whether StartTLS is offered.
    pub tls: bool,
    pub operations: &'n OperationsLog,
}

impl Needs<'_> {
    /// The present time in seconds of Unix time.
    pub fn now_s(&self) -> i64 {
        (self.clock.now_us() / 1_000_000) as i64
    }

    /// Returns the buffer for the next search, unless it grew too large.
    pub fn give_back(&self, scratch: Vec<u8>) {
        if scratch.capacity() <= SCRATCH_BYTES_MAX {
            self.scratch.replace(scratch);
        }
    }
}
