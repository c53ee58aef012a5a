//! Reasons why an operation ends without success.
//!
//! A refusal is a correct answer and is sent to the client. A failure is trouble of the server: it
//! is logged once, where it becomes a result, and the client only learns that the server is at
//! fault.

use protocol::control::PasswordPolicyError;
use protocol::{LdapResult, ResultCode};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::EntryId;

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
    /// A refusal with a code and a diagnostic message.
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

    /// The refusal as a result to send.
    pub fn into_result(self) -> LdapResult {
        LdapResult {
            code: self.code,
            matched: self.matched,
            diagnostic: self.diagnostic,
            referrals: self.referrals,
        }
    }
}

/// Trouble of the server.
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
    /// The caller cancelled the work; nothing was changed.
    #[error("cancelled; nothing was changed")]
    Cancelled,
    /// A slice is over. Handled by the code that runs the next slice, and never sent.
    #[error("a part of an operation was not continued")]
    Unfinished,
}

impl Failure {
    /// A file outside the store could not be read or written.
    pub fn file(what: impl Into<String>, source: std::io::Error) -> Failure {
        Failure::File {
            what: what.into(),
            source,
        }
    }
}

impl Failure {
    /// Whether there is no room: on the file system, by a quota, or by a limit on file sizes.
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
    /// Trouble of the server.
    Failed(Failure),
}

impl Stop {
    /// A refusal with a code and a diagnostic message.
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

    /// The result to send. Failures are logged here and nowhere else.
    pub fn into_result(self) -> LdapResult {
        match self {
            Stop::Refused(refusal) => refusal.into_result(),
            Stop::Failed(failure) => failure_result(&failure),
        }
    }
}

/// Minimum time between two log lines about a full disk.
const FULL_TOLD_EVERY: Duration = Duration::from_secs(60);

/// Time of the last such line, and number of writes refused since.
static FULL_TOLD: Mutex<(Option<Instant>, u64)> = Mutex::new((None, 0));

fn tell_full() {
    let mut told = FULL_TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let (last, refused) = &mut *told;
    *refused += 1;
    if last.is_none_or(|it| it.elapsed() >= FULL_TOLD_EVERY) {
        tracing::error!(
            refused = *refused,
            "no space left for the database: writes are refused until there is"
        );
        (*last, *refused) = (Some(Instant::now()), 0);
    }
}

/// Logs that a directory starts on a full disk. Its next refusals are counted with this one.
pub fn tell_full_at_start(data: &Path) {
    tracing::error!(
        "no space left in {}: reads are served, and writes as soon as there is room",
        data.display()
    );
    let mut told = FULL_TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    told.0 = Some(Instant::now());
}

/// Damaged entries that this process has met, up to a maximum.
static DAMAGED: Mutex<BTreeSet<EntryId>> = Mutex::new(BTreeSet::new());
/// Maximum number of damaged entries remembered.
const DAMAGED_MAX: usize = 100_000;

/// Remembers a damaged entry; returns whether it is a new one.
pub fn note_damage(id: EntryId) -> bool {
    let mut damaged = DAMAGED.lock().unwrap_or_else(PoisonError::into_inner);
    damaged.len() < DAMAGED_MAX && damaged.insert(id)
}

/// Number of different damaged entries met since the start, at most a hundred thousand.
pub fn damaged_entries() -> u64 {
    let damaged = DAMAGED.lock().unwrap_or_else(PoisonError::into_inner);
    damaged.len() as u64
}

/// Logs a failure and returns the result for the client.
pub fn failure_result(failure: &Failure) -> LdapResult {
    if let Failure::Store(store::Error::Broken) = failure {
        tracing::error!(%failure, "an operation failed");
        // Every answer would be this failure until a restart; ending the process makes a supervisor
        // restart it.
        tracing::error!(
            "the process ends, so that it is started again; nothing acknowledged is lost"
        );
        std::process::exit(1);
    }
    if let Failure::Store(store::Error::Full) = failure {
        tell_full();
        return LdapResult::new(
            ResultCode::UNAVAILABLE,
            "no space left for the database: nothing was changed; free space and try again",
        );
    }
    if let Failure::Store(store::Error::DamagedEntry { id }) = failure {
        // Logged once for each entry, which may be read a thousand times per second.
        if note_damage(*id) {
            tracing::error!(%failure, "an operation failed");
        }
        return LdapResult::new(
            ResultCode::OTHER,
            "an entry is damaged and not answered; see the server's log",
        );
    }
    tracing::error!(%failure, "an operation failed");
    if let Failure::Store(store::Error::Halted { .. }) = failure {
        return LdapResult::new(
            ResultCode::UNAVAILABLE,
            "nothing was changed: the server takes no more writes until it is restarted (see its \
             log)",
        );
    }
    if let Failure::Store(store::Error::Undecided { .. }) = failure {
        return LdapResult::new(
            ResultCode::UNAVAILABLE,
            "this write may be done or not, which the next start of the server finds out: look \
             before you try again; until then it takes no more writes (see its log)",
        );
    }
    LdapResult::new(ResultCode::OTHER, "internal error; see the server's log")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_whether_a_write_is_done() {
        let reason = || "syncing the log: Input/output error".to_owned();
        let told = |error: store::Error| {
            let result = failure_result(&Failure::Store(error));
            assert_eq!(result.code, ResultCode::UNAVAILABLE);
            result.diagnostic
        };
        let undecided = told(store::Error::Undecided { reason: reason() });
        assert!(undecided.contains("may be done or not"), "{undecided}");
        let refused = [
            store::Error::Halted { reason: reason() },
            store::Error::Full,
        ];
        for refused in refused.map(told) {
            assert!(refused.contains("nothing was changed"), "{refused}");
        }
    }
}
