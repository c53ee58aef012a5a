//! Closes connections whose client may still be sending.
//!
//! Closing a socket with unread input resets it, and output that the client has not received is
//! lost: responses to executed requests. So after the last response input is read and dropped until
//! the client closes, falls silent, or exceeds a time limit.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use crate::socket::Socket;

/// Time of silence after which a client that was silent at the end of the output is closed.
const SILENCE: Duration = Duration::from_millis(100);
/// Time of silence after which a client that was sending is closed.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum time for which a client may go on sending.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Maximum number of reads in one turn.
const READS: usize = 4;

/// A connection whose output has ended.
pub struct Linger {
    silence: Pin<Box<Sleep>>,
    until: Instant,
}

impl Linger {
    /// Begins now.
    pub fn begin() -> Linger {
        Linger {
            silence: Box::pin(sleep(SILENCE)),
            until: Instant::now() + TIME_MAX,
        }
    }

    /// Reads and drops input; ready when the socket can be closed.
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
        // Other connections have their turn first.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
