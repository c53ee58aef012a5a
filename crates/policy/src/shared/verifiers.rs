//! Keys of SCRAM that are stored beside the hash of a password.

use std::fmt;
use std::str::FromStr;

use crate::password::Scheme;

/// Keys of SCRAM (RFC 5803) that are stored beside the hash of a password, whose own scheme gives
/// none. The guesses of a thief are as cheap as the keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verifiers {
    /// No keys.
    #[default]
    None,
    /// {SCRAM-SHA-256}.
    Sha256,
    /// {SCRAM-SHA-512}.
    Sha512,
}

impl Verifiers {
    /// Returns the scheme of the keys.
    pub fn scheme(self) -> Option<Scheme> {
        match self {
            Verifiers::None => None,
            Verifiers::Sha256 => Some(Scheme::ScramSha256),
            Verifiers::Sha512 => Some(Scheme::ScramSha512),
        }
    }
}

/// The error of a text that names no keys of SCRAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVerifiers(String);

impl fmt::Display for UnknownVerifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [none, sha256, sha512] = [Verifiers::None, Verifiers::Sha256, Verifiers::Sha512];
        write!(
            f,
            "expected {none}, {sha256} or {sha512}, got \"{}\"",
            self.0
        )
    }
}

impl std::error::Error for UnknownVerifiers {}

impl FromStr for Verifiers {
    type Err = UnknownVerifiers;

    fn from_str(text: &str) -> Result<Self, UnknownVerifiers> {
        match (text, text.parse::<Scheme>()) {
            ("none", _) => Ok(Verifiers::None),
            (_, Ok(Scheme::ScramSha256)) => Ok(Verifiers::Sha256),
            (_, Ok(Scheme::ScramSha512)) => Ok(Verifiers::Sha512),
            _ => Err(UnknownVerifiers(text.to_owned())),
        }
    }
}

impl fmt::Display for Verifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scheme() {
            None => f.write_str("none"),
            Some(scheme) => write!(f, "{scheme}"),
        }
    }
}
