//! Reasons why an operation ends without success.
//!
//! A refusal is a correct answer and is sent to the client. A failure is a problem of the server:
//! it is logged once, where it becomes a result, and the client only learns that the server has a
//! problem.

use protocol::control::PasswordPolicyError;
use protocol::{LdapResult, ResultCode};

/// A correct answer other than success: counted and sent, never logged as an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The result code of RFC 4511 §4.1.9 or of an extension.
    pub code: ResultCode,
    /// Name of the deepest existing entry, as spelled in the directory; empty where the result has
    /// none.
    pub matched: String,
    /// Diagnostic message: what was expected and what was given.
    pub diagnostic: String,
    /// URLs for the code `referral`.
    pub referrals: Vec<String>,
    /// The error for the password policy control, sent to clients that asked for it.
    pub password_policy: Option<PasswordPolicyError>,
}

impl Refusal {
    /// Returns a refusal with a code and a diagnostic message.
    pub fn new(code: ResultCode, diagnostic: impl Into<String>) -> Refusal {
        Refusal {
            code,
            matched: String::new(),
            diagnostic: diagnostic.into(),
            referrals: Vec::new(),
            password_policy: None,
        }
    }

    /// Adds the error of the password policy control.
    pub fn of_policy(mut self, error: PasswordPolicyError) -> Refusal {
        self.password_policy = Some(error);
        self
    }

    /// Returns the refusal as a result to send.
    pub fn into_result(self) -> LdapResult {
        LdapResult {
            code: self.code,
            matched: self.matched,
            diagnostic: self.diagnostic,
            referrals: self.referrals,
        }
    }
}

/// A problem of the server.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The store could not read or write.
    #[error("store: {0}")]
    Store(#[source] store::Error),
    /// The configuration kept in the directory cannot be used.
    #[error("configuration: {0}")]
    Configuration(String),
    /// A file outside the store could not be read or written.
    #[error("{what}: {source}")]
    File {
        /// The action that failed.
        what: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The input of an import cannot be used.
    #[error("{0}")]
    Input(String),
    /// A record or the database has a format level that this program does not execute.
    #[error(transparent)]
    Level(crate::level::Unknown),
    /// The audit is required and its lines cannot be written; nothing was changed.
    #[error("the audit cannot be written: {0}")]
    Unaudited(String),
    /// The caller cancelled the work; nothing was changed.
    #[error("cancelled; nothing was changed")]
    Cancelled,
}

impl Failure {
    /// Returns the failure to read or write a file outside the store.
    pub fn file(what: impl Into<String>, source: std::io::Error) -> Failure {
        Failure::File {
            what: what.into(),
            source,
        }
    }
}

impl Failure {
    /// Returns whether there is no room: on the file system, by a quota, or by a limit on file
    /// sizes.
    pub fn is_full(&self) -> bool {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match self {
            Failure::Store(error) => matches!(error, store::Error::Full),
            Failure::File { source, .. } => {
                matches!(source.kind(), FileTooLarge | QuotaExceeded | StorageFull)
            }
            _ => false,
        }
    }
}

impl Failure {
    /// Returns whether the database cannot be read as it was written: another attempt will not
    /// succeed.
    pub fn is_damage(&self) -> bool {
        use store::Error::{Corrupt, DamagedEntry, DamagedFile};
        let damages = |it: &store::Error| {
            matches!(
                it,
                Corrupt { .. } | DamagedEntry { .. } | DamagedFile { .. }
            )
        };
        matches!(self, Failure::Store(error) if damages(error))
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Failure {
        match error {
            store::Error::Cancelled => Failure::Cancelled,
            error => Failure::Store(error),
        }
    }
}

/// Reason why an operation ended without success.
#[derive(Debug)]
pub enum Stop {
    /// The client's mistake, or a correct answer other than success.
    Refused(Refusal),
    /// A problem of the server.
    Failed(Failure),
}

impl Stop {
    /// Returns a refusal as the reason of the end, with a code and a diagnostic message.
    pub fn refuse<T>(code: ResultCode, diagnostic: impl Into<String>) -> Result<T, Stop> {
        Err(Stop::Refused(Refusal::new(code, diagnostic)))
    }

    /// The error for the password policy control; `None` for other refusals and failures.
    pub fn password_policy(&self) -> Option<PasswordPolicyError> {
        match self {
            Stop::Refused(refusal) => refusal.password_policy,
            Stop::Failed(_) => None,
        }
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

impl From<store::Error> for Stop {
    fn from(error: store::Error) -> Stop {
        Stop::Failed(error.into())
    }
}
