//! Work that has finished, on its way back to a serving thread.

use crate::account::check::{CheckPurpose, PasswordChecked};
use crate::arrival::Arrival;
use crate::reply::Reply;
use crate::request_writes::RequestWrites;
use protocol::{LdapResult, MessageId, OwnedControl, ResultCode, ResultKind};
use state::execute::Outcome;
use state::stop::Stop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Returns finished work to a serving thread. Called by the writer and hashing threads.
pub trait Mailbox: Send + Sync {
    /// Keeps the completions and wakes the serving thread once. Must not block.
    fn deliver(&self, completions: Vec<Completion>);

    /// Wakes a waiting serving thread to call [`crate::Worker::release_snapshot`] again, because it
    /// holds a snapshot that others need released. Must not block.
    fn wake(&self) {}

    /// Wakes a waiting serving thread to call [`crate::Worker::sessions_in_doubt`], because
    /// accounts have changed. Must not block.
    fn doubt(&self) {}
}

/// The mailboxes of all serving threads.
#[derive(Default)]
pub(crate) struct Mailboxes(Mutex<Vec<Weak<dyn Mailbox>>>);

impl Mailboxes {
    pub fn add(&self, mailbox: &Arc<dyn Mailbox>) {
        self.lock().push(Arc::downgrade(mailbox));
    }

    /// Calls all serving threads that still exist.
    pub fn each(&self, call: impl Fn(&dyn Mailbox)) {
        let mut all = self.lock();
        all.retain(|it| it.strong_count() > 0);
        let there = all.iter().filter_map(Weak::upgrade);
        there.for_each(|it| call(&*it));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn Mailbox>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a write or a slow password check, on its way back to its session.
#[derive(Debug)]
pub struct Completion {
    /// Number of the session.
    pub session: u64,
    pub(crate) id: MessageId,
    pub(crate) what: Finished,
}

impl Completion {
    /// Message id of the operation that ended, or of the search that has news.
    pub fn message_id(&self) -> MessageId {
        self.id
    }

    /// Message id of the search that has news; `None` for the end of an operation.
    pub fn news(&self) -> Option<MessageId> {
        matches!(self.what, Finished::News).then_some(self.id)
    }
}

/// The kind of work that has finished.
#[derive(Debug)]
pub(crate) enum Finished {
    /// A write was committed or refused.
    Write {
        kind: ResultKind,
        outcome: Outcome,
        reply: Reply,
    },
    /// Whether a write was or will be executed stays unknown to this process.
    Undecided { kind: ResultKind, reason: String },
    /// A commit happened that a search of the session follows.
    News,
    /// A request need not wait any longer: it is to be executed again.
    Arrived(Box<Arrival>),
    /// A transaction was committed or refused.
    Transaction(Box<Settled>),
    /// The updates of one bulk update request were executed: numbers and results of the failed
    /// ones.
    Sequence(Vec<(u32, LdapResult)>),
    /// A password was verified, or found wrong.
    Password(PasswordChecked),
    /// The passwords in writes were hashed: they may be submitted.
    Hashed {
        kind: ResultKind,
        writes: Box<RequestWrites>,
        reply: Reply,
    },
    /// A password was not checked: too many jobs wait, or the client or the server stops.
    NotChecked { purpose: CheckPurpose, stop: Stop },
    /// The client abandoned an operation that waited for a hashing thread.
    Abandoned { kind: ResultKind },
    /// Hashing failed, or the password policy forbids the password.
    NotHashed {
        kind: ResultKind,
        /// Whether it was a request of a bulk update.
        of_stream: bool,
        stop: Stop,
        reply: Reply,
    },
}

impl Finished {
    /// Response controls of the end of a successful write or transaction; `None` for anything else.
    pub fn controls_after_success(&mut self) -> Option<&mut Vec<OwnedControl>> {
        let (result, controls) = match self {
            Finished::Write { outcome, .. } => (&outcome.result, &mut outcome.controls),
            Finished::Transaction(settled) => (&settled.result, &mut settled.own),
            _ => return None,
        };
        (result.code == ResultCode::SUCCESS).then_some(controls)
    }
}

/// How a transaction ended (RFC 5805 §3.4).
#[derive(Debug)]
pub(crate) struct Settled {
    pub result: LdapResult,
    /// Message id of the refused update; `None` if none was refused.
    pub failed: Option<MessageId>,
    /// The response controls of the updates.
    pub controls: Vec<(MessageId, Vec<OwnedControl>)>,
    /// Response controls of the end itself.
    pub own: Vec<OwnedControl>,
}
