//! What lives between the operations of one connection: who it is, and what it waits for.

use crate::bound::Bound;
use crate::bundle::Submission;
use crate::memory::{Account, Hold};
use crate::operation::bulk_update;
use crate::operation::sasl::Exchange;
use crate::transactions::Transactions;
use policy::{LimitSettings, Limits, Subject, Whose};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;

/// What is known of the other end of a connection.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    /// The client's address; `None` for a Unix domain socket.
    pub address: Option<IpAddr>,
    /// The connection is protected by TLS, or cannot leave the machine by its kind (`ldapi`).
    pub secure: bool,
    /// The user id of the process at the other end of a Unix domain socket.
    pub unix_uid: Option<u32>,
    /// Both ends are on this machine.
    pub local: bool,
    /// Somebody on the way can read what is sent, and passwords may not be sent then.
    pub exposed: bool,
}

/// One connection's state between operations.
#[derive(Debug)]
pub struct Session {
    /// Chosen by the caller; completions carry it.
    pub id: u64,
    pub(crate) peer: Peer,
    pub(crate) subject: Rc<Subject>,
    /// How much the subject may ask for, and by whose limits.
    pub(crate) limits: (Limits, Whose),
    /// The subject's password was reset: it may do nothing but change it.
    pub(crate) must_change: bool,
    /// Writes submitted or held back whose results are not written yet.
    pub(crate) waiting: u32,
    /// A write of this session is being hashed; later ones wait in `held` to keep their order.
    pub(crate) hashing: bool,
    pub(crate) held: Seldom<VecDeque<HeldWrite>>,
    /// Transactions that were started and not ended.
    pub(crate) transactions: Seldom<Transactions>,
    /// Updates of transactions whose old password is being checked.
    pub(crate) checking: u32,
    /// The bulk update that was started and not ended.
    pub(crate) bulk_update: Option<Box<bulk_update::Stream>>,
    /// The account it is bound as; `None` when anonymous.
    pub(crate) bound: Option<Box<Bound>>,
    /// What the connection's input and output take of the server's memory.
    pub(crate) buffers: Hold,
    /// The SASL exchange that the next bind goes on with.
    pub(crate) exchange: Option<Box<Exchange>>,
}

/// A write that waits for an earlier one of its session to be hashed.
#[derive(Debug)]
pub(crate) struct HeldWrite {
    pub submission: Submission,
    /// It has passwords in the clear that must be hashed first.
    pub to_hash: bool,
}

/// What few of very many connections need: a word until it is used.
#[derive(Debug)]
pub(crate) struct Seldom<T>(Option<Box<T>>);

impl<T> Default for Seldom<T> {
    fn default() -> Self {
        Seldom(None)
    }
}

impl<T: Default> Seldom<T> {
    /// What was made.
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// What was made, or is made now.
    pub fn made(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl Session {
    pub(crate) fn new(
        id: u64,
        peer: Peer,
        limits: &LimitSettings,
        memory: &Rc<Account>,
    ) -> Session {
        let subject = Rc::new(Subject::anonymous(peer.address, peer.secure));
        Session {
            id,
            peer,
            subject,
            limits: (limits.anonymous, Whose::Anonymous),
            must_change: false,
            waiting: 0,
            hashing: false,
            held: Seldom::default(),
            transactions: Seldom::default(),
            checking: 0,
            bulk_update: None,
            bound: None,
            exchange: None,
            buffers: Hold::of(memory),
        }
    }

    /// The distinguished name the session is bound as; empty while anonymous.
    pub fn bound_name(&self) -> &str {
        &self.subject.dn
    }

    /// The connection is now protected (after StartTLS). A transaction belongs to one security
    /// context (RFC 5805 §3.5).
    pub fn secured(&mut self) {
        self.forget_transactions();
        self.peer.secure = true;
        self.peer.exposed = false;
        Rc::make_mut(&mut self.subject).secure = true;
    }

    fn forget_transactions(&mut self) {
        if let Some(transactions) = self.transactions.get_mut() {
            transactions.forget();
        }
    }

    /// A request of the bulk update was answered.
    pub(crate) fn bulk_update_answered(&mut self) {
        if let Some(stream) = &mut self.bulk_update {
            stream.finished();
        }
    }

    /// Back to anonymous, as every bind request does first (RFC 4511 §4.2.1); it also aborts all
    /// transactions without notice (RFC 5805 §3.5) and ends a bulk update.
    pub(crate) fn forget_subject(&mut self, limits: &LimitSettings) {
        self.forget_transactions();
        self.bulk_update = None;
        self.subject = Rc::new(Subject::anonymous(self.peer.address, self.peer.secure));
        self.limits = (limits.anonymous, Whose::Anonymous);
        self.must_change = false;
        self.bound = None;
    }

    /// Somebody has authenticated.
    pub(crate) fn become_subject(
        &mut self,
        subject: Subject,
        limits: (Limits, Whose),
        bound: Option<Box<Bound>>,
    ) {
        self.subject = Rc::new(subject);
        self.bound = bound;
        self.limits = limits;
    }
}
