//! Limits the time for which a connection keeps its thread.
//!
//! One read may bring a thousand requests, each of which takes up to a slice: together seconds in
//! which no other connection would be served. The clock is read every few messages, and not at all
//! for a single request.

use crate::service::Service;

/// Number of messages between two looks at the clock.
const BETWEEN_LOOKS: u32 = 4;

/// Progress of a connection in its turn.
#[derive(Default)]
pub struct Turn {
    messages: u32,
}

impl Turn {
    /// Whether the turn is over, after executing a message while more wait.
    pub fn is_over(&mut self, service: &mut impl Service) -> bool {
        self.messages += 1;
        let begins = self.messages == 1;
        (begins || self.messages.is_multiple_of(BETWEEN_LOOKS)) && service.turn_is_over(begins)
    }
}
