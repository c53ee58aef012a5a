//! Connections that come through a proxy: the header that says who the client is is read before
//! anything else, byte for byte, so that nothing behind it is taken.

use std::fmt;
use std::io;

use protocol::proxy::{self, Header, Progress, ProxyError};
use tokio::io::AsyncReadExt;

use crate::socket::Socket;

/// Why the header did not come.
#[derive(Debug)]
pub enum NoHeader {
    /// The connection ended or failed before.
    Lost(io::Error),
    /// Something else came.
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
