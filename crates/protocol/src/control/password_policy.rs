//! Password policy control (draft-behera-ldap-password-policy-11 §6).
//!
//! The request control has no value.

use super::sequence_of;
use crate::ber::{SEQUENCE, put_integer, put_nested};
use crate::error::{Component, DecodeError};

/// `PasswordPolicyResponseValue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordPolicyResponse {
    /// A warning; `None` if there is none.
    pub warning: Option<PasswordPolicyWarning>,
    /// An error; `None` if there is none.
    pub error: Option<PasswordPolicyError>,
}

/// Warning of a password policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordPolicyWarning {
    /// Seconds until the password expires.
    TimeBeforeExpiration(u32),
    /// Remaining binds with the expired password.
    GraceAuthenticationsRemaining(u32),
}

/// Error of a password policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordPolicyError {
    /// The password has expired.
    PasswordExpired = 0,
    /// The account is locked.
    AccountLocked = 1,
    /// The password must be changed before anything else.
    ChangeAfterReset = 2,
    /// Users may not change this password.
    PasswordModNotAllowed = 3,
    /// The old password must be given too.
    MustSupplyOldPassword = 4,
    /// The new password is too weak.
    InsufficientPasswordQuality = 5,
    /// The new password is too short.
    PasswordTooShort = 6,
    /// The present password is too new to be changed.
    PasswordTooYoung = 7,
    /// The new password was used before.
    PasswordInHistory = 8,
    /// The new password is too long.
    PasswordTooLong = 9,
}

impl PasswordPolicyResponse {
    /// Decodes the response control's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let mut warning = None;
        if parts.peek_tag() == Some(0xA0) {
            let mut choice = parts.nested(0xA0)?;
            warning = Some(match choice.peek_tag() {
                Some(0x80) => PasswordPolicyWarning::TimeBeforeExpiration(
                    choice.max_int(0x80, Component::TimeBeforeExpiration)?,
                ),
                Some(0x81) => PasswordPolicyWarning::GraceAuthenticationsRemaining(
                    choice.max_int(0x81, Component::GraceAuthentications)?,
                ),
                Some(tag) => {
                    return Err(DecodeError::UnknownChoice {
                        what: Component::PasswordPolicyWarning,
                        tag,
                    });
                }
                None => return Err(DecodeError::MissingElement { expected: 0x80 }),
            });
            choice.finish()?;
        }
        let error = match parts.peek_tag() {
            Some(0x81) => Some(error(parts.integer(0x81)?)?),
            _ => None,
        };
        parts.finish_extensible()?;
        Ok(PasswordPolicyResponse { warning, error })
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            if let Some(warning) = self.warning {
                put_nested(out, 0xA0, |out| match warning {
                    PasswordPolicyWarning::TimeBeforeExpiration(seconds) => {
                        put_integer(out, 0x80, i64::from(seconds));
                    }
                    PasswordPolicyWarning::GraceAuthenticationsRemaining(binds) => {
                        put_integer(out, 0x81, i64::from(binds));
                    }
                });
            }
            if let Some(error) = self.error {
                put_integer(out, 0x81, error as i64);
            }
        });
    }
}

fn error(number: i64) -> Result<PasswordPolicyError, DecodeError> {
    Ok(match number {
        0 => PasswordPolicyError::PasswordExpired,
        1 => PasswordPolicyError::AccountLocked,
        2 => PasswordPolicyError::ChangeAfterReset,
        3 => PasswordPolicyError::PasswordModNotAllowed,
        4 => PasswordPolicyError::MustSupplyOldPassword,
        5 => PasswordPolicyError::InsufficientPasswordQuality,
        6 => PasswordPolicyError::PasswordTooShort,
        7 => PasswordPolicyError::PasswordTooYoung,
        8 => PasswordPolicyError::PasswordInHistory,
        9 => PasswordPolicyError::PasswordTooLong,
        value => {
            return Err(DecodeError::out_of_range(
                Component::PasswordPolicyError,
                value,
            ));
        }
    })
}
