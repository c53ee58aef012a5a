//! Limits the time for which a connection keeps its thread.
//!
//! One read may bring a thousand requests, each of which takes up to a slice: together seconds in
//! which no other connection would be served. The clock is read every few messages, and not at all
//! for a single request.

use std::time::{Duration, Instant};

/// Number of messages between two looks at the clock.
const BETWEEN_LOOKS: u32 = 4;

/// Progress of a connection in its turn.
#[derive(Default)]
pub struct Turn {
    messages: u32,
    /// Time of the first look at the clock; `None` before it.
    began: Option<Instant>,
}

impl Turn {
    /// Whether the turn has lasted `time_max`, after executing a message while more wait.
    pub fn is_over(&mut self, time_max: Duration) -> bool {
        self.messages += 1;
        match self.began {
            None => self.began = Some(Instant::now()),
            Some(began) if self.messages.is_multiple_of(BETWEEN_LOOKS) => {
                return began.elapsed() >= time_max;
            }
            Some(_) => {}
        }
        false
    }
}
