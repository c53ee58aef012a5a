//! What one serving thread owns: its read transaction, its view of the rules, its mailbox.

use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::context::Context;
use crate::cursor::Cursor;
use crate::dispatch;
use crate::feed::Listener;
use crate::flow::{
    CheckPurpose, Completion, Finished, Flow, Mailbox, Outcome, PasswordChange, PasswordChecked,
    Reply,
};
use crate::hashing::{HashPool, Task, Work, has_clear_passwords};
use crate::monitor::{Counters, Operation};
use crate::open::Shared;
use crate::operation::follow::{Followed, Follower};
use crate::operation::last_name::LastName;
use crate::operation::{bind, bulk_update, compare, dynamic, extended, policed, transaction};
use crate::paging::CookieKey;
use crate::session::{HeldWrite, Peer, Session};
use crate::stop::Stop;
use crate::write::{Bundle, Submission};
use policy::{Subject, VerifiedCache};
use protocol::{LdapResult, Message, MessageId, Request, ResultCode, ResultKind, oid, response};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use store::{EntryId, Reader, Snapshot};

/// One per serving thread. Not `Send` on purpose: nothing here is shared while it is used.
pub struct Worker {
    shared: Arc<Shared>,
    reader: Reader,
    mailbox: Arc<dyn Mailbox>,
    last_name: RefCell<LastName>,
    tls: bool,
    counters: Arc<Counters>,
    _not_send: std::marker::PhantomData<Rc<()>>,
}

