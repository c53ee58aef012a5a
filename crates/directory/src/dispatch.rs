//! Dispatches requests to operations.
//!
//! Two kinds of requests also concern the connection's owner: Unbind closes the connection, and the
//! cursor of a search named by Abandon or Cancel is held there.

use crate::account::{authentication, must_change, subject_limits};
use crate::call::Call;
use crate::context::{Context, Walks};
use crate::control::{Controls, Envelope, position, proxy, session_tracking};
use crate::flow::Flow;
use crate::operation::{bind, compare, extended, follow, transaction, update};
use crate::search::call::{Query, SearchCall, Step};
use crate::search::group_walk_limits::GroupWalkLimits;
use crate::search::{begin, later, run};
use crate::session::Session;
use policy::{Limits, Subject, Whose};
use protocol::{DecodeLimits, Message, Request, ResultCode};
use state::stop::{Refusal, Stop};
use std::rc::Rc;

/// Executes one request.
pub(crate) fn dispatch(
    call: &Call<'_>,
    session: &mut Session,
    message: &Message<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let mut begun = None;
    if let Request::Bind(_) = &message.request {
        begun = session.exchange.take();
        session.forget_subject(&call.catalog.limits);
    }
    let mut controls = Controls::default();
    controls.take_all(&message.request, &message.controls)?;
    for tracked in &controls.sessions {
        session_tracking::log(session, message, tracked);
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
    let envelope = Envelope {
        id: message.id,
        controls: &controls,
    };
    match &message.request {
        Request::Bind(it) => bind::begin(call, &context, session, it, &envelope, begun, out),
        Request::Unbind => Ok(Flow::Close),
        Request::Search(it) => {
            let whose = (&context, &subject);
            let query = Query {
                message,
                request: it,
                controls: &controls,
            };
            begin_search(call, whose, session, query, out)
        }
        Request::Modify(_) | Request::Add(_) | Request::Delete(_) | Request::ModifyDn(_) => {
            update::begin(call, &context, session, &message.request, &envelope, out)
        }
        Request::Compare(it) => compare::begin(call, &context, session, it, &envelope, out),
        // Requests are executed in order. An operation that could be abandoned has been answered,
        // waits for a hashing thread, or is a write that has its place in the order (RFC 4511
        // §4.11).
        Request::Abandon(it) => {
            call.abandon(session, *it);
            Ok(Flow::Done)
        }
        Request::Extended(it) => {
            extended::begin::begin(call, &context, &subject, session, it, &envelope, out)
        }
    }
}

// Inlined: also called for searches that are repeated.
#[inline(always)]
fn begin_search(
    call: &Call<'_>,
    (context, subject): (&Context<'_>, &Rc<Subject>),
    session: &Session,
    query: Query<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let proxied = query.controls.proxied.is_some();
    let limits = limits_of(call, session, subject, proxied)?;
    let call = SearchCall {
        call,
        session,
        limits,
    };
    context.divide_walks(true);
    if query.controls.follows() {
        return match follow::begin(&call, context, query) {
            Ok(follower) => {
                let subject = Rc::clone(subject);
                Ok(Flow::Follow(Box::new(follower.acting_as(subject))))
            }
            Err(stop) => begin_later(context, &call, stop, query, out),
        };
    }
    let mut cursor = match begin::search(context, &call, query, out) {
        Ok(Some(cursor)) => cursor,
        Ok(None) => return Ok(Flow::Done),
        Err(stop) => {
            return begin_later(context, &call, stop, query, out);
        }
    };
    cursor.walks = context.walks_for_later();
    if proxied {
        cursor.subject = Some(Rc::clone(subject));
    }
    Ok(Flow::More(cursor))
}

/// Parks a search that has to be repeated, because its walks over groups are unfinished.
#[cold]
fn begin_later(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    stop: Stop,
    query: Query<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    if !stop.is_unfinished() {
        return Err(stop);
    }
    let later = later::begin_later(context, call, query, out)?;
    Ok(later.map_or(Flow::Done, Flow::More))
}

/// Repeats a search whose walks over groups have continued.
#[cold]
fn begin_again(
    call: &Call<'_>,
    session: &mut Session,
    mut walks: Box<Walks>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let (request, began_us) = (walks.request.take().unwrap_or_default(), walks.began_us);
    // The request was decoded before, under its own limits.
    let limits = DecodeLimits {
        message_bytes_max: usize::MAX,
        filter_depth_max: u8::MAX,
        depth_max: u8::MAX,
    };
    let message = Message::decode(&request, &limits)
        .map_err(|error| Refusal::new(ResultCode::PROTOCOL_ERROR, error.to_string()))?;
    let Request::Search(request) = &message.request else {
        return Ok(Flow::Done);
    };
    let mut controls = Controls::default();
    controls.take_all(&message.request, &message.controls)?;
    let subject = acting_subject(call, session, &controls)?;
    authentication::require(call.catalog, &subject, Some(&message.request))?;
    let context = call.context(&subject);
    context.take_up(Some(walks));
    let whose = (&context, &subject);
    let query = Query {
        message: &message,
        request,
        controls: &controls,
    };
    Ok(match begin_search(call, whose, session, query, out)? {
        Flow::More(mut cursor) => {
            // The time limit counts from the first beginning.
            cursor.began_us = began_us.or(cursor.began_us);
            Flow::More(cursor)
        }
        flow => flow,
    })
}

/// The subject of an operation: the session's, the one that a control names, or the one that began
/// the operation's transaction.
#[inline(always)]
fn acting_subject(
    call: &Call<'_>,
    session: &mut Session,
    controls: &Controls<'_>,
) -> Result<Rc<Subject>, Stop> {
    match (controls.transaction, controls.proxied) {
        (None, None) => Ok(Rc::clone(&session.subject)),
        (None, Some(identity)) => proxy::subject(call, &session.subject, identity),
        (Some(identifier), None) => transaction::subject(session, identifier),
        (Some(_), Some(_)) => Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            "proxied authorization belongs to the start of a transaction (RFC 5805 §4.4)",
        ),
    }
}

/// Runs the next slice of a parked search.
pub(crate) fn resume(
    call: &Call<'_>,
    session: &mut Session,
    mut cursor: Box<crate::Cursor>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let mut walks = cursor.walks.take();
    if let Some(again) = walks.take_if(|it| it.request.is_some()) {
        return begin_again(call, session, again, out);
    }
    let subject = Rc::clone(cursor.subject.as_ref().unwrap_or(&session.subject));
    authentication::require(call.catalog, &subject, None)?;
    let context = call.context(&subject);
    let limits = limits_of(call, session, &subject, cursor.subject.is_some())?;
    let call = &SearchCall {
        call,
        session,
        limits,
    };
    context.limit_walks(|| GroupWalkLimits::boxed(&call.shared.unindexed, limits));
    context.take_up(walks);
    context.divide_walks(true);
    Ok(match run::step(&context, call, &mut cursor, out)? {
        Step::Finished => Flow::Done,
        Step::Parked => {
            cursor.walks = context.walks_for_later();
            Flow::More(cursor)
        }
    })
}

/// Runs the next slice of a search that follows the directory.
pub(crate) fn follow(
    call: &Call<'_>,
    session: &Session,
    follower: &mut follow::Follower,
    out: &mut Vec<u8>,
) -> Result<follow::Followed, Stop> {
    let subject = follower.subject(session);
    authentication::require(call.catalog, &subject, None)?;
    let context = call.context(&subject);
    // A follower looked up its own limits when it began.
    let call = &SearchCall {
        call,
        session,
        limits: session.limits,
    };
    follower.step(&context, call, out)
}

/// The limits of the subject as which an operation acts.
fn limits_of(
    call: &Call<'_>,
    session: &Session,
    subject: &Subject,
    proxied: bool,
) -> Result<(Limits, Whose), Stop> {
    match proxied {
        false => Ok(session.limits),
        true => subject_limits::of(call, subject),
    }
}
