//! Requests on their way to the writer: bundles of writes, with the address of their result.

use crate::flow::{Mailbox, Reply};
use protocol::{LdapResult, MessageId, ResultKind};
use state::write::{Unit, Write};
use std::sync::Arc;

/// What one request asks of the writer.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every bundle is one write, and a box more would be paid by each"
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

    /// The parts that are applied wholly or not at all.
    pub fn units(&self) -> impl Iterator<Item = Unit<'_>> {
        let length = match self {
            Bundle::One(_) | Bundle::Sequence { .. } => 1,
            Bundle::Transaction { writes, .. } => writes.len().max(1),
        };
        self.writes().chunks(length)
    }
}

/// A bundle on its way to the writer, with the address its result goes to.
pub(crate) struct Submission {
    pub bundle: Bundle,
    pub session: u64,
    pub id: MessageId,
    pub kind: ResultKind,
    pub reply: Reply,
    pub mailbox: Arc<dyn Mailbox>,
}

impl std::fmt::Debug for Submission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Submission")
            .field("session", &self.session)
            .field("id", &self.id)
            .field("bundle", &self.bundle)
            .finish_non_exhaustive()
    }
}
