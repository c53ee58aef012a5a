//! The state of a SCRAM exchange (RFC 5802) between its two binds.

use policy::password::{Prf, ScramKeys};
use policy::{Subject, Trial};
use store::EntryId;

/// State between the two binds of an exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub prf: Prf,
    /// The account; `None` if the identity is unknown.
    pub whose: Option<(EntryId, Box<Subject>)>,
    pub keys: ScramKeys,
    pub trial: Trial,
    pub header: String,
    pub nonce: String,
    /// The client's first message without its header, a comma, and the server's first message.
    pub first: String,
}
