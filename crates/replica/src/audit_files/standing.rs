//! How the audit of a node stands, shared by its threads.

use std::sync::{Mutex, PoisonError};

/// The state of the files, for the monitor and for those who take writes.
#[derive(Debug, Default)]
pub struct AuditStanding(Mutex<Shown>);

/// How the files stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Whether lines are written.
    pub is_on: bool,
    /// Number of the last line written.
    pub line: u64,
    /// Position of the record of that line.
    pub position: u64,
    /// Why lines cannot be written at present; `None` if they can.
    pub trouble: Option<String>,
    /// Whether writes are refused because of that.
    pub refuses: bool,
}

impl AuditStanding {
    /// How the files stand.
    pub fn shown(&self) -> Shown {
        self.shared().clone()
    }

    /// Why writes are refused; `None` if they are not.
    pub fn refusal(&self) -> Option<String> {
        let shown = self.shared();
        shown.trouble.clone().filter(|_| shown.refuses)
    }

    pub(super) fn set(&self, shown: Shown) {
        *self.shared() = shown;
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
