//! Changes of a password under a policy (draft-behera-ldap-password-policy-11 §8.2): the checks
//! before hashing. Effects on the account's state belong to execution.
//!
//! Policies apply to the owners of passwords; the administrator may set any password.

use crate::account::{passwords, policed};
use crate::call::Call;
use crate::context::{Context, Place};
use crate::peer::Peer;
use policy::password::{self};
use policy::{Hashing, PasswordPolicy};
use protocol::control::PasswordPolicyError;
use protocol::{ChangeOperation, ResultCode};
use schema::Name;
use state::account::Account;
use state::former::{apply, is_fast, refuse, without_old};
use state::stop::Stop;
use state::write::{Change, Former, Given, Write};
use store::EntryId;

/// Refuses a write whose passwords must not be stored, or that the entry's policy forbids. Checks
/// that need a slow hash are left to the hashing threads. `proved` says that the old password is
/// verified beside the write.
pub(crate) fn check(
    call: &Call<'_>,
    context: &Context<'_>,
    peer: &Peer,
    write: &mut Write,
    proved: bool,
) -> Result<(), Stop> {
    let catalog = context.catalog;
    let administrator = context.subject.is_administrator();
    let password_type = catalog.known.user_password.type_id;
    passwords::check(peer, administrator, write, password_type)?;
    if catalog.policing.is_idle(&catalog.schema) || write.name().is_within(&catalog.config) {
        return Ok(());
    }
    if let Change::Add(addition) = &write.change {
        let policy = context.policy_of_new(write.name(), addition)?;
        ask(write, policy.and_then(|it| it.hashing));
        return Ok(());
    }
    let given = Passwords::of(context, &write.change);
    if !given.touched {
        return Ok(());
    }
    let Some((id, account)) = account(call, context, write.name())? else {
        return Ok(());
    };
    if administrator {
        ask(write, account.policy.hashing);
        return Ok(());
    }
    let stored = crate::account::passwords::stored_passwords(context, id)?;
    let stored: Vec<Vec<u8>> = stored.into_iter().map(<[u8]>::to_vec).collect();
    refuse_change(
        &account,
        &stored,
        proved || given.brings_old,
        call.lent.clock.now_us(),
    )?;
    for value in &given.new {
        refuse_quality(&account.policy, value)?;
    }
    let history = match account.policy.in_history {
        0 => Vec::new(),
        _ => context.former_passwords(id)?,
    };
    let hashing = account.policy.hashing;
    let former = Former {
        stored,
        history,
        keeps_history: account.policy.in_history > 0,
        wants_old: account.policy.safe_modify && !proved,
    };
    ask(write, hashing);
    // Fast hashes are compared here, slow ones on the hashing threads.
    if is_fast(&former) {
        return apply(&former, &mut write.change, password_type);
    }
    write.options.get_or_insert_default().former = Some(Box::new(former));
    Ok(())
}

/// Has passwords of a write hashed as a policy asks.
fn ask(write: &mut Write, hashing: Option<Hashing>) {
    if hashing.is_some() {
        write.options.get_or_insert_default().hashing = hashing;
    }
}

fn account(
    call: &Call<'_>,
    context: &Context<'_>,
    name: &Name,
) -> Result<Option<(EntryId, Account)>, Stop> {
    let Place::Found(id) = context.find_any(name)? else {
        return Ok(None);
    };
    let account = policed::account(context, &call.shared.replica, id)?;
    Ok(account.map(|it| (id, it)))
}

/// Changes of passwords within one write.
#[derive(Debug, Default)]
struct Passwords<'w> {
    touched: bool,
    /// Whether the change deletes the old password by value.
    brings_old: bool,
    new: Vec<&'w [u8]>,
}

impl<'w> Passwords<'w> {
    fn of(context: &Context<'_>, change: &'w Change) -> Passwords<'w> {
        let mut found = Passwords::default();
        let password = context.catalog.known.user_password.type_id;
        let Change::Modify(changes) = change else {
            return found;
        };
        let is_password = |it: &Given| it.description.type_id == password;
        for change in changes.iter().filter(|it| is_password(&it.given)) {
            found.touched = true;
            let values = change.given.values.iter().map(Vec::as_slice);
            match change.operation {
                ChangeOperation::Delete => found.brings_old |= values.count() > 0,
                _ => found.new.extend(values),
            }
        }
        found
    }
}

/// Checks whether the user may change the password now (§8.2.1, §8.2.3, §8.2.4).
fn refuse_change(
    account: &Account,
    stored: &[Vec<u8>],
    brings_old: bool,
    now_us: u64,
) -> Result<(), Stop> {
    let Account { policy, state } = account;
    let no_right = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
    if policy.safe_modify && !stored.is_empty() && !brings_old {
        return without_old();
    }
    if !policy.allow_user_change {
        let text = "the policy does not let users change their passwords";
        return refuse(no_right, PasswordPolicyError::PasswordModNotAllowed, text);
    }
    if let Some(left_s) = policy.too_young_s(state, now_us) {
        let text = format!("the password is too new to be changed: try again in {left_s} seconds");
        let error = PasswordPolicyError::PasswordTooYoung;
        return refuse(ResultCode::CONSTRAINT_VIOLATION, error, text);
    }
    Ok(())
}

/// Checks the quality of a new password (§8.2.5). Length counts characters if the password is text,
/// octets otherwise.
fn refuse_quality(policy: &PasswordPolicy, value: &[u8]) -> Result<(), Stop> {
    let violation = ResultCode::CONSTRAINT_VIOLATION;
    if password::is_hashed(value) {
        // A salted hash of a former password is indistinguishable from the hash of a new one.
        if policy.check_quality < 2 && policy.in_history == 0 {
            return Ok(());
        }
        let text = "the policy wants to check the password: it must come in the clear";
        let error = PasswordPolicyError::InsufficientPasswordQuality;
        return refuse(violation, error, text);
    }
    if policy.check_quality == 0 {
        return Ok(());
    }
    let text = std::str::from_utf8(value);
    let length = text.map_or(value.len(), |it| it.chars().count()) as u64;
    let (min, max) = (policy.min_length, policy.max_length);
    if length < min {
        let text = format!("expected a password of at least {min} characters, got {length}");
        return refuse(violation, PasswordPolicyError::PasswordTooShort, text);
    }
    if max > 0 && length > max {
        let text = format!("expected a password of at most {max} characters, got {length}");
        return refuse(violation, PasswordPolicyError::PasswordTooLong, text);
    }
    Ok(())
}
