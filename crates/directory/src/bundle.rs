//! Requests on their way to the writer: bundles of writes, with the address of their results.

use crate::flow::{Mailbox, Reply};
use protocol::{LdapResult, MessageId, ResultKind};
use replica::{Submission, Writes};
use state::write::Write;
use std::sync::Arc;

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

    /// The submission of this bundle for a request.
    pub fn submission(self, request: Pending) -> Submission<Ticket> {
        let (writes, form) = match self {
            Bundle::One(write) => (Writes::One(write), Form::One),
            Bundle::Transaction { writes, ids } => (Writes::Whole(writes), Form::Transaction(ids)),
            Bundle::Sequence {
                writes,
                numbers,
                refused,
            } => (Writes::Each(writes), Form::Sequence { numbers, refused }),
        };
        Submission {
            writes,
            ticket: Some(Ticket { request, form }),
        }
    }
}

/// A request whose writes are not executed yet: where its response goes, and parts of it.
pub(crate) struct Pending {
    /// Number of the session.
    pub session: u64,
    pub id: MessageId,
    pub kind: ResultKind,
    pub reply: Reply,
    /// Mailbox of the serving thread.
    pub mailbox: Arc<dyn Mailbox>,
}

impl std::fmt::Debug for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending")
            .field("session", &self.session)
            .field("id", &self.id)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Address of the results of a bundle.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub request: Pending,
    pub form: Form,
}

/// Form of the bundle, by which its results become a response.
#[derive(Debug)]
pub(crate) enum Form {
    One,
    /// Message ids of the updates of a transaction.
    Transaction(Vec<MessageId>),
    /// Numbers of updates of a bulk update, and results of those refused before.
    Sequence {
        numbers: Vec<u32>,
        refused: Vec<(u32, LdapResult)>,
    },
}
