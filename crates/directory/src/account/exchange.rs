//! The state of a SASL exchange between its two binds.

use policy::{Subject, Trial};
use store::EntryId;

/// State between the two binds of an exchange.
#[derive(Debug)]
pub(crate) enum Exchange {
    /// SCRAM (RFC 5802).
    Scram(Box<ScramExchange>),
    /// OAUTHBEARER (RFC 7628): the client was told that its token is not accepted, and is refused
    /// next with this diagnostic message.
    Refused(String),
}

impl Exchange {
    /// The identity as the client has spelled it; `None` if the exchange has ended for it.
    pub fn user(&self) -> Option<&str> {
        match self {
            Exchange::Scram(exchange) => Some(&exchange.user),
            Exchange::Refused(_) => None,
        }
    }
}

/// State of SCRAM between its two binds.
#[derive(Debug)]
pub(crate) struct ScramExchange {
    /// The account; `None` if the identity is unknown.
    pub whose: Option<(EntryId, Box<Subject>)>,
    pub scram: sasl::scram::Exchange,
    pub trial: Trial,
    /// The identity as the client has spelled it.
    pub user: String,
}
