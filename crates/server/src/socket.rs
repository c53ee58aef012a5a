//! A socket of TCP or a Unix domain.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A socket of TCP or a Unix domain.
#[derive(Debug)]
pub enum Socket {
    /// `ldap://` and `ldaps://`.
    Tcp(TcpStream),
    /// `ldapi://`.
    Unix(UnixStream),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(it) => it.as_fd(),
            Socket::Unix(it) => it.as_fd(),
        }
    }
}

impl Socket {
    /// Reads available bytes.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        // Not `try_read`: only this call registers that a short read has emptied the socket, which
        // saves each request a read without result.
        let read = match self {
            Socket::Tcp(it) => Pin::new(it).poll_read(cx, &mut buffer),
            Socket::Unix(it) => Pin::new(it).poll_read(cx, &mut buffer),
        };
        read.map(|it| it.map(|()| buffer.filled().len()))
    }

    /// Whether the socket has no input; if so, new input wakes the task.
    pub fn is_empty(&self, cx: &mut Context<'_>) -> bool {
        match self {
            Socket::Tcp(it) => it.poll_read_ready(cx).is_pending(),
            Socket::Unix(it) => it.poll_read_ready(cx).is_pending(),
        }
    }

    /// Writes as many bytes as the socket takes.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Socket::Tcp(it) => Pin::new(it).poll_write(cx, bytes),
            Socket::Unix(it) => Pin::new(it).poll_write(cx, bytes),
        }
    }

    /// Shuts the sending side down.
    pub fn end_output(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(it) => SockRef::from(it).shutdown(Shutdown::Write),
            Socket::Unix(it) => SockRef::from(it).shutdown(Shutdown::Write),
        }
    }

    /// Writes as many bytes as the socket takes, outside of a task.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(it) => it.try_write(bytes),
            Socket::Unix(it) => it.try_write(bytes),
        }
    }
}
