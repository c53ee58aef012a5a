//! The deadline of a connection: what it has to do in time, how fast, and whether the time begins
//! anew.
//!
//! A message on its way and responses being taken are measured in windows, each as long as the
//! timeout: a client that moves enough bytes in one gets another.

use std::fmt;
use std::time::Duration;

use policy::Limit;

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

/// A duty that a client did not do in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// Sending a request.
    Request,
    /// Ending its TLS handshake or its message.
    Message,
    /// Sending its message as fast as it must.
    SendingFast,
    /// Taking responses.
    Responses,
    /// Taking responses as fast as it must.
    TakingFast,
}

impl Missed {
    /// The limit that ends the connection.
    pub fn limit(self) -> Limit {
        match self {
            Missed::Request => Limit::IdleTime,
            Missed::Message => Limit::MessageTime,
            Missed::SendingFast => Limit::ReceiveRate,
            Missed::Responses => Limit::WriteTime,
            Missed::TakingFast => Limit::SendRate,
        }
    }
}

/// The reason, for the client and the log.
impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit().name();
        match self {
            Missed::Request => f.write_str("idle for too long"),
            Missed::Message => write!(f, "a handshake or message did not end in time ({limit})"),
            Missed::SendingFast => write!(f, "a message came too slowly ({limit})"),
            Missed::Responses => write!(f, "responses were not taken in time ({limit})"),
            Missed::TakingFast => write!(f, "responses were taken too slowly ({limit})"),
        }
    }
}

impl Due {
    /// The time that a client has for it; zero for no limit.
    fn time(self, limits: &Connections) -> Duration {
        match self {
            Due::Nothing => Duration::ZERO,
            Due::FirstMessage | Due::Message => limits.message_timeout,
            Due::Write => limits.write_timeout,
            Due::Idle => limits.idle_timeout,
        }
    }

    /// The time that a client has for it, in ticks; `None` for no limit.
    pub fn ticks(self, limits: &Connections) -> Option<u64> {
        let time = self.time(limits);
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
    /// Bytes of the message received, or of responses taken, since the window began.
    bytes: u32,
    /// Whether the client was anonymous at the last input.
    anonymous: bool,
    /// The duty that was missed when it passed; `None` before.
    missed: Option<Missed>,
}

impl Default for Deadline {
    fn default() -> Self {
        Deadline {
            due: Due::Nothing,
            moved: true,
            heard: 0,
            bytes: 0,
            anonymous: true,
            missed: None,
        }
    }
}

impl Deadline {
    /// Its purpose.
    pub fn due(&self) -> Due {
        self.due
    }

    /// The duty that the client has missed; `None` while the deadline has not passed.
    pub fn missed(&self) -> Option<Missed> {
        self.missed
    }

    /// Handles that the time is over. Returns the ticks of another window if the client moved
    /// enough bytes in this one.
    ///
    /// # Errors
    /// The duty that the client has missed; the deadline has then passed.
    pub fn pass(&mut self, limits: &Connections) -> Result<u64, Missed> {
        let (bytes_per_s, none, few) = match self.due {
            Due::Nothing | Due::Idle => return self.miss(Missed::Request),
            Due::FirstMessage => return self.miss(Missed::Message),
            // All of it must come in one window. An anonymous client could otherwise keep parts of
            // long messages in memory.
            Due::Message if self.anonymous => return self.miss(Missed::Message),
            Due::Message => {
                let least = limits.receive_bytes_per_s_min;
                (least, Missed::Message, Missed::SendingFast)
            }
            Due::Write => {
                let least = limits.send_bytes_per_s_min;
                (least, Missed::Responses, Missed::TakingFast)
            }
        };
        let least = u128::from(bytes_per_s) * self.due.time(limits).as_millis() / 1_000;
        match std::mem::take(&mut self.bytes) {
            0 => self.miss(none),
            bytes if u128::from(bytes) < least => self.miss(few),
            _ => Ok(self.due.ticks(limits).unwrap_or(0).max(1)),
        }
    }

    fn miss(&mut self, missed: Missed) -> Result<u64, Missed> {
        self.missed = Some(missed);
        Err(missed)
    }

    /// Records progress: a completed operation.
    pub fn note_progress(&mut self) {
        self.moved = true;
    }

