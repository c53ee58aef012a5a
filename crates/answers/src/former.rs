//! Comparison of new passwords with former ones (draft-behera-ldap-password-policy-11 §8.2).

use policy::password::{self, Cost};
use protocol::control::PasswordPolicyError;
use protocol::{ChangeOperation, ResultCode};
use state::stop::{Refusal, Stop};
use state::write::{Change, Former, Given};

/// The refusal of a change under pwdSafeModify that lacks the present password.
pub fn without_old<T>() -> Result<T, Stop> {
    let text = "the policy wants the old password with the new one";
    let error = PasswordPolicyError::MustSupplyOldPassword;
    refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, error, text)
}

/// The refusal of a password by its policy.
pub fn refuse<T>(
    code: ResultCode,
    error: PasswordPolicyError,
    text: impl Into<String>,
) -> Result<T, Stop> {
    Err(Refusal::new(code, text).of_policy(error).into())
}

/// Whether looking at every value takes no time.
pub fn is_fast(former: &Former) -> bool {
    let mut all = former.stored.iter().chain(&former.history);
    all.all(|it| password::cost(it) == Cost::Fast)
}

/// Refuses a new password that was used before (§8.2.6), and puts the stored value in the place of
/// an old password in the clear that is to be deleted (§8.2.1), which must be among the values if
/// the policy requires the old password.
pub fn apply(
    former: &Former,
    change: &mut Change,
    password_type: schema::TypeId,
) -> Result<(), Stop> {
    let Change::Modify(changes) = change else {
        return Ok(());
    };
    let mine = |it: &Given| it.description.type_id == password_type;
    let mut brings_old = false;
    for change in changes.iter_mut().filter(|it| mine(&it.given)) {
        if change.operation == ChangeOperation::Delete {
            brings_old |= put_stored(former, &mut change.given.values);
            continue;
        }
        for value in &change.given.values {
            if former.keeps_history && has_had(former, value) {
                let text = "the password was used before";
                let error = PasswordPolicyError::PasswordInHistory;
                return refuse(ResultCode::CONSTRAINT_VIOLATION, error, text);
            }
        }
    }
    match former.wants_old && !former.stored.is_empty() && !brings_old {
        true => without_old(),
        false => Ok(()),
    }
}

/// Puts the stored values of an old password in its place: its hash, and keys of SCRAM beside it.
/// Returns whether there are any.
fn put_stored(former: &Former, values: &mut Vec<Vec<u8>>) -> bool {
    let mut own = Vec::new();
    values.retain(|value| {
        let stored = former.stored.iter();
        let before = own.len();
        own.extend(stored.filter(|it| password::verify(it, value)).cloned());
        own.len() == before
    });
    own.sort();
    own.dedup();
    let found = !own.is_empty();
    values.append(&mut own);
    found
}

fn has_had(former: &Former, value: &[u8]) -> bool {
    let mut all = former.stored.iter().chain(&former.history);
    all.any(|it| password::verify(it, value))
}
