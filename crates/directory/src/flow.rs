//! What happens next on a connection after a message was executed, and how finished work returns.

use crate::bundle::Bundle;
use crate::cursor::Cursor;
use crate::operation::bind::Asked;
use crate::operation::compare::Compared;
use crate::operation::follow::Follower;
use crate::operation::policed::Verdict;
use protocol::{LdapResult, MessageId, OwnedControl, ResultKind};
use state::execute::Outcome;
use state::stop::Stop;
use state::write::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What the caller must do after `Worker::execute`, `resume` or `complete`.
#[derive(Debug)]
pub enum Flow {
    /// Everything there is to say is in the output.
    Done,
    /// A completion for this session will come to the mailbox.
    Waiting,
    /// A search has more to say: call `Worker::resume` when the client can take more.
    More(Box<Cursor>),
    /// A search that follows the directory has begun: call `Worker::follow` now and whenever
    /// news for its message id came.
    Follow(Box<Follower>),
    /// Flush the output, then close the connection.
    Close,
    /// The answer is in the output: flush it, then begin the TLS handshake.
    StartTls,
}

/// Takes finished work back to a serving thread. Called from the writer and hashing threads.
pub trait Mailbox: Send + Sync {
    /// Keeps the completions and wakes the serving thread once. Must not block.
    fn deliver(&self, completions: Vec<Completion>);

    /// Wakes the serving thread, should it wait: nothing has come for it, but it is to call
    /// [`crate::Worker::sleep`] again, since it holds what others want to be free. Must not block.
    fn wake(&self) {}
}

/// The mailboxes of all serving threads.
#[derive(Default)]
pub(crate) struct Mailboxes(Mutex<Vec<Weak<dyn Mailbox>>>);

impl Mailboxes {
    pub fn add(&self, mailbox: &Arc<dyn Mailbox>) {
        self.lock().push(Arc::downgrade(mailbox));
    }

    /// Wakes those there are still.
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

/// The end of a write or of a slow password check, on its way back to the session that asked.
#[derive(Debug)]
pub struct Completion {
    /// The session it belongs to.
    pub session: u64,
    pub(crate) id: MessageId,
    pub(crate) what: Finished,
}

impl Completion {
    /// The search that has news to tell; `None` for the end of an operation.
    pub fn news(&self) -> Option<MessageId> {
        matches!(self.what, Finished::News).then_some(self.id)
    }
}

/// What has finished.
#[derive(Debug)]
pub(crate) enum Finished {
    /// A write stands (or was refused).
    Write {
        kind: ResultKind,
        outcome: Outcome,
        reply: Reply,
    },
    /// Something was committed that a search of the session follows.
    News,
    /// A transaction was committed or refused.
    Transaction(Box<Settled>),
    /// The updates of one bulk update request were executed: the numbers and results of those that
    /// failed.
    Sequence(Vec<(u32, LdapResult)>),
    /// A password was checked.
    Password(PasswordChecked),
    /// The passwords of a bundle were hashed: it may now be submitted.
    Hashed {
        kind: ResultKind,
        bundle: Box<Bundle>,
        reply: Reply,
    },
    /// A password was not checked: too much waits, or the client or the server goes.
    NotChecked { purpose: CheckPurpose, stop: Stop },
    /// The client abandoned an operation whose password waited to be checked or hashed.
    Abandoned { kind: ResultKind },
    /// Hashing failed, or the password policy is against it.
    NotHashed {
        kind: ResultKind,
        /// It was a request of a bulk update.
        of_stream: bool,
        stop: Stop,
        reply: Reply,
    },
}

/// How a transaction ended (RFC 5805 §3.4).
#[derive(Debug)]
pub(crate) struct Settled {
    pub result: LdapResult,
    /// The message id of the update that was refused, if one was.
    pub failed: Option<MessageId>,
    /// The response controls of the updates.
    pub controls: Vec<(MessageId, Vec<OwnedControl>)>,
    /// Those of the end itself.
    pub own: Vec<OwnedControl>,
}

/// What goes into the response beside the result.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// The value of an extended response after success.
    pub value: Option<Vec<u8>>,
    /// The same after a refusal.
    pub refused: Option<Vec<u8>>,
    /// The name of an extended response.
    pub name: Option<&'static str>,
    /// The client asked what the password policy says.
    pub policy: bool,
    /// The client asked where in the order of writes its own stands.
    pub position: bool,
    /// What comes with success.
    pub done: Vec<OwnedControl>,
}

/// The end of a slow password check.
#[derive(Debug)]
pub(crate) struct PasswordChecked {
    /// The entry that keeps it.
    pub entry: u64,
    pub purpose: CheckPurpose,
    /// The stored value whose password it is; `None` when it is wrong.
    pub matched: Option<Vec<u8>>,
}

/// Why a password was checked.
#[derive(Debug)]
pub(crate) enum CheckPurpose {
    /// A bind: the subject to become, and what the client wants to be told.
    Bind {
        subject: Box<policy::Subject>,
        asked: Asked,
        guess: policy::Tag,
    },
    /// A bind that is refused already, with this verdict: any password takes the time of a check.
    Refused(Box<Verdict>),
    /// A compare on a password attribute.
    Compare(Box<Compared>),
    /// Password Modify with an old password.
    Change(Box<PasswordChange>),
}

/// What a Password Modify goes on with.
#[derive(Debug)]
pub(crate) struct PasswordChange {
    pub write: Write,
    pub reply: Reply,
    /// The transaction it is part of.
    pub transaction: Option<Box<[u8]>>,
}
