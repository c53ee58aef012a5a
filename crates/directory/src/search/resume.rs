//! Runs the next slice of a parked search.

use crate::account::authentication;
use crate::call::Call;
use crate::context::Walks;
use crate::control::{Controls, proxy};
use crate::flow::Flow;
use crate::operation::acting::acting_subject;
use crate::search::begin::begin;
use crate::search::call::{Query, SearchCall, Step};
use crate::search::cursor::{Again, Cursor, Stage};
use crate::search::group_walk_limits::GroupWalkLimits;
use crate::search::run;
use crate::session::Session;
use protocol::{DecodeLimits, Message, Request, ResultCode};
use state::stop::{Refusal, Stop};
use std::rc::Rc;

/// Runs the next slice of a parked search.
pub(crate) fn resume(
    call: &Call<'_>,
    session: &mut Session,
    mut cursor: Box<Cursor>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let walks = cursor.walks.take();
    let running = match &mut cursor.stage {
        Stage::Again(again) => return begin_again(call, session, again, walks, out),
        Stage::Running(running) => running,
    };
    let subject = Rc::clone(cursor.subject.as_ref().unwrap_or(&session.subject));
    authentication::require(call.catalog, session, &subject, None)?;
    proxy::require_still(call, &session.subject, &subject)?;
    let context = call.context(&subject);
    let call = &SearchCall::of(call, session, &subject, cursor.subject.is_some())?;
    context.limit_walks(|| GroupWalkLimits::boxed(&call.shared.unindexed, call.limits));
    context.take_up(walks);
    context.divide_walks(true);
    Ok(match run::step(&context, call, running, out)? {
        Step::Finished => Flow::Done,
        Step::Parked => {
            cursor.walks = context.walks_for_later();
            Flow::More(cursor)
        }
    })
}

/// Repeats a search whose walks over groups have continued.
#[cold]
fn begin_again(
    call: &Call<'_>,
    session: &mut Session,
    again: &Again,
    walks: Option<Box<Walks>>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    // The request was decoded before, under its own limits.
    let limits = DecodeLimits {
        message_bytes_max: usize::MAX,
        filter_depth_max: u8::MAX,
        depth_max: u8::MAX,
    };
    let message = Message::decode(&again.request, &limits)
        .map_err(|error| Refusal::new(ResultCode::PROTOCOL_ERROR, error.to_string()))?;
    let Request::Search(request) = &message.request else {
        return Ok(Flow::Done);
    };
    let mut controls = Controls::default();
    controls.take_all(&message.request, &message.controls)?;
    let subject = acting_subject(call, session, &controls)?;
    authentication::require(call.catalog, session, &subject, Some(&message.request))?;
    let context = call.context(&subject);
    context.take_up(walks);
    let query = Query {
        message: &message,
        request,
        controls: &controls,
        // The time limit counts from the first beginning.
        began_us: Some(again.began_us),
    };
    begin(call, &context, &subject, session, query, out)
}
