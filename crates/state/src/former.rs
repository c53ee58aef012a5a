//! Comparison of new passwords with former ones (draft-behera-ldap-password-policy-11 §8.2).

use crate::stop::{Refusal, Stop};
use crate::write::{Change, Former, Given};
use policy::password::{self, Cost};
use protocol::control::PasswordPolicyError;
use protocol::{ChangeOperation, ResultCode};

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
        for value in &mut change.given.values {
            if change.operation == ChangeOperation::Delete {
                let old = former.stored.iter().find(|it| password::verify(it, value));
                if let Some(old) = old {
                    value.clone_from(old);
                    brings_old = true;
                }
            } else if former.keeps_history && has_had(former, value) {
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

fn has_had(former: &Former, value: &[u8]) -> bool {
    let mut all = former.stored.iter().chain(&former.history);
    all.any(|it| password::verify(it, value))
}
