//! A session bound with a password that somebody else set may only change the password
//! (draft-behera-ldap-password-policy-11 §8.1.2.2, §8.3).

use crate::account::policed;
use crate::context::Place;
use crate::session::Session;
use crate::worker::Parts;
use policy::Standing;
use protocol::control::PasswordPolicyError;
use protocol::{ModifyRequest, Request, ResultCode, oid};
use state::stop::{Refusal, Stop};
use state::values;

/// Refuses operations other than changing the password and those about the connection. After the
/// change the session is unrestricted.
#[cold]
pub(crate) fn refuse_others(
    parts: &Parts<'_>,
    session: &mut Session,
    request: &Request<'_>,
) -> Result<(), Stop> {
    let allowed = match request {
        Request::Bind(_) | Request::Unbind | Request::Abandon(_) => true,
        Request::Extended(it) => matches!(it.name, oid::START_TLS | oid::PASSWORD_MODIFY),
        Request::Modify(it) => changes_own_password(parts, session, it),
        _ => false,
    };
    if allowed {
        return Ok(());
    }
    if !still_must(parts, session)? {
        session.must_change = false;
        return Ok(());
    }
    let text = "the password was reset: change it first";
    let refusal = Refusal::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text);
    Err(refusal
        .of_policy(PasswordPolicyError::ChangeAfterReset)
        .into())
}

fn changes_own_password(parts: &Parts<'_>, session: &Session, request: &ModifyRequest<'_>) -> bool {
    let schema = &parts.catalog.schema;
    let password = parts.catalog.known.user_password.type_id;
    let own = crate::operation::resolve_name(schema, request.object);
    let mut changes = request.changes.iter();
    own.is_ok_and(|it| session.subject.is_self(&it))
        && changes.all(|it| {
            let described = values::describe(schema, it.attribute.description);
            described.is_ok_and(|it| it.type_id == password)
        })
}

fn still_must(parts: &Parts<'_>, session: &Session) -> Result<bool, Stop> {
    let context = parts.context(&session.subject);
    let Some(name) = &session.subject.name else {
        return Ok(false);
    };
    let Place::Found(id) = context.find(name)? else {
        return Ok(true);
    };
    let account = policed::account(&context, &parts.shared.replica, id)?;
    let standing = account.map(|it| it.standing(parts.lent.clock.now_us()));
    // If the account was locked meanwhile, the password still has to be changed afterwards.
    Ok(matches!(
        standing,
        Some(Standing::MustChange | Standing::Locked { .. })
    ))
}
