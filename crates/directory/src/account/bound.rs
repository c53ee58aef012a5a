//! The account that a connection is bound as: the connection ends when the account is deleted,
//! renamed or locked by an administrator, when its time or that of its password or token is over,
//! or when another connection changes its password.
//!
//! The writer publishes the store version of the last commit that may concern accounts; a
//! connection whose account was checked at an earlier version checks it again, once. Any other
//! request costs one load and one comparison. Idle connections are found by their seats.

use crate::account::passwords::stored_passwords;
use crate::context::{Context, Place};
use crate::feed::Feed;
use policy::seats::{Doubts, Seat, Seats};
use policy::{Lock, Subject};
use protocol::MessageId;
use smallvec::SmallVec;
use state::account::Account;
use state::passwords::{digest_of, sum_of};
use state::stop::Stop;
use std::cell::Cell;
use std::rc::Rc;
use store::EntryId;

/// Diagnostic message for a client whose account has changed.
pub(crate) const ENDED: &str = "the account of this connection was deleted, renamed or locked, \
                                its time is over, its token has expired, or its password was \
                                changed: bind again";

/// An account, as it was when a connection authenticated.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Id of the entry. Ids are never reused, so another entry of this name is recognised.
    entry: EntryId,
    /// Id of the entry that the connection acts as; `None` if it acts as the account itself.
    acting: Option<EntryId>,
    /// Hash of the stored passwords; `None` if the identity was proved otherwise.
    passwords: Option<u64>,
    /// Whether the password had expired when the connection authenticated (a grace bind).
    was_late: bool,
    /// The second since 1970 at which the token expires; `None` if there is none.
    token_end_s: Option<u64>,
    /// Place among the bound sessions of the thread, with the next time at which to check again.
    seat: Option<Seat>,
    /// Store version at which the account was last checked.
    judged: Cell<u64>,
    /// Message ids of this connection's own unfinished password changes.
    own: Vec<MessageId>,
}

impl Bound {
    /// The account of a context's subject, which has just authenticated. `None` if it has no entry,
    /// or the entry was deleted.
    pub fn of(context: &Context<'_>) -> Result<Option<Box<Bound>>, Stop> {
        let Some(entry) = entry_of(context, context.subject)? else {
            return Ok(None);
        };
        let by_password = context.subject.authentication.is_by_password();
        let passwords = by_password.then(|| passwords_of(context, entry));
        Ok(Some(Bound::new(context, entry, passwords.transpose()?)))
    }

    /// The account that holds these passwords, one of which has just been verified.
    pub fn by_password(context: &Context<'_>, entry: EntryId, stored: &[&[u8]]) -> Box<Bound> {
        Bound::new(context, entry, Some(hash_of(stored.iter().copied())))
    }

    /// The account that a token stands for, which expires at this second since 1970.
    pub fn by_token(context: &Context<'_>, entry: EntryId, end_s: u64) -> Box<Bound> {
        let mut bound = Bound::new(context, entry, None);
        bound.token_end_s = Some(end_s);
        bound
    }

    /// The account with the entry that the context's subject acts as. If that one has no entry, the
    /// account alone.
    pub fn acting(
        bound: Option<Box<Bound>>,
        context: &Context<'_>,
    ) -> Result<Option<Box<Bound>>, Stop> {
        let acting = entry_of(context, context.subject)?;
        Ok(bound.map(|mut bound| {
            bound.acting = acting;
            bound
        }))
    }

    fn new(context: &Context<'_>, entry: EntryId, passwords: Option<u64>) -> Box<Bound> {
        Box::new(Bound {
            entry,
            acting: None,
            passwords,
            was_late: false,
            token_end_s: None,
            seat: None,
            judged: Cell::new(context.version()),
            own: Vec::new(),
        })
    }

