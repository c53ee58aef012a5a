//! Right passwords that are to be stored in another form.

use crate::account::bind_state::BindState;
use crate::context::Context;
use crate::feed::Feed;
use policy::rehash::Rehash;
use policy::{PasswordPolicy, Subject};
use state::level;
use state::passwords::digest_of;
use store::EntryId;
use zeroize::Zeroizing;

/// A password that a bind has proved.
pub(crate) struct Proved<'p> {
    pub entry: EntryId,
    /// The stored value.
    pub stored: &'p [u8],
    /// The password in the clear.
    pub given: &'p [u8],
}

impl<'p> Proved<'p> {
    pub fn of(entry: EntryId, stored: &'p [u8], given: &'p [u8]) -> Proved<'p> {
        Proved {
            entry,
            stored,
            given,
        }
    }
}

/// Has the password of an accepted bind stored anew if the settings or the account's policy want
/// it in another form. The bind does not wait.
#[inline]
pub(crate) fn offer(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    subject: &Subject,
    proved: &Proved<'_>,
    policy: Option<&PasswordPolicy>,
) {
    let passwords = &bind_state.passwords;
    let told = policy.and_then(|it| it.rehash_on_bind);
    let hashing = policy.and_then(|it| it.hashing);
    let hashing = hashing.unwrap_or_else(|| passwords.scheme.into());
    let (true, Some(name)) = (told.unwrap_or(passwords.rehash_on_bind), &subject.name) else {
        return;
    };
    // The administrator's entry has another name, and is part of the configuration.
    if subject.is_administrator()
        || context.catalog.level < level::REHASHES
        || !hashing.is_due(proved.stored)
    {
        return;
    }
    bind_state.replica.rehash(proved.entry, || Rehash {
        entry: proved.entry.0,
        name: name.clone(),
        spelled: subject.dn.clone(),
        stored: proved.stored.to_vec(),
        given: Zeroizing::new(proved.given.to_vec()),
        hashing,
    });
}

/// Whether a stored value is among those that an entry has now, in its own or a later form.
pub(crate) fn keeps(feed: &Feed, entry: EntryId, stored: &[u8], now: &[&[u8]]) -> bool {
    let digests = || now.iter().map(|it| digest_of(it)).collect::<Vec<u64>>();
    now.contains(&stored)
        || feed
            .renewals()
            .has_form_of(entry.0, digest_of(stored), &digests())
}
