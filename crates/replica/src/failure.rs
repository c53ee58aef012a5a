//! Results for clients of operations that ended without success, and log lines about failures.

use protocol::{LdapResult, ResultCode};
use state::stop::{Failure, Stop};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::EntryId;

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

/// Remembers a damaged entry; returns whether the entry was not remembered before.
pub fn note_damage(id: EntryId) -> bool {
    let mut damaged = DAMAGED.lock().unwrap_or_else(PoisonError::into_inner);
    damaged.len() < DAMAGED_MAX && damaged.insert(id)
}

/// Number of different damaged entries met since the start, at most a hundred thousand.
pub fn damaged_entries() -> u64 {
    let damaged = DAMAGED.lock().unwrap_or_else(PoisonError::into_inner);
    damaged.len() as u64
}

/// The result to send. Failures are logged here and nowhere else.
pub fn result_of(stop: Stop) -> LdapResult {
    match stop {
        Stop::Refused(refusal) => refusal.into_result(),
        Stop::Failed(failure) => failure_result(&failure),
    }
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
    if let Failure::Unaudited(reason) = failure {
        // Logged where the lines could not be written.
        return unaudited(reason);
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

/// The result of a write that is refused because it could not be audited.
pub fn unaudited(reason: &str) -> LdapResult {
    let text = format!("nothing was changed: changes must be audited, and cannot be: {reason}");
    LdapResult::new(ResultCode::UNAVAILABLE, text)
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
