//! Proxied authorization control (RFC 4370): carries out an operation as another subject.

use crate::DecodeError;
use crate::ber::decode_text;

/// The subject whose rights decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxiedAuthorization<'a> {
    /// An authzId (RFC 4513 §5.2.1.8), `dn:…` or `u:…`; empty for anonymous.
    pub authorization_id: &'a str,
}

impl<'a> ProxiedAuthorization<'a> {
    /// Decodes the control's value, which is the text itself without BER around it.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(ProxiedAuthorization {
            authorization_id: decode_text(value)?,
        })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.authorization_id.as_bytes());
    }
}