/// What one operation works with.
pub(crate) struct Parts<'p> {
    pub snapshot: &'p Snapshot<'p>,
    pub catalog: &'p Catalog,
    pub clock: &'p dyn Clock,
    pub verified: &'p VerifiedCache,
    pub cookie_key: &'p CookieKey,
    pub tls: bool,
    pub last_name: &'p RefCell<LastName>,
    pub counters: &'p Counters,
    pub shared: &'p Shared,
    mailbox: &'p Arc<dyn Mailbox>,
    hashes: &'p HashPool,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, reader: Reader, mailbox: Arc<dyn Mailbox>) -> Worker {
        Worker {
            counters: shared.monitor.worker(),
            shared,
            reader,
            mailbox,
            last_name: RefCell::default(),
            tls: false,
            _not_send: std::marker::PhantomData,
        }
    }

    /// Whether StartTLS is offered. Off until called.
    pub fn offer_tls(&mut self, offered: bool) {
        self.tls = offered;
    }

    /// A new connection. The id comes back with every completion.
    pub fn open_session(&mut self, id: u64, peer: Peer) -> Session {
        Session::new(id, peer, &self.shared.catalog.load().limits)
    }

    /// Executes one message; the answer, or its beginning, is appended to `out`.
    pub fn execute(
        &mut self,
        session: &mut Session,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let before = out.len();
        let operation = Operation::of(&message.request);
        self.counters.initiated(operation).add(1);
        let mut controls = message.controls.iter();
        if controls.any(|it| matches!(it.oid, oid::DONT_USE_COPY | oid::POSITION)) {
            // RFC 6171 §3: what was acknowledged before this request came must be seen, and the
            // snapshot may be older than that.
            self.reader.reset();
        }
        let flow = self.with_parts(|parts| dispatch::dispatch(parts, session, message, out));
        let flow = flow.unwrap_or_else(|stop| {
            out.truncate(before);
            if let Some(kind) = ResultKind::of(message.request.tag()) {
                let policy = policed::refused(&message.controls, stop.password_policy());
                let result = stop.into_result();
                match &message.request {
                    Request::Extended(it) if it.name == oid::REFRESH => {
                        dynamic::write_refused(out, message.id, &result);
                    }
                    _ => response::write_result(out, message.id, kind, &result, policy.as_slice()),
                }
                transaction::refused(session, &message.controls, &result, out);
            }
            Flow::Done
        });
        self.ended(operation, &flow);
        flow
    }

    /// Counts the operation as completed unless more of it is to come. A search that stays has said
    /// what it was asked for.
    #[inline]
    fn ended(&self, operation: Operation, flow: &Flow) {
        if !matches!(flow, Flow::Waiting | Flow::More(_)) {
            self.counters.completed(operation).add(1);
        }
    }

    /// The client of a completion is gone.
    pub fn lost(&mut self, completion: &Completion) {
        if let Some(operation) = Operation::completed_by(completion) {
            self.counters.completed(operation).add(1);
        }
    }

    /// Nobody wants the rest of a search. A cursor holds nothing that outlives it.
    pub fn abandon(&mut self, cursor: Box<Cursor>) {
        drop(cursor);
        self.counters.completed(Operation::Search).add(1);
    }

    /// Bytes of requests came and bytes of responses went.
    #[inline]
    pub fn moved(&mut self, received: usize, sent: usize) {
        self.counters.bytes_received.add(received as u64);
        self.counters.bytes_sent.add(sent as u64);
    }

    /// The connection refused a request before it was executed. What that means for a transaction
    /// the request belongs to is appended to `out`. `message` is the whole message, which may be
    /// malformed.
    pub fn refused(
        &mut self,
        session: &mut Session,
        message: &[u8],
        why: &LdapResult,
        out: &mut Vec<u8>,
    ) {
        self.counters.refused.add(1);
        match protocol::decode_controls_of(message) {
            Some(controls) => transaction::refused(session, &controls, why, out),
            // It may have belonged to any of them.
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
        let (before, id) = (out.len(), cursor.id);
        let inside = cursor.is_inside_message();
        self.reader.reset();
        let flow = self.with_parts(|parts| dispatch::resume(parts, session, cursor, out));
        let flow = flow.unwrap_or_else(|stop| {
            out.truncate(before);
            let result = stop.into_result();
            if inside {
                // A result in the middle of a message would be part of it.
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
        session: &Session,
        follower: &mut Follower,
        out: &mut Vec<u8>,
    ) -> Followed {
        let (before, sent) = (out.len(), follower.sent());
        let inside = follower.is_inside_message();
        // First: what is committed behind the new snapshot must call again.
        follower.looks();
        self.reader.reset();
        let followed = self.with_parts(|parts| dispatch::follow(parts, session, follower, out));
        self.counters.entries.add(follower.sent() - sent);
        followed.unwrap_or_else(|stop| {
            out.truncate(before);
            if inside {
                // A result in the middle of a message would be part of it.
                return Followed::Broken;
            }
            let id = follower.message_id();
            response::write_result(out, id, ResultKind::SearchDone, &stop.into_result(), &[]);
            Followed::Ended
        })
    }

    /// Ends a search that follows the directory and that the client cancelled (RFC 3909).
    pub fn cancel_following(
        &mut self,
        mut follower: Box<Follower>,
        cancel_id: MessageId,
        out: &mut Vec<u8>,
    ) {
        follower.cancelled(out);
        let done = LdapResult::success();
        response::write_result(out, cancel_id, ResultKind::Extended, &done, &[]);
    }

    /// Ends a parked search that the client cancelled (RFC 3909): the search is answered with
    /// `canceled`, the cancel operation with success.
    pub fn cancel(&mut self, cursor: Box<Cursor>, cancel_id: MessageId, out: &mut Vec<u8>) {
        let canceled = LdapResult::new(ResultCode::CANCELED, "");
        response::write_result(out, cursor.id, ResultKind::SearchDone, &canceled, &[]);
        self.abandon(cursor);
        let done = LdapResult::success();
        response::write_result(out, cancel_id, ResultKind::Extended, &done, &[]);
    }

    /// Finishes what the mailbox brought: writes the response, or submits what comes next
    /// (`Flow::Waiting`: the same operation still waits).
    pub fn complete(
        &mut self,
        session: &mut Session,
        completion: Completion,
        out: &mut Vec<u8>,
    ) -> Flow {
        // The client must see its own write: the next read is on a new snapshot.
        self.reader.reset();
        let operation = Operation::completed_by(&completion);
        let flow = self.finish(session, completion, out);
        if let Some(operation) = operation {
            self.ended(operation, &flow);
        }
        flow
    }

    fn finish(&mut self, session: &mut Session, completion: Completion, out: &mut Vec<u8>) -> Flow {
        let id = completion.id;
        match completion.what {
            Finished::Write {
                kind,
                outcome,
                reply,
            } => {
                session.waiting = session.waiting.saturating_sub(1);
                write_response(out, id, kind, &outcome, &reply);
                Flow::Done
            }
            Finished::News => Flow::Done,
            Finished::Password(checked) => self.password_checked(session, id, checked, out),
            Finished::Transaction(settled) => {
                session.waiting = session.waiting.saturating_sub(1);
                transaction::write_end(out, id, &settled);
                Flow::Done
            }
            Finished::Sequence(failed) => {
                session.waiting = session.waiting.saturating_sub(1);
                session.bulk_update_answered();
                bulk_update::write_results(out, id, &failed);
                Flow::Done
            }
            Finished::Hashed {
                kind,
                bundle,
                reply,
            } => {
                session.hashing = false;
                let submission = self.submission(session.id, id, kind, *bundle, reply);
                self.shared.writer.submit(submission);
                self.release_held(session);
                Flow::Waiting
            }
            Finished::NotHashed { kind, stop, reply } => {
                session.hashing = false;
                session.waiting = session.waiting.saturating_sub(1);
                let controls = policed::tell(reply.policy, stop.password_policy());
                let result = stop.into_result();
                let outcome = Outcome {
                    result,
                    controls: controls.into_iter().collect(),
                };
                write_response(out, id, kind, &outcome, &reply);
                self.release_held(session);
                Flow::Done
            }
        }
    }

    /// Lets go of the snapshot before the thread waits for clients.
    pub fn sleep(&mut self) {
        self.reader.reset();
    }

    /// The limit of operations one connection may have waiting.
    pub fn pending_operations_max(&self, session: &Session) -> u32 {
        session.limits.0.pending_operations_max
    }

    /// Whether a request may be executed while earlier writes of its session still wait for their
    /// place in the order. Writes may: they are executed in the order in which they are submitted.
    /// Everything else waits, so that a client reads what it wrote.
    pub fn may_overlap(&self, session: &Session, request: &Request<'_>) -> bool {
        match request {
            Request::Add(_) | Request::Modify(_) | Request::Delete(_) | Request::ModifyDn(_) => {
                true
            }
            // An update whose old password is being checked has its place in a transaction.
            Request::Extended(it) if session.checking == 0 => match it.name {
                oid::BULK_UPDATE => session.bulk_update.as_ref().is_none_or(|it| it.has_room()),
                name => extended::only_writes(name),
            },
            _ => false,
        }
    }

    fn password_checked(
        &mut self,
        session: &mut Session,
        id: MessageId,
        checked: PasswordChecked,
        out: &mut Vec<u8>,
    ) -> Flow {
        match checked.purpose {
            CheckPurpose::Bind {
                subject,
                asked,
                guess,
            } => {
                let whose = (EntryId(checked.entry), subject);
                let tried = (guess, checked.matched);
                let ended = self.with_parts(|parts| {
                    let context = parts.context(&session.subject);
                    let desk = parts.bind_desk(&session.peer);
                    let verdict = bind::checked(&context, &desk, whose, asked, tried)?;
                    dispatch::end_bind(parts, session, id, (verdict, asked), out)
                });
                if let Err(stop) = ended {
                    let result = stop.into_result();
                    response::write_result(out, id, ResultKind::Bind, &result, &[]);
                }
            }
            CheckPurpose::Compare(compared) => {
                let entry = EntryId(checked.entry);
                let decided = self.with_parts(|parts| {
                    let context = parts.context(&session.subject);
                    let desk = parts.bind_desk(&session.peer);
                    compare::checked(&context, &desk, entry, &compared, checked.matched)
                });
                match decided {
                    Ok(outcome) => {
                        let told = (compared.policy, compared.controls);
                        dispatch::end_compare(id, &outcome, told, out);
                    }
                    Err(stop) => {
                        let result = stop.into_result();
                        response::write_result(out, id, ResultKind::Compare, &result, &[]);
                    }
                }
            }
            CheckPurpose::Change(change) => {
                return self.old_password_checked(session, id, *change, checked.matched, out);
            }
        }
        Flow::Done
    }

    /// Goes on with a Password Modify whose old password was checked.
    fn old_password_checked(
        &mut self,
        session: &mut Session,
        id: MessageId,
        change: PasswordChange,
        matched: bool,
        out: &mut Vec<u8>,
    ) -> Flow {
        let kind = ResultKind::Extended;
        let PasswordChange {
            write,
            reply,
            transaction,
        } = change;
        if transaction.is_some() {
            session.checking = session.checking.saturating_sub(1);
        }
        let done = match (&transaction, matched) {
            (_, false) => {
                Stop::refuse(ResultCode::INVALID_CREDENTIALS, "the old password is wrong")
            }
            (Some(identifier), true) => {
                let done = session.transactions.made().fill(identifier, id, write);
                if done.is_ok() {
                    write_response(out, id, kind, &LdapResult::success().into(), &reply);
                }
                done.map(|()| Flow::Done)
            }
            (None, true) => {
                let bundle = Box::new(Bundle::One(write));
                self.with_parts(|parts| parts.submit(session, id, kind, bundle, reply))
                    .map(|()| Flow::Waiting)
            }
        };
        done.unwrap_or_else(|stop| {
            let result = stop.into_result();
            response::write_result(out, id, kind, &result, &[]);
            if let Some(identifier) = &transaction {
                session.transactions.made().abort(identifier, &result, out);
            }
            Flow::Done
        })
    }

    /// Submits the bundles that waited for a hash, up to the next one that needs hashing itself.
    fn release_held(&mut self, session: &mut Session) {
        while let Some(held) = session.held.get_mut().and_then(VecDeque::pop_front) {
            if !held.to_hash {
                self.shared.writer.submit(held.submission);
                continue;
            }
            let Submission {
                bundle,
                id,
                kind,
                reply,
                ..
            } = held.submission;
            let work = Work::Hash {
                bundle: Box::new(bundle),
                kind,
                reply,
            };
            let submitted = self.with_parts(|parts| parts.hash(session, id, work));
            match submitted {
                Ok(()) => {
                    session.hashing = true;
                    return;
                }
                // Through the mailbox: the connection counts a completion for each operation.
                Err(stop) => self.mailbox.deliver(vec![Completion {
                    session: session.id,
                    id,
                    what: Finished::Write {
                        kind,
                        outcome: stop.into_result().into(),
                        reply: Reply::default(),
                    },
                }]),
            }
        }
    }

    fn submission(
        &self,
        session: u64,
        id: MessageId,
        kind: ResultKind,
        bundle: Bundle,
        reply: Reply,
    ) -> Submission {
        Submission {
            bundle,
            session,
            id,
            kind,
            reply,
            mailbox: Arc::clone(&self.mailbox),
        }
    }

    /// Runs `body` with a snapshot and the catalog that was published for it.
    fn with_parts<T>(
        &mut self,
        body: impl FnOnce(&Parts<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        // The snapshot first: a catalog is published before the commit that needs it, so one
        // loaded afterwards knows every attribute the snapshot holds.
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
        let parts = Parts {
            snapshot: &snapshot,
            catalog: &catalog,
            clock: &*self.shared.clock,
            verified: &self.shared.verified,
            cookie_key: &self.shared.cookie_key,
            tls: self.tls,
            last_name: &self.last_name,
            counters: &self.counters,
            shared: &self.shared,
            mailbox: &self.mailbox,
            hashes: &self.shared.hashes,
        };
        body(&parts)
    }
}

impl Parts<'_> {
    /// What an operation of this subject may touch.
    #[inline]
    pub fn context<'c>(&'c self, subject: &'c Subject) -> Context<'c> {
        let (snapshot, catalog) = (self.snapshot, self.catalog);
        let mut context =
            Context::of_request(snapshot, catalog, subject, self.clock, self.counters);
        context.spool = Some(self.shared.store.folder());
        context
    }

    /// A place among the followers for a search of the session.
    pub fn listen(
        &self,
        session: &Session,
        id: MessageId,
        subject: &str,
        max: u32,
    ) -> Result<Listener, Stop> {
        let feed = &self.shared.feed;
        let listener = feed.listen(session.id, id, subject, max, self.mailbox);
        listener.map_or_else(
            || {
                let text = format!(
                    "{max} searches of this subject follow the directory already \
                     (followers_max): end one of them first"
                );
                Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text)
            },
            Ok,
        )
    }

    /// What a bind works with.
    pub fn bind_desk<'d>(&'d self, peer: &'d Peer) -> bind::Desk<'d> {
        bind::Desk {
            peer,
            verified: self.verified,
            wrong: &self.shared.wrong,
            writer: &self.shared.writer,
            scheme: self.shared.scheme,
            cookie_key: self.cookie_key,
            now_us: self.clock.now_us(),
        }
    }

    /// Sends a bundle to the writer, by way of the hashing threads if it has a password in the
    /// clear. Later ones of the session wait for it, so that their order is kept.
    pub fn submit(
        &self,
        session: &mut Session,
        id: MessageId,
        kind: ResultKind,
        bundle: Box<Bundle>,
        reply: Reply,
    ) -> Result<(), Stop> {
        let to_hash = has_clear_passwords(&bundle, self.catalog.known.user_password.type_id);
        if session.hashing {
            let mailbox = Arc::clone(self.mailbox);
            let submission = Submission {
                bundle: *bundle,
                session: session.id,
                id,
                kind,
                reply,
                mailbox,
            };
            session.held.made().push_back(HeldWrite {
                submission,
                to_hash,
            });
        } else if to_hash {
            let work = Work::Hash {
                bundle,
                kind,
                reply,
            };
            self.hash(session, id, work)?;
            session.hashing = true;
        } else {
            let mailbox = Arc::clone(self.mailbox);
            let session = session.id;
            let submission = Submission {
                bundle: *bundle,
                session,
                id,
                kind,
                reply,
                mailbox,
            };
            self.shared.writer.submit(submission);
        }
        session.waiting += 1;
        Ok(())
    }

    /// Sends work to the hashing threads.
    pub fn hash(&self, session: &Session, id: MessageId, work: Work) -> Result<(), Stop> {
        let mailbox = Arc::clone(self.mailbox);
        self.hashes.submit(Task {
            session: session.id,
            id,
            mailbox,
            work,
        })
    }
}

pub(crate) fn write_response(
    out: &mut Vec<u8>,
    id: MessageId,
    kind: ResultKind,
    outcome: &Outcome,
    reply: &Reply,
) {
    let Outcome { result, controls } = outcome;
    let joined;
    let controls = match result.code {
        ResultCode::SUCCESS if !reply.done.is_empty() => {
            joined = [&controls[..], &reply.done[..]].concat();
            &joined
        }
        _ => controls,
    };
    let value = match result.code {
        ResultCode::SUCCESS => &reply.value,
        _ => &reply.refused,
    };
    match (kind, value) {
        (ResultKind::Extended, Some(value)) => {
            response::write_extended_result(out, id, result, reply.name, Some(value), controls);
        }
        _ => response::write_result(out, id, kind, result, controls),
    }
}
