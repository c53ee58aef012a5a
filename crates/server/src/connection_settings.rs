//! Settings that all serving threads share, replaced as a whole when they are read again.

use std::sync::Arc;

use sasl::Offers;

use crate::connection::Rules;
use crate::settings::Connections;
use crate::tls::Certificate;

/// Settings that hold for the connections of every serving thread.
#[derive(Debug)]
pub struct ConnectionSettings {
    /// Rules of the protocol that hold for every connection.
    pub rules: Rules,
    /// SASL mechanisms that only some settings offer; `None` for none.
    pub offers: Option<Arc<Offers>>,
    /// Timeouts.
    pub connections: Connections,
    /// The certificate; `None` when TLS is not configured.
    pub certificate: Option<Arc<Certificate>>,
}
