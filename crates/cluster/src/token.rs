//! Tokens, with which a new node joins a cluster: they name the cluster's authority and carry a
//! secret that serves once, within an hour.

mod outstanding;

pub use outstanding::{Outstanding, TokenRefused};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How long a token serves.
pub const VALID: Duration = Duration::from_secs(3600);

/// Beginning of every token, with the version of its form.
const PREFIX: &str = "pando1-";
const FINGERPRINT_BYTES: usize = 32;
const SECRET_BYTES: usize = 16;
const BYTES: usize = FINGERPRINT_BYTES + SECRET_BYTES + size_of::<u64>();

/// Right to join a cluster once.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// SHA-256 of the certificate of the cluster's authority.
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    /// Random bytes that the cluster's node knows by their hash.
    pub secret: Secret,
    /// When the token ends, in seconds since 1970.
    pub expires: u64,
}

/// The secret part of a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub [u8; SECRET_BYTES]);

/// A text is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a token as `pando cluster token` prints it, which begins with {PREFIX} and has {} \
     characters; copy it as a whole",
    PREFIX.len() + (BYTES * 8).div_ceil(6)
)]
pub struct TokenError;

impl Token {
    /// Makes a token for the cluster of an authority. `now` is the time since 1970.
    pub fn new(fingerprint: [u8; FINGERPRINT_BYTES], now: Duration) -> Token {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret).expect("the operating system always has random bytes");
        Token {
            fingerprint,
            secret: Secret(secret),
            expires: (now + VALID).as_secs(),
        }
    }

    /// Whether the token has ended at a time since 1970.
    pub fn is_expired(&self, now: Duration) -> bool {
        now.as_secs() >= self.expires
    }
}

impl Secret {
    /// SHA-256 of the secret.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }

    /// The secret as text, for a message to a node whose certificate was verified.
    pub fn reveal(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Reads a secret of a message.
    ///
    /// # Errors
    /// The text is none.
    pub fn read(text: &str) -> Result<Secret, TokenError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError)?;
        bytes.try_into().map(Secret).map_err(|_| TokenError)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend(self.fingerprint);
        bytes.extend(self.secret.0);
        bytes.extend(self.expires.to_be_bytes());
        write!(f, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Token, TokenError> {
        let encoded = text.trim().strip_prefix(PREFIX).ok_or(TokenError)?;
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| TokenError)?;
        let (fingerprint, rest) = bytes.split_first_chunk().ok_or(TokenError)?;
        let (secret, rest) = rest.split_first_chunk().ok_or(TokenError)?;
        let expires = rest.try_into().map_err(|_| TokenError)?;
        Ok(Token {
            fingerprint: *fingerprint,
            secret: Secret(*secret),
            expires: u64::from_be_bytes(expires),
        })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token(expires {})", self.expires)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    #[test]
    fn a_token_is_read_as_it_is_printed() {
        let token = Token::new([3; 32], NOW);
        let text = token.to_string();
        assert_eq!(text.len(), 82, "{text}");
        assert!(TokenError.to_string().contains("has 82 characters"));
        assert_eq!(text.parse::<Token>().unwrap(), token);
        assert_eq!(format!("{text}\n").parse::<Token>().unwrap(), token);
        assert_ne!(Token::new([3; 32], NOW).secret, token.secret);
        assert_eq!(Secret::read(&token.secret.reveal()).unwrap(), token.secret);
        let debug = format!("{token:?} {:?}", token.secret);
        assert!(!debug.contains(&token.secret.reveal()), "{debug}");
    }

    #[test]
    fn a_part_of_a_token_is_none() {
        let text = Token::new([3; 32], NOW).to_string();
        for end in 0..text.len() {
            assert_eq!(text[..end].parse::<Token>(), Err(TokenError), "{end}");
        }
        assert_eq!(format!("{text}A").parse::<Token>(), Err(TokenError));
        assert_eq!(
            text.replace("pando1", "pando2").parse::<Token>(),
            Err(TokenError)
        );
        assert_eq!(Secret::read("short"), Err(TokenError));
    }

    #[test]
    fn a_token_ends_after_an_hour() {
        let token = Token::new([3; 32], NOW);
        assert!(!token.is_expired(NOW + VALID - Duration::from_secs(1)));
        assert!(token.is_expired(NOW + VALID));
    }
}
