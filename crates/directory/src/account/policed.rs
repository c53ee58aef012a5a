//! Password attempts, by bind or compare, on accounts with a password policy
//! (draft-behera-ldap-password-policy-11 §8.1): the result, the response control, and the recorded
//! attempt.
//!
//! A response never waits for its record to be stored. Until then the record is merged with the
//! account's stored state, so that parallel attempts do not get more guesses.

use crate::account::bind_state::BindState;
use crate::account::verdict::Verdict;
use crate::context::Context;
use crate::ticket::Ticket;
use policy::{Attempt, AttemptKind, Standing, Subject, Tag, Trial};
use protocol::control::{PasswordPolicyError, PasswordPolicyResponse, PasswordPolicyWarning};
use protocol::{Control, OwnedControl, oid};
use replica::{Attempts, Replica};
use schema::Name;
use state::account::Account;
use state::stop::Stop;
use store::EntryId;

/// The entry as an account, including attempts recorded since the snapshot; `None` if no policy
/// applies.
pub(crate) fn account(
    context: &Context<'_>,
    replica: &Replica<Ticket>,
    id: EntryId,
) -> Result<Option<Account>, Stop> {
    let mut account = context.account(id)?;
    if let Some(account) = &mut account {
        account.lay_over(&replica.attempts().of(id, context.version()));
    }
    Ok(account)
}

/// Name of an account's entry.
#[derive(Clone, Copy)]
pub(crate) struct AccountName<'n> {
    pub name: &'n Name,
    pub spelled: &'n str,
}

/// A password attempt on an account with a policy, before the policy has decided.
pub(crate) struct Case<'c> {
    pub bind_state: &'c BindState<'c>,
    /// State of the account in the snapshot `version`.
    pub account: Account,
    pub version: u64,
    pub id: EntryId,
    /// Whether a right password is answered with the reason, under a lock.
    pub tells_lock: bool,
}

/// Decision of a policy about a password attempt.
#[derive(Debug)]
pub(crate) struct Judgement {
    /// Whether the password was right and the policy admits it.
    pub accepted: bool,
    /// Contents of the password policy response control.
    pub response: PasswordPolicyResponse,
    /// Whether the session may do nothing but change its password.
    pub must_change: bool,
}

impl<'c> Case<'c> {
    /// The account of an entry with its policy; `None` if no policy applies. The administrator has
    /// no policy, because nobody could unlock it.
    #[inline]
    pub fn of(
        context: &Context<'_>,
        bind_state: &'c BindState<'c>,
        id: EntryId,
    ) -> Result<Option<Case<'c>>, Stop> {
        let catalog = context.catalog;
        let administrator = catalog.administrator.as_ref();
        if catalog.policing.is_idle(&catalog.schema)
            || administrator.is_some_and(|it| it.entry == id)
        {
            return Ok(None);
        }
        let version = context.version();
        let account = context.account(id)?;
        Ok(account.map(|account| Case {
            bind_state,
            account,
            version,
            id,
            tells_lock: false,
        }))
    }

    /// Lets a right password be answered with the lock, where a setting allows it and the trial
    /// comes from an address at which the password of the account was right lately. Others could
    /// otherwise go on guessing under the lock.
    pub fn tell_lock(&mut self, trial: &Trial) {
        self.tells_lock = self.bind_state.passwords.tell_locked && trial.is_known();
    }

    /// Whether the account is locked, so that no password is accepted.
    pub fn is_locked(&self) -> bool {
        let mut account = self.account.clone();
        account.lay_over(&self.bind_state.replica.attempts().of(self.id, self.version));
        is_locked(account.standing(self.bind_state.now_us))
    }

    /// Applies the policy to a right or wrong password, and records the attempt before the policy
    /// is applied to the next one.
    pub fn judge(&mut self, account: AccountName<'_>, guess: Tag, matched: bool) -> Judgement {
        let replica = self.bind_state.replica;
        let mut attempts = replica.attempts();
        self.account.lay_over(&attempts.of(self.id, self.version));
        let judgement = self.decide(&mut attempts, account, guess, matched);
        let added = !attempts.is_empty();
        drop(attempts);
        if added {
            replica.attempts_added();
        }
        judgement
    }

    fn decide(
        &mut self,
        attempts: &mut Attempts,
        account: AccountName<'_>,
        guess: Tag,
        matched: bool,
    ) -> Judgement {
        let standing = self.account.standing(self.bind_state.now_us);
        if is_locked(standing) {
            return self.refuse_locked(matched);
        }
        if !matched {
            if !self.is_repeated(guess) {
                self.note(attempts, account, AttemptKind::Failed);
            }
            return refuse(None);
        }
        self.note(attempts, account, AttemptKind::Succeeded);
        let mut response = PasswordPolicyResponse::default();
        match standing {
            Standing::Expired { grace_left: 0 } => {
                return refuse(Some(PasswordPolicyError::PasswordExpired));
            }
            Standing::Expired { grace_left } => {
                self.note(attempts, account, AttemptKind::Grace);
                let left = bounded(grace_left - 1);
                let warning = PasswordPolicyWarning::GraceAuthenticationsRemaining(left);
                response.warning = Some(warning);
            }
            Standing::Usable {
                expires_in_s: Some(left_s),
                warn: true,
            } => {
                let warning = PasswordPolicyWarning::TimeBeforeExpiration(bounded(left_s));
                response.warning = Some(warning);
            }
            Standing::MustChange => response.error = Some(PasswordPolicyError::ChangeAfterReset),
            Standing::Usable { .. } | Standing::Locked { .. } => {}
        }
        Judgement {
            accepted: true,
            response,
            must_change: standing == Standing::MustChange,
        }
    }

    /// Refuses under a lock. Only a right password may be told so: to anybody else it would reveal
    /// that the account exists and when to go on guessing.
    fn refuse_locked(&self, matched: bool) -> Judgement {
        let told = matched && self.tells_lock;
        refuse(told.then_some(PasswordPolicyError::AccountLocked))
    }

    /// Whether this wrong password was counted before. A program that keeps using an old password
    /// learns nothing by it, and must not lock its user out.
    fn is_repeated(&self, guess: Tag) -> bool {
        if self.bind_state.passwords.count_repeated {
            return false;
        }
        let now_ms = self.bind_state.now_us / 1_000;
        let known = self.bind_state.wrong.contains(guess, now_ms);
        self.bind_state.wrong.insert(guess, now_ms);
        known
    }

    /// Records an attempt if it changes the account's state.
    fn note(&mut self, attempts: &mut Attempts, account: AccountName<'_>, kind: AttemptKind) {
        let time_us = attempts.time_us(self.bind_state.now_us);
        let attempt = Attempt { kind, time_us };
        let Account { policy, state } = &mut self.account;
        if policy.matters(state, attempt) {
            attempts.add(self.id, account.name, account.spelled, attempt);
            policy.note(state, attempt);
        }
    }
}

