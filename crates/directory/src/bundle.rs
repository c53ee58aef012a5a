//! The writes of one request.

use protocol::{LdapResult, MessageId};
use state::write::Write;

/// The writes of one request.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every bundle is one write, and each would pay for a box"
)]
pub(crate) enum Bundle {
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

impl Bundle {
    pub fn writes(&self) -> &[Write] {
        match self {
            Bundle::One(write) => std::slice::from_ref(write),
            Bundle::Transaction { writes, .. } | Bundle::Sequence { writes, .. } => writes,
        }
    }

    pub fn writes_mut(&mut self) -> &mut [Write] {
        match self {
            Bundle::One(write) => std::slice::from_mut(write),
            Bundle::Transaction { writes, .. } | Bundle::Sequence { writes, .. } => writes,
        }
    }
}
