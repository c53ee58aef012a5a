//! Begins extended operations (RFC 4511 §4.12): one `match`, one arm for each.

use crate::call::Call;
use crate::context::Context;
use crate::control::Envelope;
use crate::flow::Flow;
use crate::operation::extended::{self, Kind};
use crate::operation::{bulk_update, compaction, dynamic, password_modify, reload, transaction};
use crate::request_writes::RequestWrites;
use crate::session::Session;
use policy::Subject;
use protocol::{ExtendedRequest, MessageId, ResultCode, ResultKind};
use state::stop::Stop;
use std::rc::Rc;

/// Executes the request, or begins to.
pub(crate) fn begin(
    call: &Call<'_>,
    context: &Context<'_>,
    subject: &Rc<Subject>,
    session: &mut Session,
    request: &ExtendedRequest<'_>,
    envelope: &Envelope<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let Envelope { id, controls, .. } = *envelope;
    match extended::kind(request)? {
        Kind::WhoAmI => extended::who_am_i(context, id, out),
        Kind::StartTls => return start_tls(call, session, id, out),
        Kind::PasswordModify(asked) => {
            return password_modify::begin(call, context, session, &asked, envelope, out);
        }
        Kind::StartTransaction(chosen) => {
            transaction::start(session, subject, id, chosen, out)?;
        }
        Kind::EndTransaction(asked) => {
            if transaction::end(call, session, id, &asked, controls, out)? {
                return Ok(Flow::Waiting);
            }
        }
        Kind::Refresh(asked) => {
            let (write, reply) = dynamic::refresh(context, &asked, call.lent.clock)?;
            let writes = Box::new(RequestWrites::One(write));
            call.submit(session, id, ResultKind::Extended, writes, reply)?;
            return Ok(Flow::Waiting);
        }
        Kind::Compact => compaction::begin(call, context, id, out)?,
        Kind::CancelCompaction => compaction::cancel(call, context, id, out)?,
        Kind::Reload => reload::reload(call, context, id, out)?,
        Kind::StartBulkUpdate(asked) => bulk_update::start(context, session, id, &asked, out)?,
        Kind::BulkUpdate(value) => {
            if bulk_update::update(call, context, session, id, value, out)? {
                return Ok(Flow::Waiting);
            }
        }
        Kind::EndBulkUpdate(asked) => bulk_update::end(session, id, &asked, out)?,
        // All earlier requests have been answered, so none can be cancelled.
        Kind::Cancel(target) => {
            transaction::refuse_cancel(session, target)?;
            return Stop::refuse(
                ResultCode::NO_SUCH_OPERATION,
                format!("no operation with message id {target} is running"),
            );
        }
    }
    Ok(Flow::Done)
}

/// StartTLS (RFC 4511 §4.14): the connection begins the handshake behind the response.
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
