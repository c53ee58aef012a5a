//! Dispatches requests to operations.
//!
//! Two kinds of requests also concern the connection's owner: Unbind closes the connection, and the
//! cursor of a search named by Abandon or Cancel is held there.

use crate::account::{authentication, must_change};
use crate::call::Call;
use crate::control::{Controls, Envelope, position, session_tracking};
use crate::flow::Flow;
use crate::operation::acting::acting_subject;
use crate::operation::{bind, compare, extended, update};
use crate::search::begin;
use crate::search::call::Query;
use crate::session::Session;
use protocol::{Authentication, Message, Request};
use state::stop::Stop;

/// Executes one request.
pub(crate) fn dispatch(
    call: &Call<'_>,
    session: &mut Session,
    message: &Message<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let mut begun = None;
    if let Request::Bind(it) = &message.request {
        session.by_sasl = matches!(it.authentication, Authentication::Sasl { .. });
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
    authentication::require(call.catalog, session, &subject, Some(&message.request))?;
    if let Some(candidate) = &call.catalog.candidate {
        call.shadow(candidate, &subject, message);
    }
    let context = call.context(&subject);
    let envelope = Envelope {
        id: message.id,
        controls: &controls,
        encoded: message.encoded,
    };
    match &message.request {
        Request::Bind(it) => bind::begin(call, &context, session, it, &envelope, begun, out),
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
