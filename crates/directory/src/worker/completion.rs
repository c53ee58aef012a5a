//! Continues operations whose completion came to the mailbox: answers executed writes, decides
//! operations after password checks, and submits writes after hashing.

use crate::account::bind_state::BindState;
use crate::account::check::{CheckPurpose, PasswordChange, PasswordChecked};
use crate::account::hashing::Work;
use crate::account::policed;
use crate::arrival::Arrival;
use crate::completion::{Completion, Finished};
use crate::dispatch;
use crate::flow::Flow;
use crate::monitor::Operation;
use crate::operation::{bind, bulk_update, compare, password_modify, transaction};
use crate::reply::{Again, Reply, write_response};
use crate::request_writes::RequestWrites;
use crate::session::Session;
use crate::ticket::Pending;
use crate::worker::Worker;
use protocol::{DecodeLimits, LdapResult, Message, MessageId, ResultCode, ResultKind, response};
use replica::failure;
use state::execute::{Outcome, is_overtaken};
use state::stop::Stop;
use std::collections::VecDeque;
use std::sync::Arc;
use store::EntryId;

/// How often a request is decided again at most.
const TRIES_MAX: u8 = 8;

impl Worker {
    /// Handles a completion: writes the response, or submits the next step (`Flow::Waiting`: the
    /// operation still waits).
    pub fn complete(
        &mut self,
        session: &mut Session,
        completion: Completion,
        out: &mut Vec<u8>,
    ) -> Flow {
        // The client must read its own write, so the next read uses a new snapshot.
        self.reader.reset();
        self.operations.goes_on();
        let operation = Operation::completed_by(&completion);
        let (id, before) = (completion.id, out.len());
        let flow = match self.finish(session, completion, out) {
            // A change of the own password put off the judgement.
            Flow::Done if self.outlives_account(session) => self.end(out),
            flow => flow,
        };
        if operation.is_some() {
            self.note(session, id, &out[before..], &flow);
        }
        if let Some(operation) = operation {
            self.ended(operation, &flow);
        }
        flow
    }

    /// After a change of the session's own password, continues the session with the new one.
    fn renew(&mut self, session: &mut Session, completion: &Completion) {
        let done = match &completion.what {
            Finished::Write { outcome, .. } => outcome.result.code == ResultCode::SUCCESS,
            Finished::Transaction(settled) => settled.result.code == ResultCode::SUCCESS,
            Finished::Sequence(_) => true,
            Finished::Undecided { .. }
            | Finished::NotHashed { .. }
            | Finished::NotChecked { .. }
            | Finished::Abandoned { .. } => false,
            Finished::News
            | Finished::Arrived(_)
            | Finished::Password(_)
            | Finished::Hashed { .. } => return,
        };
        let Some(mut bound) = session.bound.take() else {
            return;
        };
        if bound.is_own(completion.id) && done {
            let renewed = self.with_call(|call| bound.renew(&call.context(&session.subject)));
            if let Err(stop) = renewed {
                // The failure is logged there. The session still has the former password, and ends.
                failure::result_of(stop);
            }
        }
        session.bound = Some(bound);
    }

