//! How long responses may wait for each other, when the client has said that it waits for several
//! (the queue length control).
//!
//! Without the control a connection sends what one turn of its thread produced. With it, responses
//! are kept until as many as announced are there. Nothing can be kept for good: a bundle ends when
//! its count or its size is reached, when its time is over, and before every request that is about
//! the connection itself.
//!
//! Invariant: after [`Bundle::end`] nothing is held back until a request announces a bundle again.

use std::time::Duration;

use protocol::control::QueueLength;
use protocol::{Message, Request, oid};

/// Bytes of responses beyond which they are sent, however many are still expected.
const BYTES_MAX: usize = 64 << 10;
/// The delay when the client names none.
const DELAY: Duration = Duration::from_millis(10);
/// The longest delay a client can ask for.
const DELAY_MAX: Duration = Duration::from_millis(100);

/// The responses that a client waits for together.
#[derive(Debug, Default)]
pub struct Bundle {
    /// Results that are still expected; 0: nothing is held back.
    left: u32,
    delay: Duration,
}

impl Bundle {
    /// Looks at a request before it is executed: it may announce a bundle or end one.
    pub fn consider(&mut self, message: &Message<'_>) {
        if self.left > 0 && concerns_connection(&message.request) {
            self.end();
        }
        let mut controls = message.controls.iter();
        let Some(control) = controls.find(|it| it.oid == oid::QUEUE_LENGTH) else {
            return;
        };
        // A value that cannot be decoded is refused by the operation.
        if let Some(Ok(asked)) = control.value.map(QueueLength::decode) {
            let delay = asked
                .delay_us_max
                .map(|it| Duration::from_micros(it.into()));
            self.delay = delay.unwrap_or(DELAY).min(DELAY_MAX);
            self.left = if self.delay.is_zero() {
                0
            } else {
                asked.responses
            };
        }
    }

    /// One more result is in the output.
    pub fn answered(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// What is there is to be sent.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// How long this much output may wait for more of it; `None`: not at all.
    pub fn patience(&self, bytes: usize) -> Option<Duration> {
        (self.left > 0 && bytes < BYTES_MAX).then_some(self.delay)
    }
}

/// Requests whose client cannot go on without the responses before it.
fn concerns_connection(request: &Request<'_>) -> bool {
    match request {
        Request::Bind(_) | Request::Unbind | Request::Abandon(_) => true,
        Request::Extended(it) => it.name == oid::START_TLS || it.name == oid::CANCEL,
        _ => false,
    }
}
