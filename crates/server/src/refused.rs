//! Connections that are not admitted: the reason, and the notice that their clients get.

use std::fmt;
use std::os::fd::AsFd;

use rustix::net::Shutdown;

/// Why a connection was not admitted; limits are numbers of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The server has as many connections as it takes.
    Total(usize),
    /// The client's address has as many connections as one address may have.
    Address(usize),
    /// The listener is for proxies, and the client's address is not a proxy's.
    NoProxy,
}

/// The diagnostic message of the Notice of Disconnection that a refused client gets.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Total(limit) => write!(
                f,
                "limit of {limit} connections at a time is reached: try again later"
            ),
            Refused::NoProxy => f.write_str("this address is for proxies: use another port"),
            Refused::Address(limit) => write!(
                f,
                "limit of {limit} connections at a time from one address is reached: close one \
                 first"
            ),
        }
    }
}

impl Refused {
    /// Sends the client a Notice of Disconnection with the reason, and ends the connection. A fresh
    /// socket always takes so few bytes.
    pub fn tell(self, socket: &impl AsFd) {
        let unavailable = protocol::ResultCode::UNAVAILABLE;
        let result = protocol::LdapResult::new(unavailable, self.to_string());
        let mut notice = Vec::new();
        protocol::write_notice_of_disconnection(&mut notice, &result);
        // The client may be gone already; nothing is owed to it.
        let _ = rustix::io::write(socket, &notice);
        // A socket closed with a request unread is reset, and the client may lose the notice.
        let _ = rustix::net::shutdown(socket, Shutdown::Write);
        let _ = rustix::io::read(socket, &mut [0; 4096]);
    }
}
