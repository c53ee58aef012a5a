//! Holds responses back to send several together, if the client announced so with the queue length
//! control.
//!
//! Without the control a connection sends the responses of one turn together. With it, responses
//! are held until the announced number is reached, but never indefinitely: a bundle also ends when
//! its size or time limit is reached, and before every request that concerns the connection itself.
//!
//! Invariant: after [`Bundle::end`] nothing is held back until a request announces a bundle again.

use std::time::Duration;

use protocol::control::QueueLength;
use protocol::{Message, Request, oid};

/// Bytes of responses from which on they are sent, however many are still expected.
const BYTES_MAX: usize = 64 << 10;
/// Delay if the client gives none.
const DELAY: Duration = Duration::from_millis(10);
/// Maximum delay that a client can request.
const DELAY_MAX: Duration = Duration::from_millis(100);

/// State of a bundle of responses.
#[derive(Debug, Default)]
pub struct Bundle {
    /// Number of results still expected; 0 if nothing is held back.
    left: u32,
    delay: Duration,
}

impl Bundle {
    /// Examines a request before its execution: it may announce a bundle or end one.
    pub fn consider(&mut self, message: &Message<'_>) {
        if self.left > 0 && concerns_connection(&message.request) {
            self.end();
        }
        let mut controls = message.controls.iter();
        let Some(control) = controls.find(|it| it.oid == oid::QUEUE_LENGTH) else {
            return;
        };
        // A malformed value is refused by the operation.
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

    /// Counts one more result in the output.
    pub fn answered(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Ends the bundle: held responses are to be sent.
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// How long output of this length may be held; `None` if it must be sent.
    pub fn patience(&self, bytes: usize) -> Option<Duration> {
        (self.left > 0 && bytes < BYTES_MAX).then_some(self.delay)
    }
}

/// Whether a client that sends this request needs the earlier responses first.
fn concerns_connection(request: &Request<'_>) -> bool {
    match request {
        Request::Bind(_) | Request::Unbind | Request::Abandon(_) => true,
        Request::Extended(it) => it.name == oid::START_TLS || it.name == oid::CANCEL,
        _ => false,
    }
}
