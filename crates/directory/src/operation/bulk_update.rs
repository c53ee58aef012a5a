//! Bulk update (LBURP, RFC 4373): a stream of numbered requests with many updates each.
//!
//! The updates of a request are executed in order, each by itself as if sent alone; failed ones are
//! listed in the response. A client may send requests without waiting for responses: they reach the
//! writer in the order of the stream. A connection has at most one stream.

use crate::call::Call;
use crate::context::Context;
use crate::control::Controls;
use crate::operation::extended::write_success;
use crate::operation::update;
use crate::peer::Peer;
use crate::reply::Reply;
use crate::request_writes::RequestWrites;
use crate::session::Session;
use policy::access::words::Use;
use protocol::extended::{
    BulkOperation, BulkUpdateRequest, BulkUpdateResponse, EndBulkUpdateRequest,
    StartBulkUpdateRequest, StartBulkUpdateResponse,
};
use protocol::{LdapResult, MessageId, ResultCode, ResultKind, oid, response};
use replica::failure;
use schema::Name;
use spool::bulk_stream::BulkStream;
use state::stop::{Refusal, Stop};
use state::write::Write;

/// Maximum number of updates in one request, announced in the response to Start LBURP.
const OPERATIONS_MAX: u32 = 1_000;

/// Handles Start LBURP (RFC 4373 §5.1).
pub(crate) fn start(
    context: &Context<'_>,
    session: &mut Session,
    id: MessageId,
    request: &StartBulkUpdateRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    context.require_use(
        Use::Bulk,
        &Name::root(),
        "bulk updates are for the administrator",
    )?;
    if request.style != oid::INCREMENTAL_UPDATE_STYLE {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            format!(
                "expected the incremental update style ({}), got {}",
                oid::INCREMENTAL_UPDATE_STYLE,
                request.style
            ),
        );
    }
    if session.bulk_update.is_some() {
        return Stop::refuse(
            ResultCode::OPERATIONS_ERROR,
            "a bulk update is going on on this connection: end it first",
        );
    }
    session.bulk_update = Some(Box::new(BulkStream {
        next: 1,
        unfinished: 0,
    }));
    let mut value = Vec::new();
    StartBulkUpdateResponse {
        operations_max: OPERATIONS_MAX,
    }
    .encode(&mut value);
    write_success(out, id, Some(oid::START_BULK_UPDATE_RESPONSE), Some(&value));
    Ok(())
}

/// Handles an LBURP update (RFC 4373 §5.3). Returns whether the writer has to be waited for.
pub(crate) fn update(
    call: &Call<'_>,
    context: &Context<'_>,
    session: &mut Session,
    id: MessageId,
    value: &[u8],
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    let stream = open(session)?;
    let number = BulkUpdateRequest::decode_number(value).map_err(|error| malformed(&error))?;
    stream.refuse_out_of_order(number)?;
    // The request takes its sequence number even if it cannot be decoded.
    stream.advance();
    let request = BulkUpdateRequest::decode(value).map_err(|error| malformed(&error))?;
    let count = request.operations.len();
    if count > OPERATIONS_MAX as usize {
        return Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("expected at most {OPERATIONS_MAX} updates in a request, got {count}"),
        );
    }
    let (mut writes, mut numbers, mut refused) =
        (Vec::with_capacity(count), Vec::new(), Vec::new());
    for (number, operation) in (1..).zip(&request.operations) {
        match resolve(call, context, &session.peer, operation) {
            Ok(write) => {
                writes.push(write);
                numbers.push(number);
            }
            Err(stop) => refused.push((number, failure::result_of(stop))),
        }
    }
    if writes.is_empty() {
        write_results(out, id, &refused);
        return Ok(false);
    }
    let writes = Box::new(RequestWrites::Sequence {
        writes,
        numbers,
        refused,
    });
    call.submit(session, id, ResultKind::Extended, writes, Reply::default())?;
    open(session)?.unfinished += 1;
    Ok(true)
}

/// Handles End LBURP (RFC 4373 §5.5). All requests before it have been answered.
pub(crate) fn end(
    session: &mut Session,
    id: MessageId,
    request: &EndBulkUpdateRequest,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    open(session)?.refuse_out_of_order(request.sequence_number)?;
    session.bulk_update = None;
    write_success(out, id, Some(oid::END_BULK_UPDATE_RESPONSE), None);
    Ok(())
}

/// Writes the response to one request: success, or the results of the updates that failed
/// (RFC 4373 §5.4).
pub(crate) fn write_results(out: &mut Vec<u8>, id: MessageId, failed: &[(u32, LdapResult)]) {
    let name = Some(oid::BULK_UPDATE_RESPONSE);
    if failed.is_empty() {
        write_success(out, id, name, None);
        return;
    }
    let mut value = Vec::new();
    BulkUpdateResponse {
        results: failed.to_vec(),
    }
    .encode(&mut value);
    let text = format!("{} of the updates failed", failed.len());
    let result = LdapResult::new(ResultCode::OTHER, text);
    response::write_extended_result(out, id, &result, name, Some(&value), &[]);
}

/// Resolves one update as if it had been sent alone.
fn resolve(
    call: &Call<'_>,
    context: &Context<'_>,
    peer: &Peer,
    operation: &BulkOperation<'_>,
) -> Result<Write, Stop> {
    let mut controls = Controls::default();
    controls.take_all(&operation.request, &operation.controls)?;
    if controls.transaction.is_some() || controls.proxied.is_some() || controls.no_operation {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "an update of a bulk update is done, by whoever sends it, and not in a transaction",
        );
    }
    let write = update::resolve(call, context, peer, &operation.request, &controls)?;
    let write = write.expect("only updates decode as such");
    if write.name().is_within(&context.catalog.config) {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the configuration is changed by ordinary updates or in a transaction",
        );
    }
    Ok(write)
}

fn open(session: &mut Session) -> Result<&mut BulkStream, Stop> {
    let refusal = || Refusal::new(ResultCode::OPERATIONS_ERROR, "no bulk update was started");
    session
        .bulk_update
        .as_deref_mut()
        .ok_or_else(|| refusal().into())
}

fn malformed(error: &protocol::DecodeError) -> Stop {
    let text = format!("bulk update: {error}");
    Refusal::new(ResultCode::PROTOCOL_ERROR, text).into()
}
