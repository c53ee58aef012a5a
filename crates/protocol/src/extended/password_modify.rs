//! Password Modify (RFC 3062).

use std::fmt;

use crate::DecodeError;
use crate::ber::{SEQUENCE, put_nested, put_octets};
use crate::control::sequence_of;

/// `PasswdModifyRequestValue` (RFC 3062 §2).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordModifyRequest<'a> {
    /// The account, usually as a DN; `None` for the client's own.
    pub user_identity: Option<&'a str>,
    /// The present password.
    pub old_password: Option<&'a [u8]>,
    /// The new password; `None` to let the server generate one.
    pub new_password: Option<&'a [u8]>,
}

/// `PasswdModifyResponseValue` (RFC 3062 §2).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordModifyResponse<'a> {
    /// The generated password, if the server generated one.
    pub generated_password: Option<&'a [u8]>,
}

impl<'a> PasswordModifyRequest<'a> {
    /// Decodes the request's value; a request without a value is the default.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let user_identity = parts.optional_text(0x80)?;
        let old_password = parts.optional(0x81)?;
        let new_password = parts.optional(0x82)?;
        parts.finish_extensible()?;
        Ok(PasswordModifyRequest {
            user_identity,
            old_password,
            new_password,
        })
    }

    /// Appends the request's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            let identity = self.user_identity.map(str::as_bytes);
            for (tag, part) in [
                (0x80, identity),
                (0x81, self.old_password),
                (0x82, self.new_password),
            ] {
                if let Some(part) = part {
                    put_octets(out, tag, part);
                }
            }
        });
    }
}

impl<'a> PasswordModifyResponse<'a> {
    /// Decodes the response's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let generated_password = parts.optional(0x80)?;
        parts.finish_extensible()?;
        Ok(PasswordModifyResponse { generated_password })
    }

    /// Appends the response's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            if let Some(password) = self.generated_password {
                put_octets(out, 0x80, password);
            }
        });
    }
}

// Passwords must not reach a log through `{:?}`.

impl fmt::Debug for PasswordModifyRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordModifyRequest")
            .field("user_identity", &self.user_identity)
            .field("has_old_password", &self.old_password.is_some())
            .field("has_new_password", &self.new_password.is_some())
            .finish()
    }
}

impl fmt::Debug for PasswordModifyResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PasswordModifyResponse")
            .field("has_generated_password", &self.generated_password.is_some())
            .finish()
    }
}
