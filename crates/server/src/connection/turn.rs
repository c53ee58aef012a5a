//! When a connection has had its thread for long enough.
//!
//! What comes with one read may be a thousand requests, each of which takes as much as a slice of a
//! search may: seconds together, in which nobody else of the thread would be served. The clock is
//! looked at now and then, and not at all for a request that comes alone.

use crate::service::Service;

/// Messages from one look at the clock to the next.
const BETWEEN_LOOKS: u32 = 4;

/// What a connection has done since it got its turn.
#[derive(Default)]
pub struct Turn {
    messages: u32,
}

impl Turn {
    /// A message is executed and more are there; whether the others have waited enough.
    pub fn is_over(&mut self, service: &mut impl Service) -> bool {
        self.messages += 1;
        let begins = self.messages == 1;
        (begins || self.messages.is_multiple_of(BETWEEN_LOOKS)) && service.turn_is_over(begins)
    }
}