fn refuse(error: Option<PasswordPolicyError>) -> Judgement {
    let warning = None;
    Judgement {
        accepted: false,
        response: PasswordPolicyResponse { warning, error },
        must_change: false,
    }
}

impl Judgement {
    /// The result of a bind as `subject`; `asked` says whether the client wants the policy control.
    pub fn of_bind(self, subject: Box<Subject>, asked: bool) -> Verdict {
        let mut controls: Vec<OwnedControl> = self.control(asked).into_iter().collect();
        controls.extend(expiry(self.response));
        Verdict {
            controls,
            must_change: self.must_change,
            ..Verdict::plain(self.accepted.then_some(subject))
        }
    }

    /// The response control; `None` if the client did not ask for it or it would be empty.
    pub fn control(&self, asked: bool) -> Option<OwnedControl> {
        let says = self.response != PasswordPolicyResponse::default();
        (asked && says).then(|| policy_control(self.response))
    }
}

/// The expired or expiring control of Netscape's servers, which is sent without being requested.
fn expiry(response: PasswordPolicyResponse) -> Option<OwnedControl> {
    use PasswordPolicyError::{ChangeAfterReset, PasswordExpired};
    use PasswordPolicyWarning::{GraceAuthenticationsRemaining, TimeBeforeExpiration};
    let text = |oid, text: String| {
        OwnedControl::with_value(oid, false, |out| out.extend_from_slice(text.as_bytes()))
    };
    match (response.warning, response.error) {
        (_, Some(PasswordExpired | ChangeAfterReset))
        | (Some(GraceAuthenticationsRemaining(_)), _) => {
            Some(text(oid::PASSWORD_EXPIRED, "0".to_owned()))
        }
        (Some(TimeBeforeExpiration(left_s)), _) => {
            Some(text(oid::PASSWORD_EXPIRING, left_s.to_string()))
        }
        _ => None,
    }
}

fn is_locked(standing: Standing) -> bool {
    matches!(standing, Standing::Locked { .. })
}

/// The response control for a refusal by the policy, if the client asked for it.
pub(crate) fn refused(
    controls: &[Control<'_>],
    error: Option<PasswordPolicyError>,
) -> Option<OwnedControl> {
    let asked = || controls.iter().any(|it| it.oid == oid::PASSWORD_POLICY);
    tell(error.is_some() && asked(), error)
}

/// The response control with the policy's error, if the client asked for it.
pub(crate) fn tell(asked: bool, error: Option<PasswordPolicyError>) -> Option<OwnedControl> {
    let warning = None;
    let response = PasswordPolicyResponse { warning, error };
    (asked && error.is_some()).then(|| policy_control(response))
}

/// The response control (§6.2).
fn policy_control(response: PasswordPolicyResponse) -> OwnedControl {
    OwnedControl::with_value(oid::PASSWORD_POLICY, false, |out| response.encode(out))
}

/// Numbers in the controls are at most 2^31 - 1.
fn bounded(number: u64) -> u32 {
    number.min(i32::MAX as u64) as u32
}
