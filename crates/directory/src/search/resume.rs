//! Runs the next slice of a parked search.

use crate::account::authentication;
use crate::call::Call;
use crate::context::Walks;
use crate::control::Controls;
use crate::flow::Flow;
use crate::operation::acting::acting_subject;
use crate::search::begin::begin;
use crate::search::call::{Query, SearchCall, Step};
use crate::search::cursor::Cursor;
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
    let mut walks = cursor.walks.take();
    if let Some(again) = walks.take_if(|it| it.request.is_some()) {
        return begin_again(call, session, again, out);
    }
    let subject = Rc::clone(cursor.subject.as_ref().unwrap_or(&session.subject));
    authentication::require(call.catalog, &subject, None)?;
    let context = call.context(&subject);
    let call = &SearchCall::of(call, session, &subject, cursor.subject.is_some())?;
    context.limit_walks(|| GroupWalkLimits::boxed(&call.shared.unindexed, call.limits));
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
    let query = Query {
        message: &message,
        request,
        controls: &controls,
    };
    Ok(
        match begin(call, &context, &subject, session, query, out)? {
            Flow::More(mut cursor) => {
                // The time limit counts from the first beginning.
                cursor.began_us = began_us.or(cursor.began_us);
                Flow::More(cursor)
            }
            flow => flow,
        },
    )
}
