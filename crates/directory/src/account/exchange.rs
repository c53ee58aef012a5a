//! The state of a SCRAM exchange (RFC 5802) between its two binds.

use policy::{Subject, Trial};
use store::EntryId;

/// State between the two binds of an exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The account; `None` if the identity is unknown.
    pub whose: Option<(EntryId, Box<Subject>)>,
    pub scram: sasl::scram::Exchange,
    pub trial: Trial,
    /// The identity as the client has spelled it.
    pub user: String,
}
