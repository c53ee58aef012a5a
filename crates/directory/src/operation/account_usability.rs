//! Account usability (Sun Directory Server): whether the account of an entry can be used.

use crate::context::{Context, VisibleEntry};
use crate::stop::Stop;
use policy::Right;
use protocol::control::AccountUsability;
use protocol::{OwnedControl, oid};
use schema::ValueSource;

/// A password that never expires.
const NEVER: i32 = -1;

/// The control for one entry. Entries without a password are no accounts and come without it; so
/// do accounts whose password the subject may not try, since it would tell who has one.
pub(crate) fn response(
    context: &Context<'_>,
    entry: &VisibleEntry<'_, '_>,
) -> Result<Option<OwnedControl>, Stop> {
    let known = &context.catalog.known.user_password;
    if entry.internal(known.number).is_none() {
        return Ok(None);
    }
    let Some(name) = entry.name() else {
        return Ok(None);
    };
    if !context
        .decide(Right::Compare, &name, Some(known.type_id))
        .allowed
    {
        return Ok(None);
    }
    // No rule of this server locks an account or lets a password expire.
    let usability = AccountUsability::Usable {
        expires_in_s: NEVER,
    };
    let control = OwnedControl::with_value(oid::ACCOUNT_USABILITY, false, |out| {
        usability.encode(out);
    });
    Ok(Some(control))
}
