//! The address to which the results of the writes of a request go; the writer carries it.

use crate::completion::Mailbox;
use crate::reply::Reply;
use crate::request_writes::RequestWrites;
use protocol::{LdapResult, MessageId, ResultKind};
use replica::{Submission, Writes};
use std::sync::Arc;

impl RequestWrites {
    /// The submission of the writes.
    pub fn submission(self, request: Pending) -> Submission<Ticket> {
        let (writes, form) = match self {
            RequestWrites::One(write) => (Writes::One(write), Form::One),
            RequestWrites::Transaction { writes, ids } => {
                (Writes::Whole(writes), Form::Transaction(ids))
            }
            RequestWrites::Sequence {
                writes,
                numbers,
                refused,
            } => (Writes::Each(writes), Form::Sequence { numbers, refused }),
        };
        Submission {
            writes,
            client: request.session,
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

/// Address of the results of the writes of a request.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub request: Pending,
    pub form: Form,
}

/// Form of the request, by which its results become a response.
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
