//! Passwords of accounts that have a policy, tried by a bind or a compare
//! (draft-behera-ldap-password-policy-11 §8.1): what the policy makes of a right or a wrong one,
//! what the client is told, and what is noted.
//!
//! An answer never waits for a note. Until a note stands in the store it is laid over what the
//! snapshot says, so that nobody gets more guesses by being quick.

use crate::context::Context;
use crate::operation::bind::Desk;
use crate::writer::{Notes, Writer};
use policy::{Attempt, AttemptKind, Standing, Subject, Tag};
use protocol::control::{PasswordPolicyError, PasswordPolicyResponse, PasswordPolicyWarning};
use protocol::{Control, LdapResult, OwnedControl, ResultCode, oid};
use schema::Name;
use state::account::Account;
use state::stop::Stop;
use store::EntryId;

/// How a bind ended.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Who the session acts as from now on, if it succeeded.
    pub subject: Option<Box<Subject>>,
    pub result: LdapResult,
    pub controls: Vec<OwnedControl>,
    /// Only the password may be changed.
    pub must_change: bool,
    /// What a SASL mechanism says last.
    pub server_credentials: Option<Vec<u8>>,
}

impl Verdict {
    /// Of an account without a policy.
    pub fn plain(subject: Option<Box<Subject>>) -> Verdict {
        let code = match &subject {
            Some(_) => ResultCode::SUCCESS,
            // The same words whether the entry is missing or the password wrong: no hint which.
            None => ResultCode::INVALID_CREDENTIALS,
        };
        Verdict {
            subject,
            result: LdapResult::new(code, ""),
            controls: Vec::new(),
            must_change: false,
            server_credentials: None,
        }
    }
}

/// The account an entry is, with what was noted of it since the snapshot.
pub(crate) fn account(
    context: &Context<'_>,
    writer: &Writer,
    id: EntryId,
) -> Result<Option<Account>, Stop> {
    let mut account = context.account(id)?;
    if let Some(account) = &mut account {
        account.lay_over(&writer.notes().of(id, context.version()));
    }
    Ok(account)
}

/// The entry an account is, and how it is called.
pub(crate) type Whose<'w> = (&'w Name, &'w str);

/// A password of an account with a policy, to be judged.
pub(crate) struct Case<'c> {
    pub desk: &'c Desk<'c>,
    /// By the snapshot of this version.
    pub account: Account,
    pub version: u64,
    pub id: EntryId,
}

/// What a policy makes of a password.
#[derive(Debug)]
pub(crate) struct Judgement {
    /// It was right, and is good for something.
    pub accepted: bool,
    /// What the client may be told.
    pub response: PasswordPolicyResponse,
    /// Only the password may be changed.
    pub must_change: bool,
}

impl<'c> Case<'c> {
    /// The case of an entry; `None` when no policy is for it. The administrator has none: nobody
    /// could unlock it.
    #[inline]
    pub fn of(
        context: &Context<'_>,
        desk: &'c Desk<'c>,
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
            desk,
            account,
            version,
            id,
        }))
    }

    /// Whether no password can help.
    pub fn is_locked(&self) -> bool {
        let mut account = self.account.clone();
        account.lay_over(&self.desk.writer.notes().of(self.id, self.version));
        is_locked(account.standing(self.desk.now_us))
    }

    /// Decides about a password that is right or wrong, and notes it before another is judged.
    pub fn judge(&mut self, whose: Whose<'_>, guess: Tag, matched: bool) -> Judgement {
        let writer = self.desk.writer;
        let mut notes = writer.notes();
        self.account.lay_over(&notes.of(self.id, self.version));
        let judgement = self.decide(&mut notes, whose, guess, matched);
        let noted = !notes.is_empty();
        drop(notes);
        if noted {
            writer.wake();
        }
        judgement
    }

    fn decide(
        &mut self,
        notes: &mut Notes,
        whose: Whose<'_>,
        guess: Tag,
        matched: bool,
    ) -> Judgement {
        let standing = self.account.standing(self.desk.now_us);
        if is_locked(standing) {
            return self.refuse_locked();
        }
        if !matched {
            if !self.is_repeated(guess) {
                self.note(notes, whose, AttemptKind::Failed);
            }
            return match is_locked(self.account.standing(self.desk.now_us)) {
                true => self.refuse_locked(),
                false => refuse(None),
            };
        }
        self.note(notes, whose, AttemptKind::Succeeded);
        let mut response = PasswordPolicyResponse::default();
        match standing {
            Standing::Expired { grace_left: 0 } => {
                return refuse(Some(PasswordPolicyError::PasswordExpired));
            }
            Standing::Expired { grace_left } => {
                self.note(notes, whose, AttemptKind::Grace);
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

    /// That an account is locked helps its user, and also whoever guesses: it tells that there is
    /// such an account, and how many guesses are left. No password is looked at under a lock.
    fn refuse_locked(&self) -> Judgement {
        let told = self.desk.tells_locks;
        refuse(told.then_some(PasswordPolicyError::AccountLocked))
    }

    /// Whether the same wrong password was tried and counted before: a program that goes on with an
    /// old one learns nothing, and must not lock its user out.
    fn is_repeated(&self, guess: Tag) -> bool {
        let now_ms = self.desk.now_us / 1_000;
        let known = self.desk.wrong.contains(guess, now_ms);
        self.desk.wrong.insert(guess, now_ms);
        known
    }

    /// Notes an attempt if that changes anything.
    fn note(&mut self, notes: &mut Notes, whose: Whose<'_>, kind: AttemptKind) {
        let time_us = notes.time_us(self.desk.now_us);
        let attempt = Attempt { kind, time_us };
        let Account { policy, state } = &mut self.account;
        if policy.matters(state, attempt) {
            notes.add(self.id, whose, attempt);
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
    /// The end of a bind, which was to become this subject.
    pub fn of_bind(self, subject: Box<Subject>, asked: bool) -> Verdict {
        let mut controls: Vec<OwnedControl> = self.control(asked).into_iter().collect();
        controls.extend(expiry(self.response));
        Verdict {
            controls,
            must_change: self.must_change,
            ..Verdict::plain(self.accepted.then_some(subject))
        }
    }

    /// The response control, if the client asked for it and it has something to say.
    pub fn control(&self, asked: bool) -> Option<OwnedControl> {
        let says = self.response != PasswordPolicyResponse::default();
        (asked && says).then(|| policy_control(self.response))
    }
}

/// The controls of Netscape's servers, which nobody asks for.
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

/// The control for a refusal that the policy is the reason of, if the client asked.
pub(crate) fn refused(
    controls: &[Control<'_>],
    error: Option<PasswordPolicyError>,
) -> Option<OwnedControl> {
    let asked = || controls.iter().any(|it| it.oid == oid::PASSWORD_POLICY);
    tell(error.is_some() && asked(), error)
}

/// The control that says what the policy has against it, if the client asked.
pub(crate) fn tell(asked: bool, error: Option<PasswordPolicyError>) -> Option<OwnedControl> {
    let warning = None;
    let response = PasswordPolicyResponse { warning, error };
    (asked && error.is_some()).then(|| policy_control(response))
}

/// The response control (§6.2).
fn policy_control(response: PasswordPolicyResponse) -> OwnedControl {
    OwnedControl::with_value(oid::PASSWORD_POLICY, false, |out| response.encode(out))
}

/// The greatest number of the controls is 2^31 - 1.
fn bounded(number: u64) -> u32 {
    number.min(i32::MAX as u64) as u32
}
