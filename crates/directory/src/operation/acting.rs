//! The subject as which an operation acts.

use crate::call::Call;
use crate::control::{Controls, proxy};
use crate::operation::transaction;
use crate::session::Session;
use policy::Subject;
use protocol::ResultCode;
use state::stop::Stop;
use std::rc::Rc;

/// The subject of a session whose client has authenticated as `own` and wants to act as an
/// authorization identity (RFC 4513 §5.2.1.8); empty for `own` itself.
///
/// # Errors
/// `invalidCredentials`: `own` may not act as it, or it is not known here.
pub(crate) fn authorized(call: &Call<'_>, own: Subject, identity: &str) -> Result<Subject, Stop> {
    if identity.is_empty() {
        return Ok(own);
    }
    let context = call.context(&own);
    let other = match proxy::has_form(identity) {
        true => proxy::named(&context, identity)?,
        false => proxy::named(&context, &format!("u:{identity}"))?,
    };
    match other {
        Some(other) if other.kind == own.kind && other.name == own.name => Ok(own),
        Some(other) if context.may_act_as(&other)? => Ok(other.proxied_by(&own)),
        _ => Stop::refuse(
            ResultCode::INVALID_CREDENTIALS,
            "you may not act as this authorization identity, or it is not known here",
        ),
    }
}

/// Refuses an operation of a session that may no longer act as the subject that its bind asked for:
/// rights and groups may have changed since.
#[cold]
fn refuse_lost(call: &Call<'_>, subject: &Subject) -> Result<(), Stop> {
    match call.context(subject.real()).may_act_as(subject)? {
        true => Ok(()),
        false => Stop::refuse(
            ResultCode::AUTHORIZATION_DENIED,
            "you may no longer act as this authorization identity: bind again",
        ),
    }
}

/// The subject of an operation: the session's, the one that a control names, or the one that began
/// the operation's transaction.
#[inline(always)]
pub(crate) fn acting_subject(
    call: &Call<'_>,
    session: &mut Session,
    controls: &Controls<'_>,
) -> Result<Rc<Subject>, Stop> {
    match (controls.transaction, controls.proxied) {
        (None, None) => {
            if session.subject.proxied_by.is_some() {
                refuse_lost(call, &session.subject)?;
            }
            Ok(Rc::clone(&session.subject))
        }
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
