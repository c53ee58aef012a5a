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

/// State of SCRAM between its two binds.
#[derive(Debug)]
pub(crate) struct ScramExchange {
    /// The account; `None` if the identity is unknown.
    pub whose: Option<(EntryId, Box<Subject>)>,
    pub scram: sasl::scram::Exchange,
    pub trial: Trial,
}
