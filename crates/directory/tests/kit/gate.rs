//! A clock that stops the writer.

use directory::{Clock, SystemClock};
use std::sync::{Condvar, Mutex};

/// A clock that makes the writer wait.
#[derive(Default)]
pub struct Gate {
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// Whether the writer waits from now on.
    pub fn set(&self, closed: bool) {
        *self.closed.lock().expect("nobody panicked") = closed;
        self.changed.notify_all();
    }
}

impl Clock for Gate {
    fn now_us(&self) -> u64 {
        if std::thread::current().name() == Some("writer") {
            let closed = self.closed.lock().expect("nobody panicked");
            drop(
                self.changed
                    .wait_while(closed, |closed| *closed)
                    .expect("nobody panicked"),
            );
        }
        SystemClock.now_us()
    }

    fn uuid(&self) -> [u8; 16] {
        SystemClock.uuid()
    }
}
