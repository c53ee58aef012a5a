//! State of a connection between operations: its subject, and its unfinished operations.

use crate::account::bound::Bound;
use crate::account::exchange::Exchange;
use crate::arrival::Arrival;
use crate::peer::{ClientCertificate, Peer};
use crate::request_writes::RequestWrites;
use crate::ticket::Pending;
use policy::{LimitSettings, Subject, SubjectLimits};
use protocol::{LdapResult, Request, oid};
use replica::failure;
use sasl::ChannelBindings;
use spool::bulk_stream::BulkStream;
use spool::memory::{Account, Hold};
use spool::transactions::Transactions;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// State of one connection between operations.
#[derive(Debug)]
pub struct Session {
    /// Number chosen by the caller; completions carry it.
    pub id: u64,
    pub(crate) peer: Peer,
    pub(crate) subject: Rc<Subject>,
    pub(crate) limits: SubjectLimits,
    /// Whether the last bind succeeded, also one of nobody.
    pub(crate) has_bound: bool,
    /// Whether the last bind was one of SASL.
    pub(crate) by_sasl: bool,
    /// Whether the subject's password was reset, so that only changing it is allowed.
    pub(crate) must_change: bool,
    /// Number of writes submitted or held back whose results are not written yet.
    pub(crate) waiting: u32,
    /// Whether a write of this session is being hashed, or may have to be decided again; later
    /// writes wait in `held` to keep their order.
    pub(crate) hashing: bool,
    /// How often the request that is executed now was decided before.
    pub(crate) tries: u8,
    pub(crate) held: Seldom<VecDeque<HeldWrite>>,
    /// Transactions that were started and not ended.
    pub(crate) transactions: Seldom<Transactions>,
    /// Number of transaction updates whose old password is being checked: no more than checks may
    /// wait.
    pub(crate) checking: u16,
    /// The bulk update stream that was started and not ended.
    pub(crate) bulk_update: Option<Box<BulkStream>>,
    /// The account of the subject; `None` if it has none.
    pub(crate) bound: Option<Box<Bound>>,
    /// Memory of the connection's input and output buffers.
    pub(crate) buffers: Hold,
    /// The SASL exchange that the next bind continues.
    pub(crate) exchange: Option<Box<Exchange>>,
    /// The end of the wait of the request that is executed next.
    pub(crate) arrival: Option<Box<Arrival>>,
    /// When the request that is executed next was read; `None` if operations are not logged.
    pub(crate) received: Option<Instant>,
}

/// A write that waits until an earlier one of its session is hashed.
#[derive(Debug)]
pub(crate) struct HeldWrite {
    pub writes: Box<RequestWrites>,
    pub request: Pending,
    /// Whether it has clear-text passwords to hash.
    pub to_hash: bool,
}

/// A value that few connections need: takes one word until it is used.
#[derive(Debug)]
pub(crate) struct Seldom<T>(Option<Box<T>>);

impl<T> Default for Seldom<T> {
    fn default() -> Self {
        Seldom(None)
    }
}

