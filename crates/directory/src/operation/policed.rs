//! Binds of accounts that have a password policy (draft-behera-ldap-password-policy-11 §8.1): what
//! the policy makes of a right or a wrong password, what the client is told, and what is noted.
//!
//! An answer never waits for a note. Until a note stands in the store it is laid over what the
//! snapshot says, so that nobody gets more guesses by being quick.

use crate::account::Account;
use crate::context::Context;
use crate::operation::bind::Desk;
use crate::stop::Stop;
use crate::writer::{Notes, Writer};
use policy::{Attempt, AttemptKind, Standing, Subject};
use protocol::control::{PasswordPolicyError, PasswordPolicyResponse, PasswordPolicyWarning};
use protocol::{Control, LdapResult, OwnedControl, ResultCode, oid};
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

/// A bind to be judged.
pub(crate) struct Case<'c> {
    pub desk: &'c Desk<'c>,
    /// By the snapshot of this version.
    pub account: Account,
    pub version: u64,
    pub id: EntryId,
    /// The client asked for the response control.
    pub asked: bool,
}

impl Case<'_> {
    /// Whether no password can help.
    pub fn is_locked(&self) -> bool {
        let mut account = self.account.clone();
        account.lay_over(&self.desk.writer.notes().of(self.id, self.version));
        is_locked(account.standing(self.desk.now_us))
    }

    /// Decides about a password that is right or wrong, and notes it before another is judged.
    pub fn judge(&mut self, subject: Box<Subject>, matched: bool) -> Verdict {
        let writer = self.desk.writer;
        let mut notes = writer.notes();
        self.account.lay_over(&notes.of(self.id, self.version));
        let verdict = self.decide(&mut notes, subject, matched);
        let noted = !notes.is_empty();
        drop(notes);
        if noted {
            writer.wake();
        }
        verdict
    }

    fn decide(&mut self, notes: &mut Notes, subject: Box<Subject>, matched: bool) -> Verdict {
        let standing = self.account.standing(self.desk.now_us);
        if is_locked(standing) {
            return self.refuse(Some(PasswordPolicyError::AccountLocked));
        }
        if !matched {
            self.note(notes, &subject, AttemptKind::Failed);
            let locked = is_locked(self.account.standing(self.desk.now_us));
            return self.refuse(locked.then_some(PasswordPolicyError::AccountLocked));
        }
        self.note(notes, &subject, AttemptKind::Succeeded);
        let mut response = PasswordPolicyResponse::default();
        match standing {
            Standing::Expired { grace_left: 0 } => {
                return self.refuse(Some(PasswordPolicyError::PasswordExpired));
            }
            Standing::Expired { grace_left } => {
                self.note(notes, &subject, AttemptKind::Grace);
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
        Verdict {
            controls: self.controls(response),
            must_change: standing == Standing::MustChange,
            ..Verdict::plain(Some(subject))
        }
    }

    fn refuse(&self, error: Option<PasswordPolicyError>) -> Verdict {
        let warning = None;
        Verdict {
            controls: self.controls(PasswordPolicyResponse { warning, error }),
            ..Verdict::plain(None)
        }
    }

    /// Notes an attempt if that changes anything.
    fn note(&mut self, notes: &mut Notes, subject: &Subject, kind: AttemptKind) {
        let time_us = notes.time_us(self.desk.now_us);
        let attempt = Attempt { kind, time_us };
        let Account { policy, state } = &mut self.account;
        let Some(name) = subject
            .name
            .as_ref()
            .filter(|_| policy.matters(state, attempt))
        else {
            return;
        };
        notes.add(self.id, (name, &subject.dn), attempt);
        policy.note(state, attempt);
    }

    /// What comes with the result: the control that was asked for, if it has something to say, and
    /// those of Netscape's servers, which nobody asks for.
    fn controls(&self, response: PasswordPolicyResponse) -> Vec<OwnedControl> {
        use PasswordPolicyError::{ChangeAfterReset, PasswordExpired};
        use PasswordPolicyWarning::{GraceAuthenticationsRemaining, TimeBeforeExpiration};
        let mut controls = Vec::new();
        if self.asked && response != PasswordPolicyResponse::default() {
            controls.push(policy_control(response));
        }
        let text = |oid, text: String| {
            OwnedControl::with_value(oid, false, |out| out.extend_from_slice(text.as_bytes()))
        };
        match (response.warning, response.error) {
            (_, Some(PasswordExpired | ChangeAfterReset))
            | (Some(GraceAuthenticationsRemaining(_)), _) => {
                controls.push(text(oid::PASSWORD_EXPIRED, "0".to_owned()));
            }
            (Some(TimeBeforeExpiration(left_s)), _) => {
                controls.push(text(oid::PASSWORD_EXPIRING, left_s.to_string()));
            }
            _ => {}
        }
        controls
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
