//! Whether the operator wants the end, and waiting that the wish cuts short.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The wish; all clones are one.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    state: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// Wishes it.
    pub fn wish(&self) {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.state.1.notify_all();
    }

    /// Whether it is wished.
    pub fn is_wished(&self) -> bool {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; true when the end is wished.
    pub fn wait(&self, at_most: Duration) -> bool {
        let wished = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.state.1.wait_timeout_while(wished, at_most, |it| !*it);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
