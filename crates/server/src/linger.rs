//! Seeing a client off that may still be sending.
//!
//! A socket that is closed with input unread is reset, and what the client has not received by then
//! is thrown away: answers of requests that were executed. So after the last response input is read
//! and dropped until the client closes, is silent, or has had its time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use crate::socket::Socket;

/// A client that was silent when the output ended, and is for so long, has heard the end or never
/// will.
const SILENCE: Duration = Duration::from_millis(100);
/// The same for a client that was sending.
const PAUSE: Duration = Duration::from_secs(1);
/// Nobody may send for longer.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Reads in one turn.
const READS: usize = 4;

/// A connection whose output has ended.
pub struct Linger {
    silence: Pin<Box<Sleep>>,
    until: Instant,
}

impl Linger {
    /// From now on.
    pub fn begin() -> Linger {
        Linger {
            silence: Box::pin(sleep(SILENCE)),
            until: Instant::now() + TIME_MAX,
        }
    }

    /// Drops input; ready when the socket can be closed.
    pub fn poll(
        &mut self,
        socket: &mut Socket,
        buffer: &mut [u8],
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        for _ in 0..READS {
            match socket.poll_read(cx, buffer) {
                Poll::Ready(Ok(1..)) if Instant::now() < self.until => {
                    self.silence.as_mut().reset(Instant::now() + PAUSE);
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.silence.as_mut().poll(cx),
            }
        }
        // Others come first.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
