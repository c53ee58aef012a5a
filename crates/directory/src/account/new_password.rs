//! Changes of a password under a policy (draft-behera-ldap-password-policy-11 §8.2): the checks
//! before hashing. Effects on the account's state belong to execution.
//!
//! Policies apply to the owners of passwords; the administrator may set any password.

use crate::account::{passwords, policed};
use crate::call::Call;
use crate::context::{Context, Place};
use crate::peer::Peer;
use answers::former::{apply, is_fast};
use answers::quality::{refuse_change, refuse_quality};
use policy::quality::AskedLists;
use policy::{Hashing, PasswordPolicy};
use protocol::ChangeOperation;
use schema::Name;
use state::account::Account;
use state::stop::Stop;
use state::write::{Change, Former, Given, Write};
use store::EntryId;

/// Refuses a write whose passwords must not be stored, or that the entry's policy forbids. Checks
/// that need a slow hash are left to the hashing threads. `old` is the old password, if
/// it is verified beside the write.
pub(crate) fn check(
    call: &Call<'_>,
    context: &Context<'_>,
    peer: &Peer,
    write: &mut Write,
    old: Option<&[u8]>,
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
        old.is_some() || !given.old.is_empty(),
        call.lent.clock.now_us(),
    )?;
    let policy = &account.policy;
    let lists = refuse_weak(context, id, policy, &given, old)?;
    let history = match account.policy.in_history {
        0 => Vec::new(),
        _ => context.former_passwords(id)?,
    };
    let hashing = policy.hashing;
    let former = Former {
        stored,
        history,
        keeps_history: policy.in_history > 0,
        wants_old: policy.safe_modify && old.is_none(),
    };
    ask(write, hashing);
    if !lists.is_none() {
        write.options.get_or_insert_default().lists = lists;
    }
    // Fast hashes are compared here, slow ones on the hashing threads.
    if is_fast(&former) {
        return apply(&former, &mut write.change, password_type);
    }
    write.options.get_or_insert_default().former = Some(Box::new(former));
    Ok(())
}

/// Refuses new passwords that a policy finds weak. Returns the lists that are still to be asked.
fn refuse_weak(
    context: &Context<'_>,
    id: EntryId,
    policy: &PasswordPolicy,
    given: &Passwords<'_>,
    old: Option<&[u8]>,
) -> Result<AskedLists, Stop> {
    let names = match policy.quality.min_difference {
        0 => Vec::new(),
        _ => context.names_in_passwords(id)?,
    };
    let old = old.iter().chain(&given.old).copied();
    let known: Vec<&[u8]> = old.chain(names.iter().map(Vec::as_slice)).collect();
    for value in &given.new {
        refuse_quality(policy, value, &known)?;
    }
    Ok(match policy.check_quality {
        0 => AskedLists::default(),
        _ => policy.quality.lists,
    })
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
    /// Values that the change deletes: the old password.
    old: Vec<&'w [u8]>,
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
                ChangeOperation::Delete => found.old.extend(values),
                _ => found.new.extend(values),
            }
        }
        found
    }
}
