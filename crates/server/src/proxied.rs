//! Connections through a proxy: reads the header with the client's address before anything else,
//! byte by byte, so that no byte behind it is taken.

use std::fmt;
use std::io;

use protocol::proxy::{self, Header, Progress, ProxyError};
use tokio::io::AsyncReadExt;

use crate::socket::Socket;

/// Reason why there is no header.
#[derive(Debug)]
pub enum NoHeader {
    /// The connection ended or failed.
    Lost(io::Error),
    /// Other bytes were received.
    Wrong(ProxyError),
}

impl fmt::Display for NoHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoHeader::Lost(error) => write!(f, "expected a PROXY header: {error}"),
            NoHeader::Wrong(error) => write!(f, "{error}"),
        }
    }
}

/// Reads the header, and nothing behind it.
pub async fn header(socket: &mut Socket) -> Result<Header, NoHeader> {
    let mut bytes = Vec::new();
    loop {
        match proxy::decode(&bytes).map_err(NoHeader::Wrong)? {
            Progress::Whole(header) => return Ok(header),
            Progress::More(count) => {
                let begin = bytes.len();
                bytes.resize(begin + count, 0);
                let missing = &mut bytes[begin..];
                let read = match socket {
                    Socket::Tcp(it) => it.read_exact(missing).await,
                    Socket::Unix(it) => it.read_exact(missing).await,
                };
                read.map_err(NoHeader::Lost)?;
            }
        }
    }
}