    /// Gives the connection its seat, as soon as it has authenticated.
    pub fn sit(
        &mut self,
        context: &Context<'_>,
        seats: &Rc<Seats>,
        session: u64,
    ) -> Result<(), Stop> {
        self.seat = Some(seats.take(self.entry.0, session));
        let account = context.account(self.entry)?;
        if let Some(it) = &account {
            self.was_late = it.policy.has_expired(&it.state, context.now_us());
        }
        self.note_end(context, account.as_ref());
        Ok(())
    }

    fn note_end(&mut self, context: &Context<'_>, account: Option<&Account>) {
        let by_password = self.passwords.is_some() && !self.was_late;
        let next_s =
            |it: &Account| (it.policy).next_end_s(&it.state, context.now_us(), by_password);
        if let Some(seat) = &mut self.seat {
            let ends = [account.and_then(next_s), self.token_end_s];
            seat.set_end(ends.into_iter().flatten().min());
        }
    }

    /// Whether the account may have changed since it was checked. `version` is that of the last
    /// commit that concerned any account.
    #[inline]
    pub fn is_doubtful(&self, version: u64) -> bool {
        self.judged.get() < version
    }

    /// Whether a time has come at which to check the account.
    pub fn is_due(&self, now_us: u64) -> bool {
        let end_s = self.seat.as_ref().and_then(Seat::end_s);
        end_s.is_some_and(|it| it <= now_us / 1_000_000)
    }

    /// Whether commits up to `version` concerned other accounts only; notes it then.
    pub fn is_spared(&self, doubts: &Doubts, version: u64) -> bool {
        let concerns = |entry: EntryId| doubts.concern(entry.0, self.judged.get());
        let spared = !concerns(self.entry) && !self.acting.is_some_and(concerns);
        if spared && self.own.is_empty() {
            self.judged.set(version.max(self.judged.get()));
        }
        spared
    }

    /// Whether the account is unchanged. The context's snapshot must be taken after `version` was
    /// read.
    pub fn holds(
        &mut self,
        context: &Context<'_>,
        feed: &Feed,
        version: u64,
    ) -> Result<bool, Stop> {
        // This connection is changing the password: the account is checked when the change is done.
        if !self.own.is_empty() {
            return Ok(true);
        }
        let subject = context.subject;
        if !is_usable(context, subject.real(), self.entry)? {
            return Ok(false);
        }
        if let Some(acting) = self.acting
            && !is_usable(context, subject, acting)?
        {
            return Ok(false);
        }
        let now_us = context.now_us();
        if self.token_end_s.is_some_and(|it| it <= now_us / 1_000_000) {
            return Ok(false);
        }
        let account = context.account(self.entry)?;
        if let Some(Account { policy, state }) = &account {
            let expires = self.passwords.is_some() && !self.was_late;
            if policy.is_closed(state, now_us) || expires && policy.has_expired(state, now_us) {
                return Ok(false);
            }
        }
        self.note_end(context, account.as_ref());
        if let Some(passwords) = self.passwords {
            let now = passwords_of(context, self.entry)?;
            // The same password may have been stored in another form.
            if now != passwords && !feed.renewals().leads(self.entry.0, passwords, now) {
                return Ok(false);
            }
            self.passwords = Some(now);
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
        if self.passwords.is_some() {
            self.passwords = Some(passwords_of(context, self.entry)?);
            self.was_late = false;
        }
        Ok(())
    }
}

/// Whether an entry is still that of a subject, and not locked by an administrator.
fn is_usable(context: &Context<'_>, subject: &Subject, entry: EntryId) -> Result<bool, Stop> {
    if entry_of(context, subject)? != Some(entry) {
        return Ok(false);
    }
    let account = context.account(entry)?;
    Ok(account.is_none_or(|it| it.state.locked != Some(Lock::ForGood)))
}

/// The entry that holds the password of a subject; `None` if there is none.
fn entry_of(context: &Context<'_>, subject: &Subject) -> Result<Option<EntryId>, Stop> {
    let Some(name) = &subject.name else {
        return Ok(None);
    };
    if subject.is_administrator() {
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