    /// Records input of a client that was executed.
    pub fn note_input(&mut self, anonymous: bool) {
        self.moved = true;
        self.anonymous = anonymous;
    }

    /// Records bytes read from the client.
    pub fn note_received(&mut self, bytes: usize) {
        if self.due == Due::Message {
            self.add(bytes);
        }
    }

    /// Records bytes of responses that the client has taken.
    pub fn note_sent(&mut self, bytes: usize) {
        self.moved = true;
        if self.due == Due::Write {
            self.add(bytes);
        }
    }

    fn add(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Sets the purpose from now on, after `heard` messages; false if the present deadline remains.
    pub fn renew(&mut self, due: Due, heard: u32) -> bool {
        let moved = std::mem::take(&mut self.moved);
        let same = due == std::mem::replace(&mut self.due, due);
        let same_message = heard == std::mem::replace(&mut self.heard, heard);
        let anew = match due {
            _ if !same => true,
            // The time for the first message continues, however little the client sends; that for
            // responses ends with a window.
            Due::Nothing | Due::FirstMessage | Due::Write => false,
            Due::Message => !same_message,
            Due::Idle => moved,
        };
        if anew {
            self.bytes = 0;
        }
        anew
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Config;
    use std::path::Path;

    fn limits(settings: &str) -> Connections {
        let text = format!("[connections]\n{settings}\n");
        let parsed = Config::parse(Path::new("."), &text, &crate::Overrides::default());
        parsed.expect("settings").connections
    }

    fn authenticated(due: Due) -> Deadline {
        let mut deadline = Deadline::default();
        deadline.note_input(false);
        assert!(deadline.renew(due, 1));
        deadline
    }

    #[test]
    fn enough_bytes_in_a_window_give_another() {
        let limits = limits(
            "message_timeout_s = 10\nreceive_bytes_per_s_min = 100\nwrite_timeout_s = 5\n\
             send_bytes_per_s_min = 50",
        );
        let mut sender = authenticated(Due::Message);
        sender.note_received(999);
        sender.note_received(1);
        sender.note_sent(5_000);
        assert_eq!(sender.pass(&limits), Ok(10 * TICKS_PER_S));
        sender.note_received(999);
        assert_eq!(sender.pass(&limits), Err(Missed::SendingFast));
        assert_eq!(sender.missed(), Some(Missed::SendingFast));
        let mut reader = authenticated(Due::Write);
        reader.note_sent(250);
        assert_eq!(reader.pass(&limits), Ok(5 * TICKS_PER_S));
        reader.note_received(5_000);
        assert_eq!(reader.pass(&limits), Err(Missed::Responses));
        let mut reader = authenticated(Due::Write);
        reader.note_sent(249);
        assert_eq!(reader.pass(&limits), Err(Missed::TakingFast));
    }

    #[test]
    fn without_a_least_rate_any_byte_gives_another_window() {
        let limits = limits("receive_bytes_per_s_min = 0\nsend_bytes_per_s_min = 0");
        for due in [Due::Message, Due::Write] {
            let mut slow = authenticated(due);
            slow.note_received(1);
            slow.note_sent(1);
            assert!(slow.pass(&limits).is_ok(), "{due:?}");
            assert!(slow.pass(&limits).is_err(), "{due:?}");
        }
    }

    #[test]
    fn a_stranger_has_one_window() {
        let limits = limits("receive_bytes_per_s_min = 0");
        let mut stranger = Deadline::default();
        assert!(stranger.renew(Due::Message, 1));
        stranger.note_received(1 << 20);
        assert_eq!(stranger.pass(&limits), Err(Missed::Message));
    }

    #[test]
    fn windows_begin_with_messages() {
        let mut sender = authenticated(Due::Message);
        sender.note_received(7);
        sender.note_input(false);
        assert!(!sender.renew(Due::Message, 1));
        assert_eq!(sender.bytes, 7);
        assert!(sender.renew(Due::Message, 2));
        assert_eq!(sender.bytes, 0);
        let mut reader = authenticated(Due::Write);
        reader.note_sent(1);
        assert!(!reader.renew(Due::Write, 1));
        let mut idle = authenticated(Due::Idle);
        assert!(!idle.renew(Due::Idle, 1));
        idle.note_progress();
        assert!(idle.renew(Due::Idle, 1));
    }
}
