//! The other end of a connection.

use policy::turns::Lane;
use sasl::{ChannelBindings, Offers};
use std::net::IpAddr;
use std::sync::Arc;

/// Properties of the other end of a connection.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    /// The client's address; `None` for a Unix domain socket.
    pub address: Option<IpAddr>,
    /// Whether the connection is protected by TLS, or by its kind cannot leave the machine
    /// (`ldapi`).
    pub secure: bool,
    /// User id of the process at the other end of a Unix domain socket; `None` for other sockets.
    pub unix_uid: Option<u32>,
    /// Whether both ends are on this machine.
    pub local: bool,
    /// Whether the administrator must not bind from there.
    pub bars_administrator: bool,
    /// Whether the connection can be read on the way, so that passwords must not be sent.
    pub exposed: bool,
    /// Bindings to the TLS channel; `None` without TLS.
    pub bindings: Option<Box<ChannelBindings>>,
    /// SASL mechanisms that only some settings offer; `None` for none.
    pub offers: Option<Arc<Offers>>,
}

impl Peer {
    /// The lane in which passwords of the client are checked.
    pub fn lane(&self) -> Lane {
        Lane::of(self.address, self.unix_uid)
    }
}
