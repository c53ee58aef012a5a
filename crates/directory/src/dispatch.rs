//! Dispatches requests to operations.
//!
//! Two kinds of requests also concern the connection's owner: Unbind closes the connection, and the
//! cursor of a search named by Abandon or Cancel is held there.

use crate::account::bind_state::BindState;
use crate::account::bound::Bound;
use crate::account::check::{CheckPurpose, PasswordChange};
use crate::account::hashing::{PasswordJob, Work};
use crate::account::verdict::{BindControls, Verdict};
use crate::account::{authentication, must_change, new_password, passwords, subject_limits};
use crate::bundle::Bundle;
use crate::call::Call;
use crate::context::Context;
use crate::control::{Controls, position};
use crate::flow::Flow;
use crate::operation::acting::acting_subject;
use crate::operation::{
    bind, bulk_update, compaction, compare, dynamic, extended, password_modify, reload,
    transaction, update,
};
use crate::operations_log::clip;
use crate::pace::Pace;
use crate::reply::Reply;
use crate::search::begin;
use crate::search::call::{Query, SearchCall};
use crate::session::Session;
use policy::Subject;
use protocol::control::SessionTracking;
use protocol::{
    CompareRequest, ExtendedRequest, LdapResult, Message, MessageId, OwnedControl, Request,
    ResultCode, ResultKind, response,
};
use state::stop::Stop;
use std::rc::Rc;
use std::time::Instant;

// The next slices of searches that a request began, for the worker.
pub(crate) use crate::operation::follow::follow;
pub(crate) use crate::search::resume::resume;

/// Maximum number of session tracking controls logged per second, for all clients together.
static TRACKED_SESSIONS: Pace = Pace::new(10);

/// Executes one request.
pub(crate) fn dispatch(
    call: &Call<'_>,
    session: &mut Session,
    message: &Message<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let id = message.id;
    let mut begun = None;
    if let Request::Bind(_) = &message.request {
        begun = session.exchange.take();
        session.forget_subject(&call.catalog.limits);
    }
    let mut controls = Controls::default();
    controls.take_all(&message.request, &message.controls)?;
    for client_session in &controls.sessions {
        log_session(session, message, client_session);
    }
    if let Some(asked) = &controls.position {
        position::require(call, asked)?;
    }
    if session.must_change {
        must_change::refuse_others(call, session, &message.request)?;
    }
    let subject = acting_subject(call, session, &controls)?;
    authentication::require(call.catalog, &subject, Some(&message.request))?;
    let context = call.context(&subject);
    match &message.request {
        Request::Bind(it) => {
            let asked = BindControls {
                identity: controls.authorization_identity,
                policy: controls.password_policy,
            };
            let state = BindState::of(call, &session.peer);
            let outcome = bind::bind(&context, &state, it, (asked, begun))?;
            finish_bind(call, session, id, (outcome, asked), out)
        }
        Request::Unbind => Ok(Flow::Close),
        Request::Search(it) => {
            let query = Query {
                message,
                request: it,
                controls: &controls,
                began_us: None,
            };
            begin::begin(call, &context, &subject, session, query, out)
        }
        Request::Modify(_) | Request::Add(_) | Request::Delete(_) | Request::ModifyDn(_) => {
            begin_update(call, &context, session, (message, &controls), out)
        }
        Request::Compare(it) => begin_compare(call, &context, session, (id, it, &controls), out),
        // Requests are executed in order. An operation that could be abandoned has been answered,
        // waits for a hashing thread, or is a write that has its place in the order (RFC 4511
        // §4.11).
        Request::Abandon(it) => {
            call.abandon(session, *it);
            Ok(Flow::Done)
        }
        Request::Extended(it) => {
            let whose = (&context, &subject);
            dispatch_extended(call, whose, session, id, it, &controls, out)
        }
    }
}

/// Submits an update, or keeps it for the end of its transaction.
#[inline]
fn begin_update(
    call: &Call<'_>,
    context: &Context<'_>,
    session: &mut Session,
    (message, controls): (&Message<'_>, &Controls<'_>),
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let (id, update) = (message.id, &message.request);
    let write = update::resolve(call, context, &session.peer, update, controls)?;
    let write = write.expect("these are the updates");
    let kind = ResultKind::of(update.tag()).expect("every write has a response");
    if let Some(identifier) = controls.transaction {
        let update = (kind, write, &Reply::default());
        transaction::queue(session, identifier, id, update, out)?;
        return Ok(Flow::Done);
    }
    let bundle = Box::new(Bundle::One(write));
    let mut reply = Reply::default();
    controls.ask(&mut reply);
    call.submit(session, id, kind, bundle, reply)?;
    Ok(Flow::Waiting)
}

