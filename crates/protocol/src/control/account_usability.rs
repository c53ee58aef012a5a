//! Account usability control (Sun Directory Server): whether the account of an entry can be used.
//!
//! The request control has no value.

use crate::ber::{Reader, put_boolean, put_integer, put_nested};
use crate::error::{Component, DecodeError};

/// Value of the response control of each entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountUsability {
    /// The account can be used.
    Usable {
        /// Seconds until the password expires; -1 when it never does.
        expires_in_s: i32,
    },
    /// The account cannot be used.
    Unusable(AccountTrouble),
}

/// Reasons why an account cannot be used: `MORE_INFO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccountTrouble {
    /// The account is locked or deactivated.
    pub inactive: bool,
    /// The password was reset and must be changed first.
    pub must_change: bool,
    /// The password has expired.
    pub expired: bool,
    /// Remaining binds with the expired password.
    pub grace_binds: Option<i32>,
    /// Seconds until the lock ends.
    pub unlocked_in_s: Option<i32>,
}

const USABLE: u8 = 0x80;
const UNUSABLE: u8 = 0xA1;

impl AccountUsability {
    /// Decodes the response control's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value);
        let decoded = match reader.peek_tag() {
            Some(UNUSABLE) => {
                let mut parts = reader.nested(UNUSABLE)?;
                let trouble = AccountTrouble {
                    inactive: parts.boolean_or_false(0x80)?,
                    must_change: parts.boolean_or_false(0x81)?,
                    expired: parts.boolean_or_false(0x82)?,
                    grace_binds: optional_number(&mut parts, 0x83)?,
                    unlocked_in_s: optional_number(&mut parts, 0x84)?,
                };
                parts.finish_extensible()?;
                AccountUsability::Unusable(trouble)
            }
            _ => AccountUsability::Usable {
                expires_in_s: number(&mut reader, USABLE)?,
            },
        };
        reader.finish()?;
        Ok(decoded)
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            AccountUsability::Usable { expires_in_s } => {
                put_integer(out, USABLE, i64::from(*expires_in_s));
            }
            AccountUsability::Unusable(trouble) => put_nested(out, UNUSABLE, |out| {
                let flags = [
                    (0x80, trouble.inactive),
                    (0x81, trouble.must_change),
                    (0x82, trouble.expired),
                ];
                for (tag, flag) in flags {
                    if flag {
                        put_boolean(out, tag, true);
                    }
                }
                for (tag, number) in [(0x83, trouble.grace_binds), (0x84, trouble.unlocked_in_s)] {
                    if let Some(number) = number {
                        put_integer(out, tag, i64::from(number));
                    }
                }
            }),
        }
    }
}

fn number(parts: &mut Reader<'_>, tag: u8) -> Result<i32, DecodeError> {
    let value = parts.integer(tag)?;
    i32::try_from(value).map_err(|_| DecodeError::out_of_range(Component::AccountUsability, value))
}

fn optional_number(parts: &mut Reader<'_>, tag: u8) -> Result<Option<i32>, DecodeError> {
    if parts.peek_tag() == Some(tag) {
        number(parts, tag).map(Some)
    } else {
        Ok(None)
    }
}
