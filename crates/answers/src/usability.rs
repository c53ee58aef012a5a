//! Account usability control (Sun Directory Server): whether an entry's account can be used to
//! bind.

use policy::{Right, Standing};
use protocol::control::{AccountTrouble, AccountUsability};
use protocol::{OwnedControl, oid};
use state::account::Account;
use state::stop::Stop;
use state::view::{View, VisibleEntry};

/// The state of an account that can be used and whose password never expires.
const USABLE: AccountUsability = AccountUsability::Usable { expires_in_s: -1 };

/// The control for one entry. `None` for an entry without a password, which is no account, and for
/// a password that the subject may not try: the control would reveal that there is one.
pub fn response(
    context: &View<'_>,
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
    let account = context.account(entry.id)?;
    let usability = account.map_or(USABLE, |it| usability(&it, context.now_us()));
    let control = OwnedControl::with_value(oid::ACCOUNT_USABILITY, false, |out| {
        usability.encode(out);
    });
    Ok(Some(control))
}

/// The state of the account under its password policy.
fn usability(account: &Account, now_us: u64) -> AccountUsability {
    let bounded = |number: u64| i32::try_from(number).unwrap_or(i32::MAX);
    let mut trouble = AccountTrouble::default();
    match account.standing(now_us) {
        Standing::Usable {
            expires_in_s: None, ..
        } => return USABLE,
        Standing::Usable {
            expires_in_s: Some(left_s),
            ..
        } => {
            return AccountUsability::Usable {
                expires_in_s: bounded(left_s),
            };
        }
        Standing::Locked { unlocked_in_s } => {
            trouble.inactive = true;
            trouble.unlocked_in_s = unlocked_in_s.map(bounded);
        }
        Standing::MustChange => trouble.must_change = true,
        Standing::Expired { grace_left } => {
            trouble.expired = true;
            trouble.grace_binds = Some(bounded(grace_left));
        }
    }
    AccountUsability::Unusable(trouble)
}
