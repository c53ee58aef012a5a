//! OAUTHBEARER (RFC 7628): a login by a token that an issuer has made ([`crate::token`]).
//!
//! A client whose token is not accepted is told why in words for programs, answers with one octet,
//! and only then is refused.

use protocol::sasl::Bearer;

use crate::refusal::Refusal;

/// Reads the first message of a client.
///
/// # Errors
/// `protocolError`: the message is not of the mechanism's form.
pub fn read(credentials: &[u8]) -> Result<Bearer<'_>, Refusal> {
    let malformed = |error| Refusal::malformed("OAUTHBEARER credentials (RFC 7628 §3.1)", error);
    Bearer::decode(credentials).map_err(malformed)
}