#[inline]
fn begin_compare(
    call: &Call<'_>,
    context: &Context<'_>,
    session: &Session,
    (id, request, controls): (MessageId, &CompareRequest<'_>, &Controls<'_>),
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let call = &SearchCall {
        call,
        session,
        limits: session.limits,
    };
    let state = || BindState::of(call, &session.peer);
    let outcome = compare::compare(context, state, call, request, controls)?;
    let asked = CompareAsked {
        policy: controls.password_policy,
        controls: told(call, context, controls)?,
    };
    finish_compare(call, session, id, (outcome, asked), out)
}

/// Logs the session tracking control of a request. Its texts come from the client and are quoted,
/// so that they cannot imitate messages of the server.
#[cold]
fn log_session(session: &Session, message: &Message<'_>, client: &SessionTracking<'_>) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    let Some(left_out) = TRACKED_SESSIONS.admit(Instant::now()) else {
        return;
    };
    tracing::info!(
        connection = session.id,
        message = message.id,
        operation = message.request.name(),
        subject = ?session.bound_name(),
        source_address = ?clip(client.source_address),
        source_name = ?clip(client.source_name),
        format = clip(client.format),
        identifier = ?clip(client.identifier),
        left_out = (left_out > 0).then_some(left_out),
        "session tracked"
    );
}