    fn finish(&mut self, session: &mut Session, completion: Completion, out: &mut Vec<u8>) -> Flow {
        let id = completion.id;
        self.renew(session, &completion);
        match completion.what {
            Finished::Write {
                kind,
                outcome,
                reply,
            } => self.written(session, id, kind, &outcome, &reply, out),
            Finished::Undecided { reason, .. } => end_undecided(id, &reason, out),
            Finished::News => Flow::Done,
            Finished::Arrived(arrival) => later(session, arrival),
            Finished::Password(checked) => self.password_checked(session, id, checked, out),
            Finished::NotChecked { purpose, stop } => {
                self.not_checked(session, id, purpose, stop, out)
            }
            Finished::Abandoned { kind } => {
                if kind != ResultKind::Compare {
                    self.hash_failed(session);
                }
                Flow::Done
            }
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
                writes,
                reply,
            } => self.submit_hashed(session, id, kind, writes, reply),
            Finished::NotHashed {
                kind,
                of_stream,
                stop,
                reply,
            } => {
                if of_stream {
                    session.bulk_update_answered();
                }
                write_response(out, id, kind, &not_hashed(stop, &reply), &reply);
                self.hash_failed(session);
                Flow::Done
            }
        }
    }

    /// Answers a write that was executed, or executes its request anew.
    fn written(
        &mut self,
        session: &mut Session,
        id: MessageId,
        kind: ResultKind,
        outcome: &Outcome,
        reply: &Reply,
        out: &mut Vec<u8>,
    ) -> Flow {
        session.waiting = session.waiting.saturating_sub(1);
        if let Some(again) = &reply.again {
            session.hashing = false;
            if is_overtaken(&outcome.result) {
                return self.decide_again(session, id, kind, again, out);
            }
            self.release_held(session);
        }
        write_response(out, id, kind, outcome, reply);
        Flow::Done
    }

    /// Submits writes whose passwords were hashed, and those that waited for them.
    fn submit_hashed(
        &mut self,
        session: &mut Session,
        id: MessageId,
        kind: ResultKind,
        writes: Box<RequestWrites>,
        reply: Reply,
    ) -> Flow {
        session.hashing = reply.again.is_some();
        let request = Pending {
            session: session.id,
            id,
            kind,
            reply,
            mailbox: Arc::clone(&self.mailbox),
        };
        self.shared.replica.submit(writes.submission(request));
        if !session.hashing {
            self.release_held(session);
        }
        Flow::Waiting
    }

    /// Goes on after a write whose passwords were not hashed.
    fn hash_failed(&mut self, session: &mut Session) {
        session.hashing = false;
        session.waiting = session.waiting.saturating_sub(1);
        self.release_held(session);
    }

    fn password_checked(
        &mut self,
        session: &mut Session,
        id: MessageId,
        checked: PasswordChecked,
        out: &mut Vec<u8>,
    ) -> Flow {
        if self.outlives_account(session) {
            return self.end(out);
        }
        match checked.purpose {
            CheckPurpose::Bind(check) => {
                let (entry, asked) = (EntryId(checked.entry), check.asked.clone());
                let ended = self.with_call(|call| {
                    let context = call.context(&session.subject);
                    let bind_state = BindState::of(call, &session.peer);
                    let (subject, stored) = (&check.subject, checked.matched.as_deref());
                    let matched = bind::still_keeps(&context, &bind_state, entry, subject, stored)?;
                    let verdict =
                        bind::checked(&context, &bind_state, entry, *check, matched, stored)?;
                    bind::end(call, session, id, verdict, &asked, out)
                });
                if let Err(stop) = ended {
                    let result = failure::result_of(stop);
                    response::write_result(out, id, ResultKind::Bind, &result, &[]);
                }
            }
            CheckPurpose::Refused(verdict) => {
                let said = verdict.server_credentials.as_deref();
                response::write_bind_result(out, id, &verdict.result, said, &verdict.controls);
            }
            CheckPurpose::Compare(compared) => {
                let entry = EntryId(checked.entry);
                let decided = self.with_call(|call| {
                    let context = call.context(&session.subject);
                    let bind_state = BindState::of(call, &session.peer);
                    compare::checked(&context, &bind_state, entry, &compared, checked.matched)
                });
                match decided {
                    Ok(outcome) => {
                        compare::end(id, &outcome, compared.policy, compared.controls, out);
                    }
                    Err(stop) => {
                        let result = failure::result_of(stop);
                        response::write_result(out, id, ResultKind::Compare, &result, &[]);
                    }
                }
            }
            CheckPurpose::Change(change) => {
                let entry = EntryId(checked.entry);
                let matched = self.with_call(|call| {
                    let context = call.context(&session.subject);
                    let name = change.write.name();
                    let bind_state = BindState::of(call, &session.peer);
                    let feed = &call.shared.feed;
                    let matched = checked.matched;
                    let kept = password_modify::still_keeps(&context, feed, entry, name, matched)?;
                    bind_state.settle(&change.tried, kept);
                    Ok(kept)
                });
                return self.old_password_checked(session, id, *change, matched, out);
            }
        }
        Flow::Done
    }

    /// Answers an operation whose password could not be checked.
    fn not_checked(
        &mut self,
        session: &mut Session,
        id: MessageId,
        purpose: CheckPurpose,
        stop: Stop,
        out: &mut Vec<u8>,
    ) -> Flow {
        let result = failure::result_of(stop);
        let kind = match &purpose {
            CheckPurpose::Bind(_) | CheckPurpose::Refused(_) => ResultKind::Bind,
            CheckPurpose::Compare(_) => ResultKind::Compare,
            CheckPurpose::Change(_) => ResultKind::Extended,
        };
        response::write_result(out, id, kind, &result, &[]);
        if let CheckPurpose::Change(change) = purpose
            && let Some(identifier) = change.transaction
        {
            session.checking = session.checking.saturating_sub(1);
            session.transactions.made().abort(&identifier, &result, out);
        }
        Flow::Done
    }

    /// Continues a Password Modify after the check of its old password.
    fn old_password_checked(
        &mut self,
        session: &mut Session,
        id: MessageId,
        change: PasswordChange,
        matched: Result<bool, Stop>,
        out: &mut Vec<u8>,
    ) -> Flow {
        let kind = ResultKind::Extended;
        let PasswordChange {
            write,
            reply,
            transaction,
            tried: _,
        } = change;
        if transaction.is_some() {
            session.checking = session.checking.saturating_sub(1);
        }
        let done = match (&transaction, matched) {
            (_, Err(stop)) => Err(stop),
            (_, Ok(false)) => {
                Stop::refuse(ResultCode::INVALID_CREDENTIALS, "the old password is wrong")
            }
            (Some(identifier), Ok(true)) => {
                let done = session.transactions.made().fill(identifier, id, write);
                if done.is_ok() {
                    write_response(out, id, kind, &LdapResult::success().into(), &reply);
                }
                done.map(|()| Flow::Done)
            }
            (None, Ok(true)) => {
                let writes = Box::new(RequestWrites::One(write));
                self.with_call(|call| call.submit(session, id, kind, writes, reply))
                    .map(|()| Flow::Waiting)
            }
        };
        done.unwrap_or_else(|stop| {
            let result = failure::result_of(stop);
            response::write_result(out, id, kind, &result, &[]);
            if let Some(identifier) = &transaction {
                session.transactions.made().abort(identifier, &result, out);
            }
            Flow::Done
        })
    }

    /// Executes a request anew whose entry changed between its decision and its execution.
    fn decide_again(
        &mut self,
        session: &mut Session,
        id: MessageId,
        kind: ResultKind,
        again: &Again,
        out: &mut Vec<u8>,
    ) -> Flow {
        if self.outlives_account(session) {
            return self.end(out);
        }
        let limits = DecodeLimits {
            message_bytes_max: again.message.len(),
            ..DecodeLimits::DEFAULT
        };
        let before = out.len();
        let flow = match Message::decode(&again.message, &limits) {
            Ok(message) if again.tries < TRIES_MAX => {
                session.tries = again.tries + 1;
                self.with_call(|call| dispatch::dispatch(call, session, &message, out))
            }
            _ => {
                let text = "the entry changed each time that this was decided: send it again";
                Stop::refuse(ResultCode::BUSY, text)
            }
        };
        session.tries = 0;
        let flow = flow.unwrap_or_else(|stop| {
            out.truncate(before);
            let result = failure::result_of(stop);
            response::write_result(out, id, kind, &result, &[]);
            if let Ok(message) = Message::decode(&again.message, &limits) {
                self.note_denial(session, &message, &out[before..]);
            }
            Flow::Done
        });
        if !session.hashing {
            self.release_held(session);
        }
        flow
    }

    /// Submits writes that waited for an earlier one, up to the next one that others wait for.
    fn release_held(&mut self, session: &mut Session) {
        while let Some(held) = session.held.get_mut().and_then(VecDeque::pop_front) {
            if !held.to_hash {
                session.hashing = held.request.reply.again.is_some();
                self.shared
                    .replica
                    .submit(held.writes.submission(held.request));
                if session.hashing {
                    return;
                }
                continue;
            }
            let Pending {
                id, kind, reply, ..
            } = held.request;
            let work = Work::Hash {
                writes: held.writes,
                kind,
                reply,
            };
            let of_stream = matches!(&work, Work::Hash { writes, .. }
                if matches!(**writes, RequestWrites::Sequence { .. }));
            let submitted = self.with_call(|call| call.hash(session, id, work));
            match submitted {
                Ok(()) => {
                    session.hashing = true;
                    return;
                }
                // Through the mailbox, because the connection counts a completion for each
                // operation.
                Err(stop) => self.mailbox.deliver(vec![Completion {
                    session: session.id,
                    id,
                    what: Finished::NotHashed {
                        kind,
                        of_stream,
                        stop,
                        reply: Reply::default(),
                    },
                }]),
            }
        }
    }
}

/// Writes the notice that the connection ends because a write has no result (RFC 4511 §4.4.1): any
/// result might be wrong.
fn end_undecided(id: MessageId, reason: &str, out: &mut Vec<u8>) -> Flow {
    let text = format!(
        "it is unknown whether the write with message id {id} was or will be executed: {reason}"
    );
    let result = LdapResult::new(ResultCode::UNAVAILABLE, text);
    response::write_notice_of_disconnection(out, &result);
    Flow::Close
}

/// The request of the arrival is executed again.
fn later(session: &mut Session, arrival: Box<Arrival>) -> Flow {
    session.arrival = Some(arrival);
    Flow::Later
}

/// The outcome of a write whose passwords could not be hashed.
fn not_hashed(stop: Stop, reply: &Reply) -> Outcome {
    let controls = policed::tell(reply.policy, stop.password_policy());
    Outcome {
        result: failure::result_of(stop),
        controls: controls.into_iter().collect(),
    }
}
