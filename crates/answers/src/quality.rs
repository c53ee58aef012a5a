//! Refusals of new passwords by the policy of their account (draft-behera-ldap-password-policy-11
//! §8.2), decided where a change is resolved, never in execution.

use crate::former::{refuse, without_old};
use policy::PasswordPolicy;
use policy::password;
use policy::quality::{AskedLists, PasswordLists};
use protocol::ResultCode;
use protocol::control::PasswordPolicyError;
use state::account::Account;
use state::stop::{Failure, Stop};

/// Checks whether the user may change the password now (§8.2.1, §8.2.3, §8.2.4).
///
/// # Errors
/// The rule that forbids it.
pub fn refuse_change(
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

/// Checks the quality of a new password (§8.2.5), except for lists. Length counts characters if the
/// password is text, octets otherwise. `known` are the old password, if it came in the clear, and
/// values of the user's entry.
///
/// # Errors
/// The rule that the password does not meet.
pub fn refuse_quality(policy: &PasswordPolicy, value: &[u8], known: &[&[u8]]) -> Result<(), Stop> {
    let violation = ResultCode::CONSTRAINT_VIOLATION;
    if password::is_hashed(value) {
        // A salted hash of a former password is indistinguishable from the hash of a new one.
        if policy.check_quality < 2 && policy.in_history == 0 {
            return Ok(());
        }
        return weak("the policy wants to check the password: it must come in the clear");
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
    policy
        .quality
        .check(value, known)
        .or_else(|it| weak(&it.to_string()))
}

/// Refuses a password that stands in one of the lists that its policy asks; any password, if a list
/// cannot be asked.
///
/// # Errors
/// The list that has the password; the failure to read one.
pub fn refuse_listed(
    asked: AskedLists,
    lists: &dyn PasswordLists,
    value: &[u8],
) -> Result<(), Stop> {
    match asked.check(lists, value) {
        Ok(checked) => checked.or_else(|it| weak(&it.to_string())),
        Err(error) => Err(Failure::file("looking up a new password", error).into()),
    }
}

fn weak(text: &str) -> Result<(), Stop> {
    let error = PasswordPolicyError::InsufficientPasswordQuality;
    refuse(ResultCode::CONSTRAINT_VIOLATION, error, text)
}
