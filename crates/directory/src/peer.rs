//! The other end of a connection.

use policy::mapping::Outside;
use policy::turns::Lane;
use sasl::{ChannelBindings, Offers};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The certificate with which a client has authenticated in its TLS handshake.
pub struct ClientCertificate {
    /// The names in the certificate, for identity rules; without parts if they cannot be read.
    pub identity: Outside<'static>,
    /// Checks the certificate again, which may have expired or been revoked since the handshake;
    /// the error says why it is not accepted any more.
    pub check: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.identity.fmt(f)
    }
}

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
    /// The client's certificate; `None` if it has shown none.
    pub certificate: Option<Arc<ClientCertificate>>,
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
    /// Whether a layer below LDAP says who the client is, as SASL EXTERNAL needs.
    pub fn is_identified(&self) -> bool {
        self.unix_uid.is_some() || self.certificate.is_some()
    }

    /// The lane in which passwords of the client are checked.
    pub fn lane(&self) -> Lane {
        Lane::of(self.address, self.unix_uid)
    }
}
