//! A session bound with a password that another identity set may only change the password
//! (draft-behera-ldap-password-policy-11 §8.1.2.2, §8.3).

use crate::account::policed;
use crate::call::Call;
use crate::context::Place;
use crate::session::Session;
use policy::Standing;
use protocol::control::PasswordPolicyError;
use protocol::{ModifyRequest, Request, ResultCode, oid};
use state::stop::{Refusal, Stop};
use state::values;

/// Refuses operations other than changing the password and operations on the connection. After the
/// change the session is unrestricted.
#[cold]
pub(crate) fn refuse_others(
    call: &Call<'_>,
    session: &mut Session,
    request: &Request<'_>,
) -> Result<(), Stop> {
    let allowed = match request {
        Request::Bind(_) | Request::Unbind | Request::Abandon(_) => true,
        Request::Extended(it) => matches!(it.name, oid::START_TLS | oid::PASSWORD_MODIFY),
        Request::Modify(it) => changes_own_password(call, session, it),
        _ => false,
    };
    if allowed {
        return Ok(());
    }
    if !still_must(call, session)? {
        session.must_change = false;
        return Ok(());
    }
    let text = "the password was reset: change it first";
    let refusal = Refusal::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text);
    Err(refusal
        .of_policy(PasswordPolicyError::ChangeAfterReset)
        .into())
}

fn changes_own_password(call: &Call<'_>, session: &Session, request: &ModifyRequest<'_>) -> bool {
    let schema = &call.catalog.schema;
    let password = call.catalog.known.user_password.type_id;
    let own = crate::operation::resolve_name(schema, request.object);
    let mut changes = request.changes.iter();
    own.is_ok_and(|it| session.subject.is_self(&it))
        && changes.all(|it| {
            let described = values::describe(schema, it.attribute.description);
            described.is_ok_and(|it| it.type_id == password)
        })
}

fn still_must(call: &Call<'_>, session: &Session) -> Result<bool, Stop> {
    let context = call.context(&session.subject);
    let Some(name) = &session.subject.name else {
        return Ok(false);
    };
    let Place::Found(id) = context.find_any(name)? else {
        return Ok(true);
    };
    let account = policed::account(&context, &call.shared.replica, id)?;
    let standing = account.map(|it| it.standing(call.lent.clock.now_us()));
    // If the account was locked meanwhile, the password still has to be changed afterwards.
    Ok(matches!(
        standing,
        Some(Standing::MustChange | Standing::Locked { .. })
    ))
}
