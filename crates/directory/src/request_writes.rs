//! The writes of one request.

use protocol::{LdapResult, MessageId};
use state::write::Write;

/// The writes of one request.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every request has one write, and each would pay for a box"
)]
pub(crate) enum RequestWrites {
    /// An ordinary update.
    One(Write),
    /// The updates of a transaction, with the message ids of their requests (RFC 5805).
    Transaction {
        writes: Vec<Write>,
        ids: Vec<MessageId>,
    },
    /// Updates one after the other, each for itself, with their numbers in the request, and the
    /// results of those that were refused before (RFC 4373).
    Sequence {
        writes: Vec<Write>,
        numbers: Vec<u32>,
        refused: Vec<(u32, LdapResult)>,
    },
}

impl RequestWrites {
    /// All of them.
    pub fn all(&self) -> &[Write] {
        match self {
            RequestWrites::One(write) => std::slice::from_ref(write),
            RequestWrites::Transaction { writes, .. } | RequestWrites::Sequence { writes, .. } => {
                writes
            }
        }
    }

    /// All of them, mutable.
    pub fn all_mut(&mut self) -> &mut [Write] {
        match self {
            RequestWrites::One(write) => std::slice::from_mut(write),
            RequestWrites::Transaction { writes, .. } | RequestWrites::Sequence { writes, .. } => {
                writes
            }
        }
    }
}
