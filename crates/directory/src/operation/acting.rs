//! The subject as which an operation acts.

use crate::call::Call;
use crate::control::{Controls, proxy};
use crate::operation::transaction;
use crate::session::Session;
use policy::Subject;
use protocol::ResultCode;
use state::stop::Stop;
use std::rc::Rc;

/// The subject of an operation: the session's, the one that a control names, or the one that began
/// the operation's transaction.
#[inline(always)]
pub(crate) fn acting_subject(
    call: &Call<'_>,
    session: &mut Session,
    controls: &Controls<'_>,
) -> Result<Rc<Subject>, Stop> {
    match (controls.transaction, controls.proxied) {
        (None, None) => Ok(Rc::clone(&session.subject)),
        (None, Some(identity)) => proxy::subject(call, &session.subject, identity),
        (Some(identifier), None) => {
            let acting = transaction::subject(session, identifier)?;
            proxy::require_still(call, &session.subject, &acting)?;
            Ok(acting)
        }
        (Some(_), Some(_)) => Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            "proxied authorization belongs to the start of a transaction (RFC 5805 §4.4)",
        ),
    }
}
