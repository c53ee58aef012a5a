//! A socket of either kind.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A socket of either kind.
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
    /// Reads what is there.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        // Not `try_read`: only this call knows that a short read has emptied the socket, which
        // saves a read that finds nothing for every request.
        let read = match self {
            Socket::Tcp(it) => Pin::new(it).poll_read(cx, &mut buffer),
            Socket::Unix(it) => Pin::new(it).poll_read(cx, &mut buffer),
        };
        read.map(|it| it.map(|()| buffer.filled().len()))
    }

    /// Whether a read would find nothing; if so, bytes that come wake the task.
    pub fn is_empty(&self, cx: &mut Context<'_>) -> bool {
        match self {
            Socket::Tcp(it) => it.poll_read_ready(cx).is_pending(),
            Socket::Unix(it) => it.poll_read_ready(cx).is_pending(),
        }
    }

    /// Writes what fits.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Socket::Tcp(it) => Pin::new(it).poll_write(cx, bytes),
            Socket::Unix(it) => Pin::new(it).poll_write(cx, bytes),
        }
    }

    /// Tells the client that nothing more comes.
    pub fn end_output(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(it) => SockRef::from(it).shutdown(Shutdown::Write),
            Socket::Unix(it) => SockRef::from(it).shutdown(Shutdown::Write),
        }
    }

    /// Writes what fits, outside of a task.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(it) => it.try_write(bytes),
            Socket::Unix(it) => it.try_write(bytes),
        }
    }
}
