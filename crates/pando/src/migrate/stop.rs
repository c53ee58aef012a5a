//! Signals an interrupt, which ends waits early.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The signal; all clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    state: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// Signals the interrupt.
    pub fn wish(&self) {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.state.1.notify_all();
    }

    /// Whether the interrupt was signalled.
    pub fn is_wished(&self) -> bool {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a time, or until the interrupt; returns whether it was signalled.
    pub fn wait(&self, at_most: Duration) -> bool {
        let wished = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.state.1.wait_timeout_while(wished, at_most, |it| !*it);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
