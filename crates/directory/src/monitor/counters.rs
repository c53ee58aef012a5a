//! The counters of one serving thread.
//!
//! Invariant: only one thread writes, so counting is a load, an addition and a store, without a
//! lock. Other threads only read, and may read a slightly older number.

use crate::account::check::CheckPurpose;
use crate::completion::{Completion, Finished};
use protocol::{Request, ResultKind};
use std::sync::atomic::{AtomicU64, Ordering};

/// A kind of operation, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Bind,
    Unbind,
    Search,
    Compare,
    Modify,
    ModifyDn,
    Add,
    Delete,
    Abandon,
    Extended,
}

/// All kinds, with their names in OpenLDAP's monitor.
pub(crate) const OPERATIONS: [(Operation, &str); 10] = [
    (Operation::Bind, "Bind"),
    (Operation::Unbind, "Unbind"),
    (Operation::Search, "Search"),
    (Operation::Compare, "Compare"),
    (Operation::Modify, "Modify"),
    (Operation::ModifyDn, "Modrdn"),
    (Operation::Add, "Add"),
    (Operation::Delete, "Delete"),
    (Operation::Abandon, "Abandon"),
    (Operation::Extended, "Extended"),
];

impl Operation {
    #[inline]
    pub fn of(request: &Request<'_>) -> Operation {
        match request {
            Request::Bind(_) => Operation::Bind,
            Request::Unbind => Operation::Unbind,
            Request::Search(_) => Operation::Search,
            Request::Modify(_) => Operation::Modify,
            Request::Add(_) => Operation::Add,
            Request::Delete(_) => Operation::Delete,
            Request::ModifyDn(_) => Operation::ModifyDn,
            Request::Compare(_) => Operation::Compare,
            Request::Abandon(_) => Operation::Abandon,
            Request::Extended(_) => Operation::Extended,
        }
    }

    /// The operation that a completion may end; `None` for a completion that reports changes to a
    /// follower.
    pub fn completed_by(completion: &Completion) -> Option<Operation> {
        Some(match &completion.what {
            Finished::News | Finished::Arrived(_) => return None,
            Finished::Write { kind, .. }
            | Finished::Undecided { kind, .. }
            | Finished::Hashed { kind, .. }
            | Finished::NotHashed { kind, .. } => Operation::answered_by(*kind),
            Finished::Transaction(_) | Finished::Sequence(_) => Operation::Extended,
            Finished::Abandoned { kind } => Operation::answered_by(*kind),
            Finished::Password(checked) => Operation::checked_for(&checked.purpose),
            Finished::NotChecked { purpose, .. } => Operation::checked_for(purpose),
        })
    }

    fn checked_for(purpose: &CheckPurpose) -> Operation {
        match purpose {
            CheckPurpose::Bind { .. } | CheckPurpose::Refused(_) => Operation::Bind,
            CheckPurpose::Compare(_) => Operation::Compare,
            CheckPurpose::Change(_) => Operation::Extended,
        }
    }

    /// The operation that a response of this kind ends.
    pub fn answered_by(kind: ResultKind) -> Operation {
        match kind {
            ResultKind::Bind => Operation::Bind,
            ResultKind::SearchDone => Operation::Search,
            ResultKind::Modify => Operation::Modify,
            ResultKind::Add => Operation::Add,
            ResultKind::Delete => Operation::Delete,
            ResultKind::ModifyDn => Operation::ModifyDn,
            ResultKind::Compare => Operation::Compare,
            ResultKind::Extended => Operation::Extended,
        }
    }
}

/// A counter written by one thread.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds `more`. Called by the owning thread only.
    #[inline]
    pub fn add(&self, more: u64) {
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(more);
        self.0.store(sum, Ordering::Relaxed);
    }

    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of one serving thread, aligned to two cache lines, because processors fetch lines in
/// pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    initiated: [Count; OPERATIONS.len()],
    completed: [Count; OPERATIONS.len()],
    /// Number of requests that the connection refused without executing them.
    pub refused: Count,
    /// Bytes of requests, after TLS.
    pub bytes_received: Count,
    /// Bytes of responses, before TLS.
    pub bytes_sent: Count,
    /// Number of entries sent.
    pub entries: Count,
    /// Number of continuation references sent.
    pub references: Count,
}

impl Counters {
    #[inline]
    pub fn initiated(&self, operation: Operation) -> &Count {
        &self.initiated[operation as usize]
    }

    #[inline]
    pub fn completed(&self, operation: Operation) -> &Count {
        &self.completed[operation as usize]
    }

    /// Adds the counters of another thread.
    pub fn add(&self, other: &Counters) {
        for (operation, _) in OPERATIONS {
            // Completed operations are read first: an operation that ends meanwhile must not be
            // counted as completed without being counted as begun.
            self.completed(operation)
                .add(other.completed(operation).value());
            self.initiated(operation)
                .add(other.initiated(operation).value());
        }
        self.refused.add(other.refused.value());
        self.bytes_received.add(other.bytes_received.value());
        self.bytes_sent.add(other.bytes_sent.value());
        self.entries.add(other.entries.value());
        self.references.add(other.references.value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_up() {
        let (one, other) = (Counters::default(), Counters::default());
        one.initiated(Operation::Search).add(3);
        one.completed(Operation::Search).add(2);
        other.initiated(Operation::Search).add(4);
        other.entries.add(9);
        let total = Counters::default();
        total.add(&one);
        total.add(&other);
        assert_eq!(total.initiated(Operation::Search).value(), 7);
        assert_eq!(total.completed(Operation::Search).value(), 2);
        assert_eq!(total.initiated(Operation::Bind).value(), 0);
        assert_eq!(total.entries.value(), 9);
        assert_eq!(std::mem::align_of::<Counters>(), 128);
    }
}