fn dispatch_extended(
    call: &Call<'_>,
    (context, subject): (&Context<'_>, &Rc<Subject>),
    session: &mut Session,
    id: MessageId,
    request: &ExtendedRequest<'_>,
    controls: &Controls<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    match extended::kind(request)? {
        extended::Kind::WhoAmI => extended::who_am_i(context, id, out),
        extended::Kind::StartTls => return start_tls(call, session, id, out),
        extended::Kind::PasswordModify(asked) => {
            passwords::refuse_exposed(&session.peer)?;
            let mut resolved = password_modify::resolve(context, &asked, controls)?;
            let proved = asked.old_password.is_some();
            let peer = &session.peer;
            new_password::check(call, context, peer, &mut resolved.write, proved)?;
            controls.ask(&mut resolved.reply);
            let identifier = controls.transaction;
            return change_password(call, session, id, resolved, identifier, out);
        }
        extended::Kind::StartTransaction(chosen) => {
            transaction::start(session, subject, id, chosen, out)?;
        }
        extended::Kind::EndTransaction(asked) => {
            if transaction::end(call, session, id, (&asked, controls), out)? {
                return Ok(Flow::Waiting);
            }
        }
        extended::Kind::Refresh(asked) => {
            let (write, reply) = dynamic::refresh(context, &asked, call.lent.clock)?;
            let bundle = Box::new(Bundle::One(write));
            call.submit(session, id, ResultKind::Extended, bundle, reply)?;
            return Ok(Flow::Waiting);
        }
        extended::Kind::Compact => compaction::begin(call, context, id, out)?,
        extended::Kind::CancelCompaction => compaction::cancel(call, context, id, out)?,
        extended::Kind::Reload => reload::reload(call, context, id, out)?,
        extended::Kind::StartBulkUpdate(asked) => {
            bulk_update::start(context, session, id, &asked, out)?;
        }
        extended::Kind::BulkUpdate(value) => {
            if bulk_update::update(call, context, session, id, value, out)? {
                return Ok(Flow::Waiting);
            }
        }
        extended::Kind::EndBulkUpdate(asked) => bulk_update::end(session, id, &asked, out)?,
        // All earlier requests have been answered, so none can be cancelled.
        extended::Kind::Cancel(target) => {
            transaction::refuse_cancel(session, target)?;
            return Stop::refuse(
                ResultCode::NO_SUCH_OPERATION,
                format!("no operation with message id {target} is running"),
            );
        }
    }
    Ok(Flow::Done)
}

fn start_tls(
    call: &Call<'_>,
    session: &Session,
    id: MessageId,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    if !call.tls {
        return Stop::refuse(ResultCode::UNAVAILABLE, "TLS is not configured");
    }
    if session.peer.secure {
        return Stop::refuse(ResultCode::OPERATIONS_ERROR, "TLS is established");
    }
    extended::write_success(out, id, Some(protocol::oid::START_TLS), None);
    Ok(Flow::StartTls)
}

fn change_password(
    call: &Call<'_>,
    session: &mut Session,
    id: MessageId,
    resolved: password_modify::Resolved,
    identifier: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let password_modify::Resolved {
        write,
        reply,
        to_check,
    } = resolved;
    let kind = ResultKind::Extended;
    match (to_check, identifier) {
        (None, None) => {
            let bundle = Box::new(Bundle::One(write));
            call.submit(session, id, kind, bundle, reply)?;
        }
        (None, Some(identifier)) => {
            let update = (kind, write, &reply);
            transaction::queue(session, identifier, id, update, out)?;
            return Ok(Flow::Done);
        }
        (Some(old), identifier) => {
            let mut change = Box::new(PasswordChange {
                write,
                reply,
                transaction: None,
            });
            if let Some(identifier) = identifier {
                transaction::queue_unchecked(session, identifier, id, &mut change)?;
            }
            let job = PasswordJob {
                entry: old.entry,
                stored: old.stored,
                given: old.given,
                purpose: CheckPurpose::Change(change),
            };
            call.hash(session, id, Work::Verify(job))?;
            session.checking += u32::from(identifier.is_some());
        }
    }
    Ok(Flow::Waiting)
}

fn finish_bind(
    call: &Call<'_>,
    session: &mut Session,
    id: MessageId,
    (outcome, asked): (bind::Outcome, BindControls),
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    match outcome {
        bind::Outcome::Accepted(subject, bound) => {
            let limits = subject_limits::of(call, &subject)?;
            let bound = match bound {
                Some(bound) => Some(bound),
                None => bound_as(call, &subject)?,
            };
            session.become_subject(*subject, limits, bound);
            let controls = bind::identity(&session.subject, asked.identity);
            let done = LdapResult::success();
            response::write_result(out, id, ResultKind::Bind, &done, &controls);
            Ok(Flow::Done)
        }
        bind::Outcome::Judged(verdict) => {
            end_bind(call, session, id, (*verdict, asked), out)?;
            Ok(Flow::Done)
        }
        bind::Outcome::Check(job) => {
            call.hash(session, id, Work::Verify(job))?;
            Ok(Flow::Waiting)
        }
        bind::Outcome::Challenge(said, exchange) => {
            session.exchange = Some(exchange);
            let result = LdapResult::new(ResultCode::SASL_BIND_IN_PROGRESS, "");
            response::write_bind_result(out, id, &result, Some(&said), &[]);
            Ok(Flow::Done)
        }
    }
}

/// The account of a subject that has authenticated. If its entry was deleted meanwhile, the bind is
/// refused.
fn bound_as(call: &Call<'_>, subject: &Subject) -> Result<Option<Box<Bound>>, Stop> {
    let bound = Bound::of(&call.context(subject))?;
    if bound.is_none() && !subject.is_anonymous() && !subject.is_administrator() {
        return Stop::refuse(ResultCode::INVALID_CREDENTIALS, "");
    }
    Ok(bound)
}

/// Writes the response to a bind that was decided.
pub(crate) fn end_bind(
    call: &Call<'_>,
    session: &mut Session,
    id: MessageId,
    (verdict, asked): (Verdict, BindControls),
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let mut controls = verdict.controls;
    if let Some(subject) = verdict.subject {
        let limits = subject_limits::of(call, &subject)?;
        controls.extend(bind::identity(&subject, asked.identity));
        let bound = bound_as(call, &subject)?;
        session.become_subject(*subject, limits, bound);
        session.must_change = verdict.must_change;
    }
    let said = verdict.server_credentials.as_deref();
    response::write_bind_result(out, id, &verdict.result, said, &controls);
    Ok(())
}

/// Controls that the client sent with a compare.
struct CompareAsked {
    /// Whether it sent the password policy control.
    policy: bool,
    /// Controls of the response, whatever the result.
    controls: Vec<OwnedControl>,
}

/// The response controls that report the position of an operation's snapshot.
fn told(
    call: &Call<'_>,
    context: &Context<'_>,
    controls: &Controls<'_>,
) -> Result<Vec<OwnedControl>, Stop> {
    if controls.position.is_none() {
        return Ok(Vec::new());
    }
    let reached = position::reached(context, call.shared.log)?;
    Ok(vec![position::control(&reached)])
}

fn finish_compare(
    call: &Call<'_>,
    session: &Session,
    id: MessageId,
    (outcome, asked): (compare::Outcome, CompareAsked),
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    if let compare::Outcome::Check(mut job) = outcome {
        if let CheckPurpose::Compare(compared) = &mut job.purpose {
            compared.controls = asked.controls;
        }
        call.hash(session, id, Work::Verify(job))?;
        return Ok(Flow::Waiting);
    }
    end_compare(id, &outcome, (asked.policy, asked.controls), out);
    Ok(Flow::Done)
}

/// Writes the response to a compare that was decided.
pub(crate) fn end_compare(
    id: MessageId,
    outcome: &compare::Outcome,
    (policy, mut controls): (bool, Vec<OwnedControl>),
    out: &mut Vec<u8>,
) {
    let is_true = match outcome {
        compare::Outcome::True => true,
        compare::Outcome::Judged(judgement) => {
            controls.extend(judgement.control(policy));
            judgement.accepted
        }
        compare::Outcome::False | compare::Outcome::Check(_) => false,
    };
    let code = match is_true {
        true => ResultCode::COMPARE_TRUE,
        false => ResultCode::COMPARE_FALSE,
    };
    let result = LdapResult::new(code, "");
    response::write_result(out, id, ResultKind::Compare, &result, &controls);
}
