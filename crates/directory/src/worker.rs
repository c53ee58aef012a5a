//! State of one serving thread: its read transaction, its catalog, its mailbox.

mod completion;
mod noted;

use crate::account::bound::{Bound, ENDED};
use crate::account::{policed, subject_limits};
use crate::call::Call;
use crate::completion::{Completion, Mailbox};
use crate::context::Lent;
use crate::directory_state::DirectoryState;
use crate::flow::Flow;
use crate::last_name::LastName;
use crate::monitor::{Counters, Operation};
use crate::operation::follow::{self, Followed, Follower};
use crate::operation::{dynamic, transaction};
use crate::operations_log::OperationsLog;
use crate::peer::Peer;
use crate::search::cursor::Cursor;
use crate::search::resume;
use crate::session::Session;
use crate::{dispatch, freshness, operations_log};
use policy::pressure::Pressure;
use policy::seats::Seats;
use protocol::{LdapResult, Message, MessageId, Request, ResultCode, ResultKind, oid, response};
use replica::failure;
use shadow::Waiting;
use spool::memory::Account;
use state::stop::Stop;
use state::view::{JudgedSubjects, Served};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;
use store::Reader;

/// One for each serving thread. Deliberately not `Send`: nothing in it is shared while it is used.
pub struct Worker {
    shared: Arc<DirectoryState>,
    reader: Reader,
    mailbox: Arc<dyn Mailbox>,
    last_name: RefCell<LastName>,
    scratch: RefCell<Vec<u8>>,
    judged: JudgedSubjects,
    tls: bool,
    /// Requests that are refused, because others wait too long; none at the beginning.
    pub pressure: Pressure,
    counters: Arc<Counters>,
    /// Makes numbers of purses (shares of the thread's time) that clients cannot predict.
    purses: RandomState,
    operations: OperationsLog,
    /// Requests to be judged by a candidate for the access rules.
    waiting: RefCell<Waiting>,
    /// The bound sessions of the thread.
    seats: Rc<Seats>,
    /// Version of the accounts for which sessions in doubt were last asked for.
    looked: u64,
    _not_send: std::marker::PhantomData<Rc<()>>,
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<DirectoryState>,
        reader: Reader,
        mailbox: Arc<dyn Mailbox>,
    ) -> Worker {
        let recording = shared.recording.as_ref();
        let attempts = recording.map(|it| (Arc::clone(&it.attempts), Arc::clone(&shared.clock)));
        Worker {
            counters: shared.monitor.worker(),
            reader,
            mailbox,
            last_name: RefCell::default(),
            scratch: RefCell::default(),
            judged: JudgedSubjects::default(),
            tls: false,
            pressure: Pressure::None,
            purses: RandomState::new(),
            operations: OperationsLog::new(attempts),
            waiting: RefCell::default(),
            seats: Rc::default(),
            looked: shared.feed.accounts.version(),
            shared,
            _not_send: std::marker::PhantomData,
        }
    }

    /// Sets whether StartTLS is offered. Initially it is not.
    pub fn offer_tls(&mut self, offered: bool) {
        self.tls = offered;
    }

    /// Begins a connection. Completions carry the id.
    pub fn open_session(&mut self, id: u64, peer: Peer) -> Session {
        operations_log::connected(id, &peer);
        let memory = Account::new(&self.shared.memory);
        Session::new(id, peer, &self.shared.catalog.load().limits, &memory)
    }

    /// Executes one message and appends the response, or its beginning, to `out`.
    pub fn execute(
        &mut self,
        session: &mut Session,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let mut controls = message.controls.iter();
        if controls.any(|it| freshness::may_wait_for(&self.shared, it.oid)) {
            match self.postpone(session, message) {
                Ok(false) => {}
                Ok(true) => return Flow::Later,
                Err(stop) => return self.refuse(session, message, stop, out),
            }
        }
        let (before, is_logged) = (out.len(), operations_log::is_on());
        let is_bind = matches!(message.request, Request::Bind(_));
        let exchange = session.exchange.as_ref().filter(|_| is_bind);
        let mut exchanged = exchange.and_then(|it| it.user().map(str::to_owned));
        if is_logged {
            self.begin_note(session, message, exchanged.take());
        }
        if !is_bind && self.outlives_account(session) {
            let flow = self.end(out);
            if is_logged {
                self.note(session, message.id, &out[before..], &flow);
            }
            return flow;
        }
        let operation = Operation::of(&message.request);
        self.counters.initiated(operation).add(1);
        let flow = self.with_call(|call| dispatch::dispatch(call, session, message, out));
        let flow = flow.unwrap_or_else(|stop| {
            out.truncate(before);
            refuse(session, message, stop, out);
            self.note_denial(session, message, &out[before..]);
            Flow::Done
        });
        self.ended(operation, &flow);
        match is_logged {
            true => self.note(session, message.id, &out[before..], &flow),
            false if is_bind => {
                self.note_bind(session, message, exchanged, &out[before..], &flow);
            }
            false => {}
        }
        flow
    }

    /// Whether the request has to wait for a newer state.
    #[cold]
    fn postpone(&mut self, session: &mut Session, message: &Message<'_>) -> Result<bool, Stop> {
        // RFC 6171 §3: writes acknowledged before this request must be visible, and the present
        // snapshot may be older.
        self.reader.reset();
        let newest = self.reader.snapshot()?;
        freshness::postpone(&self.shared, &self.mailbox, &newest, session, message)
    }

    /// Answers a request that cannot be executed as its client asks.
    #[cold]
    fn refuse(
        &mut self,
        session: &mut Session,
        message: &Message<'_>,
        stop: Stop,
        out: &mut Vec<u8>,
    ) -> Flow {
        let operation = Operation::of(&message.request);
        self.counters.initiated(operation).add(1);
        refuse(session, message, stop, out);
        self.ended(operation, &Flow::Done);
        Flow::Done
    }

    /// Whether the session's account has changed, so that the connection must end.
    #[inline]
    fn outlives_account(&mut self, session: &mut Session) -> bool {
        let version = self.shared.feed.accounts.version();
        let bound = session.bound.as_deref();
        bound.is_some_and(|it| it.is_doubtful(version)) && !self.judge(session, version)
    }

    /// Judges the account of a session again, and its limits, unless nothing concerned it.
    #[cold]
    fn judge(&mut self, session: &mut Session, version: u64) -> bool {
        let Some(mut bound) = session.bound.take() else {
            return true;
        };
        let due = bound.is_due(self.shared.clock.now_us());
        let spared = !due && bound.is_spared(&self.shared.feed.accounts, version);
        let holds = spared || self.judge_anew(session, &mut bound, version);
        session.bound = Some(bound);
        holds
    }

    fn judge_anew(&mut self, session: &mut Session, bound: &mut Bound, version: u64) -> bool {
        self.reader.reset();
        let holds = self.with_call(|call| {
            let context = call.context(&session.subject);
            let holds = bound.holds(&context, &call.shared.feed, version)?;
            if holds && !call.catalog.limits.rules.is_empty() {
                session.limits = subject_limits::of(call, &session.subject)?;
            }
            Ok(holds)
        });
        holds.unwrap_or_else(|stop| {
            // The failure is logged there.
            failure::result_of(stop);
            false
        })
    }

    /// The sessions whose account was changed since the last call, or whose time has come.
    pub fn sessions_in_doubt(&mut self) -> BTreeSet<u64> {
        let (doubts, since) = (&self.shared.feed.accounts, self.looked);
        self.looked = doubts.version();
        let now_s = self.shared.clock.now_us() / 1_000_000;
        self.seats.in_doubt(doubts, since, now_s)
    }

    /// Seconds until the time of a session comes; `None` if there is none.
    pub fn doubts_in_s(&self) -> Option<u64> {
        let now_s = self.shared.clock.now_us() / 1_000_000;
        let first_s = self.seats.first_end_s();
        first_s.map(|it| it.saturating_sub(now_s))
    }

    /// Judges the account of a session that is in doubt; appends the notice if it must end.
    pub fn still_holds(&mut self, session: &mut Session, out: &mut Vec<u8>) -> bool {
        let version = self.shared.feed.accounts.version();
        let holds = self.judge(session, version);
        if !holds {
            self.end(out);
        }
        holds
    }

    /// Writes the notice that the connection ends because of its account.
    #[cold]
    fn end(&self, out: &mut Vec<u8>) -> Flow {
        let result = LdapResult::new(ResultCode::STRONGER_AUTH_REQUIRED, ENDED);
        response::write_notice_of_disconnection(out, &result);
        Flow::Close
    }

    /// Counts the operation as completed unless it continues. A following search counts as
    /// completed, because its beginning was answered.
    #[inline]
    fn ended(&self, operation: Operation, flow: &Flow) {
        if !matches!(flow, Flow::Waiting | Flow::Later | Flow::More(_)) {
            self.counters.completed(operation).add(1);
        }
    }

    /// Counts a completion whose connection was closed.
    pub fn lost(&mut self, completion: &Completion) {
        if let Some(operation) = Operation::completed_by(completion) {
            self.counters.completed(operation).add(1);
        }
    }

    /// The client sends nothing more, which is how a server learns of a closed connection: drops
    /// its binds and compares that wait for a password check.
    pub fn heard_all(&mut self, session: &Session) {
        let lane = session.peer.lane();
        let hashes = &self.shared.hashes;
        hashes.forget_checks(&self.mailbox, session.id, lane);
    }

    /// The server stops: drops waiting password checks and hashes.
    pub fn stop(&mut self) {
        self.shared.hashes.stop();
    }

    /// The connection is closed: drops its work that waits for a hash.
    pub fn forget(&mut self, session: &mut Session) {
        self.operations.disconnected(session.id);
        let lane = session.peer.lane();
        self.shared.hashes.forget(&self.mailbox, session.id, lane);
        let held = session.held.get_mut().map(std::mem::take);
        for held in held.unwrap_or_default() {
            let operation = Operation::answered_by(held.request.kind);
            self.counters.completed(operation).add(1);
        }
    }

    /// Counts a search whose rest is not wanted. Its cursor holds nothing that must be released.
    pub fn abandon(&mut self, session: &Session, cursor: Box<Cursor>) {
        self.operations.heard(session.id, cursor.id, &[], true);
        drop(cursor);
        self.counters.completed(Operation::Search).add(1);
    }

    /// Counts received and sent bytes.
    #[inline]
    pub fn moved(&mut self, received: usize, sent: usize) {
        self.counters.bytes_received.add(received as u64);
        self.counters.bytes_sent.add(sent as u64);
    }

    /// Records that the connection refused a request before executing it, and appends the
    /// consequences for a transaction it belongs to to `out`. `message` is the whole message, which
    /// may be malformed.
    pub fn refused(
        &mut self,
        session: &mut Session,
        message: &[u8],
        why: &LdapResult,
        out: &mut Vec<u8>,
    ) {
        self.counters.refused.add(1);
        self.operations.refused(session, message, why.code);
        match protocol::decode_controls_of(message) {
            Some(controls) => transaction::refused(session, &controls, why, out),
            // The request may have belonged to any transaction.
            None => {
                if let Some(transactions) = session.transactions.get_mut() {
                    transactions.abort_all(why, out);
                }
            }
        }
    }

    /// Runs the next slice of a parked search on a new snapshot.
    pub fn resume(
        &mut self,
        session: &mut Session,
        cursor: Box<Cursor>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let (id, before) = (cursor.id, out.len());
        self.operations.goes_on();
        let flow = self.resume_quietly(session, cursor, out);
        self.note(session, id, &out[before..], &flow);
        flow
    }

    #[inline]
    fn resume_quietly(
        &mut self,
        session: &mut Session,
        cursor: Box<Cursor>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let (before, id) = (out.len(), cursor.id);
        let inside = cursor.is_inside_message();
        if self.outlives_account(session) {
            self.abandon(session, cursor);
            return match inside {
                true => Flow::Close,
                false => self.end(out),
            };
        }
        self.reader.reset();
        let flow = self.with_call(|call| resume::resume(call, session, cursor, out));
        let flow = flow.unwrap_or_else(|stop| {
            out.truncate(before);
            let result = failure::result_of(stop);
            if inside {
                // A result inside a message would become part of that message.
                return Flow::Close;
            }
            response::write_result(out, id, ResultKind::SearchDone, &result, &[]);
            Flow::Done
        });
        self.ended(Operation::Search, &flow);
        flow
    }

    /// Runs the next slice of a search that follows the directory, on a new snapshot.
    pub fn follow(
        &mut self,
        session: &mut Session,
        follower: &mut Follower,
        out: &mut Vec<u8>,
    ) -> Followed {
        let (before, sent) = (out.len(), follower.sent());
        let inside = follower.is_inside_message();
        if self.outlives_account(session) {
            if !inside {
                self.end(out);
            }
            return Followed::Broken;
        }
        // First, so that a commit after the new snapshot calls the follower again.
        follower.looks();
        self.reader.reset();
        let followed = self.with_call(|call| follow::follow(call, session, follower, out));
        self.counters.entries.add(follower.sent() - sent);
        followed.unwrap_or_else(|stop| {
            out.truncate(before);
            if inside {
                // A result inside a message would become part of that message.
                return Followed::Broken;
            }
            let id = follower.message_id();
            response::write_result(
                out,
                id,
                ResultKind::SearchDone,
                &failure::result_of(stop),
                &[],
            );
            Followed::Ended
        })
    }

    /// Ends a parked search that the client cancelled (RFC 3909): the search is answered with
    /// `canceled`, the cancel operation with success.
    pub fn cancel(
        &mut self,
        session: &Session,
        cursor: Box<Cursor>,
        cancel_id: MessageId,
        out: &mut Vec<u8>,
    ) {
        let canceled = LdapResult::new(ResultCode::CANCELED, "");
        response::write_result(out, cursor.id, ResultKind::SearchDone, &canceled, &[]);
        self.abandon(session, cursor);
        let done = LdapResult::success();
        response::write_result(out, cancel_id, ResultKind::Extended, &done, &[]);
    }

    /// Releases the snapshot: before the thread waits for clients, and before it executes requests
    /// that came meanwhile.
    pub fn release_snapshot(&mut self) {
        if !self.waiting.get_mut().is_empty() {
            self.judge_waiting();
        }
        self.reader.reset();
    }

    /// Judges answered requests by the candidate for the access rules, in the state in which they
    /// were executed.
    #[cold]
    fn judge_waiting(&mut self) {
        let (kept, mut left_out) = self.waiting.get_mut().take();
        let judged = self.with_call(|call| {
            let Some(candidate) = &call.catalog.candidate else {
                return Ok(());
            };
            let began_us = call.lent.steady_us();
            for it in &kept {
                let view = call.context(&it.subject);
                let differences = &call.shared.monitor.differences;
                shadow::judge(&view, candidate, it, left_out, differences);
                left_out = 0;
            }
            let ended_us = call.lent.steady_us();
            let mut waiting = call.waiting.borrow_mut();
            waiting.judged(candidate, began_us, ended_us);
            Ok(())
        });
        // A failure to read is logged there.
        if let Err(stop) = judged {
            failure::result_of(stop);
        }
    }

    /// The purse that the session's work counts to, as a number.
    pub fn purse(&self, session: &Session) -> u64 {
        self.purses.hash_one(session.subject.purse())
    }

    /// Runs `body` with a snapshot and the catalog that was published for it.
    fn with_call<T>(&mut self, body: impl FnOnce(&Call<'_>) -> Result<T, Stop>) -> Result<T, Stop> {
        // The snapshot is taken first: a catalog is published before the commit that needs it, so
        // one loaded afterwards knows every attribute in the snapshot.
        let mut version = self.reader.snapshot()?.version();
        let catalog = self.shared.catalog.load();
        if version < catalog.least_version {
            self.reader.refresh()?;
            version = catalog.least_version;
        }
        let snapshot = self.reader.snapshot()?;
        debug_assert!(
            snapshot.version() >= version,
            "a newer snapshot was just taken"
        );
        let call = Call {
            snapshot: &snapshot,
            catalog: &catalog,
            verified: &self.shared.verified,
            cookie_key: &self.shared.cookie_key,
            tls: self.tls,
            last_name: &self.last_name,
            scratch: &self.scratch,
            lent: Lent {
                clock: &*self.shared.clock,
                counters: &self.counters,
                spools: &self.shared.spools,
                judged: &self.judged,
            },
            shared: &self.shared,
            mailbox: &self.mailbox,
            hashes: &self.shared.hashes,
            operations: &self.operations,
            waiting: &self.waiting,
            seats: &self.seats,
        };
        body(&call)
    }
}

/// Answers a request that was refused or that failed.
fn refuse(session: &mut Session, message: &Message<'_>, stop: Stop, out: &mut Vec<u8>) {
    let Some(kind) = ResultKind::of(message.request.tag()) else {
        return;
    };
    let policy = policed::refused(&message.controls, stop.password_policy());
    let result = failure::result_of(stop);
    match &message.request {
        Request::Extended(it) if it.name == oid::REFRESH => {
            dynamic::write_refused(out, message.id, &result);
        }
        _ => response::write_result(out, message.id, kind, &result, policy.as_slice()),
    }
    transaction::refused(session, &message.controls, &result, out);
}
