//! Fates of operations, over a whole load: done, refused, or unknown.

use std::collections::BTreeMap;
use std::fmt;

use protocol::{ResultCode, counted};
use serde::Serialize;

use super::JobKind;

/// Fates of all operations from the first request to the last answer, those of the warm-up and
/// those that were answered after the measured part included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Number of operations that the server carried out.
    pub done: u64,
    /// Number of changes among them: modify, add, delete and modify-dn.
    pub accepted: u64,
    /// Number of refused operations by name and number of the result code.
    pub refused: BTreeMap<String, u64>,
    /// Number of operations whose connection ended before the answer, or which were not answered
    /// in time: the server may have carried them out or not.
    pub unknown: u64,
}

impl Outcomes {
    /// Returns whether every operation was carried out.
    pub fn all_done(&self) -> bool {
        self.refused.is_empty() && self.unknown == 0
    }

    /// Returns the number of refused operations, whatever the result code.
    pub fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, refused) = (self.done, self.refusals());
        write!(f, "{done} done, {refused} refused")?;
        for (position, (code, count)) in self.refused.iter().enumerate() {
            let before = if position == 0 { ": " } else { ", " };
            write!(f, "{before}{count} {code}")?;
        }
        write!(
            f,
            "; {} with unknown fate",
            counted(self.unknown, "operation")
        )
    }
}

/// Fates counted by one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fates {
    done: u64,
    accepted: u64,
    refused: BTreeMap<u16, u64>,
    pub unknown: u64,
}

impl Fates {
    /// Counts an answer with this result code. Returns whether the operation was carried out.
    pub fn answered(&mut self, kind: JobKind, code: u16) -> bool {
        let done = matches!(
            ResultCode(code),
            ResultCode::SUCCESS | ResultCode::COMPARE_FALSE | ResultCode::COMPARE_TRUE
        );
        if done {
            self.done += 1;
            self.accepted += u64::from(changes(kind));
        } else {
            *self.refused.entry(code).or_default() += 1;
        }
        done
    }

    /// Adds what was counted to the sum over all threads.
    pub fn add_to(&self, sum: &mut Outcomes) {
        sum.done += self.done;
        sum.accepted += self.accepted;
        sum.unknown += self.unknown;
        for (code, count) in &self.refused {
            *sum.refused
                .entry(ResultCode(*code).to_string())
                .or_default() += count;
        }
    }
}

/// Returns whether operations of this kind change the directory.
fn changes(kind: JobKind) -> bool {
    !matches!(
        kind,
        JobKind::Search | JobKind::Auth | JobKind::Bind | JobKind::Compare
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_done_or_refused() {
        let mut fates = Fates::default();
        assert!(fates.answered(JobKind::Modify, 0));
        assert!(fates.answered(JobKind::Compare, 5));
        assert!(!fates.answered(JobKind::Add, 51));
        assert!(!fates.answered(JobKind::Search, 52));
        assert!(!fates.answered(JobKind::Add, 51));
        fates.unknown = 1;
        let mut sum = Outcomes::default();
        fates.add_to(&mut sum);
        assert!(!sum.all_done());
        assert_eq!((sum.done, sum.accepted, sum.refusals()), (2, 1, 3));
        assert_eq!(
            sum.to_string(),
            "2 done, 3 refused: 2 busy (51), 1 unavailable (52); 1 operation with unknown fate"
        );
    }
}
