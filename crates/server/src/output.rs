//! Responses on their way to a socket: bytes that the socket has not taken, and bytes that are held
//! for a bundle.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::SendFlags;
use tokio::time::{Sleep, sleep};

use crate::socket::Socket;

/// Output of one connection that its socket has not taken. Usually empty, and then it owns no
/// memory.
#[derive(Default)]
pub struct Output {
    /// Bytes to be sent, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// Bytes behind `unsent` that are held for a bundle.
    held: Option<Box<Held>>,
}

/// Output that is held, and until when.
struct Held {
    bytes: Vec<u8>,
    until: Pin<Box<Sleep>>,
}

impl Output {
    /// Whether every byte that is not held was sent.
    pub fn is_sent(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Whether bytes are held for a bundle.
    pub fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Number of bytes that are held.
    pub fn held_bytes(&self) -> usize {
        self.held.as_ref().map_or(0, |it| it.bytes.len())
    }

    /// Size in bytes of the buffer of unsent bytes.
    pub fn capacity(&self) -> usize {
        self.unsent.capacity()
    }

    /// Number of bytes that are not held and wait for the client.
    pub fn waiting_bytes(&self) -> usize {
        self.unsent.len() - self.sent
    }

    /// Writes the held bytes, if there are some, and `bytes` to the socket, and keeps those that
    /// the socket does not take.
    ///
    /// # Errors
    /// The socket takes no more bytes.
    pub fn send(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<()> {
        if let Some(mut held) = self.held.take() {
            held.bytes.extend_from_slice(bytes);
            return self.send(socket, &held.bytes);
        }
        let mut rest = bytes;
        while self.unsent.is_empty() && !rest.is_empty() {
            match socket.try_write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.unsent.extend_from_slice(rest);
        Ok(())
    }

    /// Adds to the held bytes, which are held for `delay` from the first of them on.
    pub fn hold(&mut self, bytes: &[u8], delay: Duration) {
        let held = self.held.get_or_insert_with(|| {
            Box::new(Held {
                bytes: Vec::new(),
                until: Box::pin(sleep(delay)),
            })
        });
        held.bytes.extend_from_slice(bytes);
    }

    /// Whether bytes were held long enough. If not, the task is woken then.
    pub fn was_held_long_enough(&mut self, cx: &mut Context<'_>) -> bool {
        let held = self.held.as_mut();
        held.is_some_and(|it| it.until.as_mut().poll(cx).is_ready())
    }

    /// Makes the held bytes unsent ones.
    pub fn release(&mut self) {
        if let Some(mut held) = self.held.take() {
            self.unsent.append(&mut held.bytes);
        }
    }

    /// Offers the unsent bytes to the system, which says that it has room only when a third of its
    /// buffer is free, but takes bytes before. An error is left to [`Output::poll_flush`].
    pub fn offer(&mut self, socket: &Socket) {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        while let Some(rest @ [_, ..]) = self.unsent.get(self.sent..)
            && let Ok(count @ 1..) = rustix::net::send(socket, rest, flags)
        {
            self.sent += count;
        }
    }

    /// Sends the unsent bytes; ready when all are sent.
    ///
    /// # Errors
    /// The socket takes no more bytes.
    pub fn poll_flush(
        &mut self,
        socket: &mut Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.sent < self.unsent.len() {
            match socket.poll_write(cx, &self.unsent[self.sent..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    self.sent += count;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        if !self.unsent.is_empty() {
            (self.unsent, self.sent) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}
