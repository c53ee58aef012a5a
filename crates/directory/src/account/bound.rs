//! The account that a connection is bound as: the connection ends when the account is deleted,
//! renamed or locked by an administrator, or when another connection changes its password.
//!
//! The writer publishes the store version of the last commit that may concern accounts; a
//! connection whose account was checked at an earlier version checks it again, once. Any other
//! request costs one load and one comparison.

use crate::account::passwords::stored_passwords;
use crate::context::{Context, Place};
use crate::feed::Feed;
use policy::{Authentication, Lock};
use protocol::MessageId;
use smallvec::SmallVec;
use state::passwords::{digest_of, sum_of};
use state::stop::Stop;
use std::cell::Cell;
use store::EntryId;

/// Diagnostic message for a client whose account has changed.
pub(crate) const ENDED: &str = "the account of this connection was deleted, renamed or locked, \
                                or its password was changed: bind again";

/// An account, as it was when a connection authenticated.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Id of the entry. Ids are never reused, so another entry of this name is recognised.
    entry: EntryId,
    /// Hash of the stored passwords; `None` if the identity was proved otherwise.
    passwords: Cell<Option<u64>>,
    /// Store version at which the account was last checked.
    judged: Cell<u64>,
    /// Message ids of this connection's own unfinished password changes.
    own: Vec<MessageId>,
}

impl Bound {
    /// The account of a context's subject, which has just authenticated. `None` if it has no entry,
    /// or the entry was deleted.
    pub fn of(context: &Context<'_>) -> Result<Option<Box<Bound>>, Stop> {
        let Some(entry) = entry_of(context)? else {
            return Ok(None);
        };
        let by_password = context.subject.authentication == Authentication::Simple;
        let passwords = by_password.then(|| passwords_of(context, entry));
        Ok(Some(Bound::new(context, entry, passwords.transpose()?)))
    }

    /// The account that holds these passwords, one of which has just been verified.
    pub fn by_password(context: &Context<'_>, entry: EntryId, stored: &[&[u8]]) -> Box<Bound> {
        Bound::new(context, entry, Some(hash_of(stored.iter().copied())))
    }

    fn new(context: &Context<'_>, entry: EntryId, passwords: Option<u64>) -> Box<Bound> {
        Box::new(Bound {
            entry,
            passwords: Cell::new(passwords),
            judged: Cell::new(context.version()),
            own: Vec::new(),
        })
    }

    /// Whether the account may have changed since it was checked. `version` is that of the last
    /// commit that concerned any account.
    #[inline]
    pub fn is_doubtful(&self, version: u64) -> bool {
        self.judged.get() < version
    }

    /// Whether the account is unchanged. The context's snapshot must be taken after `version` was
    /// read.
    pub fn holds(&self, context: &Context<'_>, feed: &Feed, version: u64) -> Result<bool, Stop> {
        // This connection is changing the password: the account is checked when the change is done.
        if !self.own.is_empty() {
            return Ok(true);
        }
        if entry_of(context)? != Some(self.entry) {
            return Ok(false);
        }
        let account = context.account(self.entry)?;
        if account.is_some_and(|it| it.state.locked == Some(Lock::ForGood)) {
            return Ok(false);
        }
        if let Some(passwords) = self.passwords.get() {
            let now = passwords_of(context, self.entry)?;
            // The same password may have been stored in another form.
            if now != passwords && !feed.renewals().leads(self.entry.0, passwords, now) {
                return Ok(false);
            }
            self.passwords.set(Some(now));
        }
        self.judged.set(version.max(context.version()));
        Ok(true)
    }

    /// Records that the connection sent a change of its own password.
    pub fn changes_password(&mut self, id: MessageId) {
        self.own.push(id);
    }

    /// Whether this request was a change of the own password; removes it, because it was answered.
    pub fn is_own(&mut self, id: MessageId) -> bool {
        let at = self.own.iter().position(|it| *it == id);
        at.map(|at| self.own.swap_remove(at)).is_some()
    }

    /// Stores the hash of the password that the connection has set.
    pub fn renew(&mut self, context: &Context<'_>) -> Result<(), Stop> {
        if self.passwords.get().is_some() {
            self.passwords.set(Some(passwords_of(context, self.entry)?));
        }
        Ok(())
    }
}

/// The entry that holds the password of a context's subject; `None` if there is none.
fn entry_of(context: &Context<'_>) -> Result<Option<EntryId>, Stop> {
    let Some(name) = &context.subject.name else {
        return Ok(None);
    };
    if context.subject.is_administrator() {
        let kept = context.catalog.administrator.as_ref();
        return Ok(kept.filter(|it| it.name == *name).map(|it| it.entry));
    }
    Ok(match context.find_any(name)? {
        Place::Found(entry) => Some(entry),
        Place::Missing { .. } => None,
    })
}

fn passwords_of(context: &Context<'_>, entry: EntryId) -> Result<u64, Stop> {
    let stored = stored_passwords(context, entry)?;
    Ok(hash_of(stored.into_iter()))
}

fn hash_of<'v>(stored: impl Iterator<Item = &'v [u8]>) -> u64 {
    sum_of(&stored.map(digest_of).collect::<SmallVec<[u64; 2]>>())
}
