//! Credentials of SASL mechanisms.

mod bearer;
mod gs2;
mod scram;

pub use bearer::Bearer;
pub use gs2::ClientBinding;
pub use scram::{ClientFinal, ClientFirst};

use crate::DecodeError;
use crate::ber::decode_text;
use crate::error::saturated;

/// The message of PLAIN (RFC 4616 §2): `[authzid] NUL authcid NUL passwd`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Plain<'a> {
    /// Identity to act as; empty for the authenticated one.
    pub authorization: &'a str,
    /// Identity to authenticate as.
    pub authentication: &'a str,
    /// The password, which is UTF-8.
    pub password: &'a str,
}

/// Passwords are not for logs.
impl std::fmt::Debug for Plain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain")
            .field("authorization", &self.authorization)
            .field("authentication", &self.authentication)
            .finish_non_exhaustive()
    }
}

impl<'a> Plain<'a> {
    /// Decodes a bind request's credentials.
    pub fn decode(credentials: &'a [u8]) -> Result<Self, DecodeError> {
        let text = decode_text(credentials)?;
        let (authorization, rest) = text.split_once('\0').ok_or(DecodeError::Truncated)?;
        let (authentication, password) = rest.split_once('\0').ok_or(DecodeError::Truncated)?;
        if let Some(at) = password.find('\0') {
            return Err(DecodeError::TrailingBytes {
                count: saturated(password.len() - at),
            });
        }
        Ok(Plain {
            authorization,
            authentication,
            password,
        })
    }

    /// Appends a bind request's credentials.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let parts = [self.authorization, self.authentication, self.password];
        out.extend_from_slice(parts.join("\0").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain() {
        let parts = |authorization, authentication, password| Plain {
            authorization,
            authentication,
            password,
        };
        for (bytes, value) in [
            (&b"\0ada\0secret"[..], parts("", "ada", "secret")),
            (
                b"dn:cn=a\0u:ada\0se\xc3\xa7ret",
                parts("dn:cn=a", "u:ada", "seçret"),
            ),
            (b"\0\0", parts("", "", "")),
        ] {
            assert_eq!(Plain::decode(bytes), Ok(value));
            let mut encoded = Vec::new();
            value.encode(&mut encoded);
            assert_eq!(encoded, bytes);
        }
        for junk in [
            &b""[..],
            b"ada",
            b"\0ada",
            b"\0ada\0secret\0",
            b"\0ada\0\xff",
        ] {
            assert!(Plain::decode(junk).is_err(), "{}", junk.escape_ascii());
        }
        let secret = format!("{:?}", parts("", "ada", "secret"));
        assert!(!secret.contains("secret"), "{secret}");
    }
}
