//! The deadline of a connection: what it has to do in time, and whether the time begins anew.

use crate::settings::Connections;
use crate::slots::TICKS_PER_S;

/// Purpose of a connection's deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// No deadline.
    Nothing,
    /// End of the TLS handshake and the first message.
    FirstMessage,
    /// End of the current message.
    Message,
    /// Taking responses.
    Write,
    /// The next request.
    Idle,
}

impl Due {
    /// The time that a client has for it, in ticks; `None` for no limit.
    pub fn ticks(self, limits: &Connections) -> Option<u64> {
        let time = match self {
            Due::Nothing => return None,
            Due::FirstMessage | Due::Message => limits.message_timeout,
            Due::Write => limits.write_timeout,
            Due::Idle => limits.idle_timeout,
        };
        let ticks =
            (time.as_secs() * TICKS_PER_S).max(time.as_millis() as u64 * TICKS_PER_S / 1000);
        (!time.is_zero()).then_some(ticks)
    }
}

/// The present deadline of a connection.
pub struct Deadline {
    due: Due,
    /// Whether there was progress since it was set.
    moved: bool,
    /// Number of messages received when it was set.
    heard: u32,
    /// Whether the client was anonymous at the last input.
    anonymous: bool,
    /// Whether it has passed.
    expired: bool,
}

impl Default for Deadline {
    fn default() -> Self {
        Deadline {
            due: Due::Nothing,
            moved: true,
            heard: 0,
            anonymous: true,
            expired: false,
        }
    }
}

impl Deadline {
    /// Its purpose.
    pub fn due(&self) -> Due {
        self.due
    }

    /// Whether it has passed.
    pub fn is_expired(&self) -> bool {
        self.expired
    }

    /// Marks it as passed.
    pub fn expire(&mut self) {
        self.expired = true;
    }

    /// Records progress: input, or a completed operation.
    pub fn note_progress(&mut self) {
        self.moved = true;
    }

    /// Records input of a client.
    pub fn note_input(&mut self, anonymous: bool) {
        self.moved = true;
        self.anonymous = anonymous;
    }

    /// Sets the purpose from now on, after `heard` messages; false if the present deadline remains.
    pub fn renew(&mut self, due: Due, heard: u32) -> bool {
        let moved = std::mem::take(&mut self.moved);
        let same = due == std::mem::replace(&mut self.due, due);
        let same_message = heard == std::mem::replace(&mut self.heard, heard);
        match due {
            _ if !same => true,
            // The time for the first message continues, however little the client sends.
            Due::Nothing | Due::FirstMessage => false,
            // So does the time for each message of an anonymous client, which could otherwise keep
            // parts of long messages in memory.
            Due::Message if self.anonymous && same_message => false,
            Due::Message | Due::Write | Due::Idle => moved,
        }
    }
}
