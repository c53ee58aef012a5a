//! Results of executing a message, and the return of finished work to a serving thread.

use crate::account::policed::Verdict;
use crate::bundle::Bundle;
use crate::operation::bind::Asked;
use crate::operation::compare::Compared;
use crate::operation::follow::Follower;
use crate::search::cursor::Cursor;
use protocol::{LdapResult, MessageId, OwnedControl, ResultKind};
use state::execute::Outcome;
use state::stop::Stop;
use state::write::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The next step of the caller after `Worker::execute`, `resume` or `complete`.
#[derive(Debug)]
pub enum Flow {
    /// The complete response is in the output.
    Done,
    /// A completion for this session will be delivered to the mailbox.
    Waiting,
    /// A search continues: call `Worker::resume` when the client can take more.
    More(Box<Cursor>),
    /// A following search has begun: call `Worker::follow` now, and whenever news for its message
    /// id is delivered.
    Follow(Box<Follower>),
    /// Flush the output, then close the connection.
    Close,
    /// The response is in the output: flush it, then begin the TLS handshake.
    StartTls,
}

/// Returns finished work to a serving thread. Called by the writer and hashing threads.
pub trait Mailbox: Send + Sync {
    /// Keeps the completions and wakes the serving thread once. Must not block.
    fn deliver(&self, completions: Vec<Completion>);

    /// Wakes a waiting serving thread to call [`crate::Worker::sleep`] again, because it holds a
    /// snapshot that others need released. Must not block.
    fn wake(&self) {}
}

/// The mailboxes of all serving threads.
#[derive(Default)]
pub(crate) struct Mailboxes(Mutex<Vec<Weak<dyn Mailbox>>>);

impl Mailboxes {
    pub fn add(&self, mailbox: &Arc<dyn Mailbox>) {
        self.lock().push(Arc::downgrade(mailbox));
    }

    /// Wakes all serving threads that still exist.
    pub fn wake(&self) {
        let mut all = self.lock();
        all.retain(|it| it.strong_count() > 0);
        all.iter()
            .filter_map(Weak::upgrade)
            .for_each(|it| it.wake());
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
    /// A commit happened that a search of the session follows.
    News,
    /// A transaction was committed or refused.
    Transaction(Box<Settled>),
    /// The updates of one bulk update request were executed: numbers and results of the failed
    /// ones.
    Sequence(Vec<(u32, LdapResult)>),
    /// A password was verified, or found wrong.
    Password(PasswordChecked),
    /// The passwords of a bundle were hashed: it may be submitted.
    Hashed {
        kind: ResultKind,
        bundle: Box<Bundle>,
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

/// Parts of the response besides the result.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// Value of an extended response after success.
    pub value: Option<Vec<u8>>,
    /// Value of an extended response after a refusal.
    pub refused: Option<Vec<u8>>,
    /// Name of an extended response.
    pub name: Option<&'static str>,
    /// Whether the client sent the password policy control.
    pub policy: bool,
    /// Whether the client asked for the position of its write.
    pub position: bool,
    /// Response controls after success.
    pub done: Vec<OwnedControl>,
}

/// Result of a slow password check.
#[derive(Debug)]
pub(crate) struct PasswordChecked {
    /// Id of the entry that holds the password.
    pub entry: u64,
    pub purpose: CheckPurpose,
    /// The stored value that the password matches; `None` if the password is wrong.
    pub matched: Option<Vec<u8>>,
}

/// The operation for which a password is checked.
#[derive(Debug)]
pub(crate) enum CheckPurpose {
    /// A bind: its subject, and the controls of the client.
    Bind {
        subject: Box<policy::Subject>,
        asked: Asked,
        guess: policy::Tag,
    },
    /// A bind that is already refused with this verdict: the check only takes its time.
    Refused(Box<Verdict>),
    /// A compare on a password attribute.
    Compare(Box<Compared>),
    /// Password Modify with an old password.
    Change(Box<PasswordChange>),
}

/// State of a Password Modify during its slow check.
#[derive(Debug)]
pub(crate) struct PasswordChange {
    pub write: Write,
    pub reply: Reply,
    /// Identifier of its transaction, if it is part of one.
    pub transaction: Option<Box<[u8]>>,
}