impl<T: Default> Seldom<T> {
    /// The value; `None` if it was not made yet.
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The value, mutable; `None` if it was not made yet.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }

    /// The value, made now if necessary.
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
            limits: limits.of_anonymous(),
            has_bound: false,
            by_sasl: false,
            must_change: false,
            waiting: 0,
            hashing: false,
            tries: 0,
            held: Seldom::default(),
            transactions: Seldom::default(),
            checking: 0,
            bulk_update: None,
            bound: None,
            exchange: None,
            arrival: None,
            received: None,
            buffers: Hold::of(memory),
        }
    }

    /// The DN that the session is bound as; empty while anonymous.
    pub fn bound_name(&self) -> &str {
        &self.subject.dn
    }

    /// The client's address; `None` for a Unix socket.
    pub fn address(&self) -> Option<IpAddr> {
        self.peer.address
    }

    /// The identity that asks.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Whether nobody has authenticated.
    pub fn is_anonymous(&self) -> bool {
        self.subject.dn.is_empty()
    }

    /// Sets when the request that is executed next was read, for the operations log; returns the
    /// time that was set before.
    #[inline]
    pub fn set_received(&mut self, received: Option<Instant>) -> Option<Instant> {
        std::mem::replace(&mut self.received, received)
    }

    /// When the request that is executed next was read; `None` if operations are not logged.
    #[inline]
    pub fn received(&self) -> Option<Instant> {
        self.received
    }

    /// Counts the bytes in the connection's input and output buffers.
    ///
    /// # Errors
    /// The result with which to close the connection, if they exceed the limit.
    pub fn count_buffers(&mut self, bytes: usize) -> Result<(), LdapResult> {
        let counted = self.buffers.set(bytes as u64);
        counted.map_err(failure::result_of)
    }

    /// Whether bytes of the connection's buffers are counted.
    pub fn is_counted(&self) -> bool {
        !self.buffers.is_empty()
    }

    /// Counts at least so many bytes in the connection's buffers, for a request that will wait.
    ///
    /// # Errors
    /// The refusal of the request, if they exceed the limit.
    pub fn require_room(&mut self, bytes: usize) -> Result<(), LdapResult> {
        let counted = self.buffers.grow(bytes as u64);
        counted.map_err(failure::result_of)
    }

    /// Maximum number of waiting operations, beyond which requests are answered `busy`; 0 for no
    /// limit.
    pub fn pending_operations_max(&self) -> u32 {
        self.limits.pending_operations_max
    }

    /// Whether a request may be executed while earlier writes of the session wait for their place
    /// in the order. Writes may: they are executed in the order of submission. Other requests wait,
    /// so that a client reads its own writes.
    pub fn may_overlap(&self, request: &Request<'_>) -> bool {
        match request {
            Request::Add(_) | Request::Modify(_) | Request::Delete(_) | Request::ModifyDn(_) => {
                true
            }
            // The operation to abandon may be a waiting one.
            Request::Abandon(_) => true,
            // An update whose old password is being checked has its place in a transaction.
            Request::Extended(it) if self.checking == 0 => match it.name {
                oid::BULK_UPDATE => self.bulk_update.as_ref().is_none_or(|it| it.has_room()),
                // Their responses never depend on writes that still wait.
                name => matches!(
                    name,
                    oid::START_TRANSACTION | oid::END_TRANSACTION | oid::REFRESH
                ),
            },
            _ => false,
        }
    }

    /// Sets whether the administrator may bind on this connection, by where its client is.
    pub fn admit_administrator(&mut self, admits: impl Fn(&Peer) -> bool) {
        self.peer.bars_administrator = !admits(&self.peer);
    }

    /// Marks the connection as protected, after StartTLS. Ends its transactions: each belongs to
    /// one security context (RFC 5805 §3.5).
    pub fn secured(&mut self) {
        self.forget_transactions();
        self.peer.secure = true;
        self.peer.exposed = false;
        Rc::make_mut(&mut self.subject).secure = true;
    }

    /// Sets the bindings to the TLS channel, whose handshake is finished.
    pub fn bind_channel(&mut self, bindings: ChannelBindings) {
        self.peer.bindings = Some(Box::new(bindings));
    }

    /// Records the certificate that the client has shown in its TLS handshake.
    pub fn identified(&mut self, certificate: Arc<ClientCertificate>) {
        self.peer.certificate = Some(certificate);
    }

    fn forget_transactions(&mut self) {
        if let Some(transactions) = self.transactions.get_mut() {
            transactions.forget();
        }
    }

    /// Counts a request of the bulk update as answered.
    pub(crate) fn bulk_update_answered(&mut self) {
        if let Some(stream) = &mut self.bulk_update {
            stream.finished();
        }
    }

    /// Makes the session anonymous, as every bind request does first (RFC 4511 §4.2.1). Also aborts
    /// all transactions without notice (RFC 5805 §3.5) and ends a bulk update.
    pub(crate) fn forget_subject(&mut self, limits: &LimitSettings) {
        self.forget_transactions();
        self.bulk_update = None;
        self.subject = Rc::new(Subject::anonymous(self.peer.address, self.peer.secure));
        self.limits = limits.of_anonymous();
        self.must_change = false;
        self.has_bound = false;
        self.bound = None;
    }

    /// Sets the subject after a successful bind.
    pub(crate) fn become_subject(
        &mut self,
        subject: Subject,
        limits: SubjectLimits,
        bound: Option<Box<Bound>>,
    ) {
        self.subject = Rc::new(subject);
        self.has_bound = true;
        self.bound = bound;
        self.limits = limits;
    }
}
