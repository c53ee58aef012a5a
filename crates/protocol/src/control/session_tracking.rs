//! Session tracking control (draft-wahl-ldap-session-03): the client's session, for the log.

use super::sequence_of;
use crate::ber::{OCTET_STRING, SEQUENCE, put_nested, put_octets};
use crate::error::{Component, DecodeError};

/// Maximum length of `sessionSourceIp` in octets.
const ADDRESS_BYTES_MAX: usize = 128;
/// Maximum length of `sessionSourceName`, and of the identifier, in octets.
const TEXT_BYTES_MAX: usize = 65_536;

/// `SessionIdentifierControlValue`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTracking<'a> {
    /// Address of the component that assigned the identifier; empty if unknown.
    pub source_address: &'a str,
    /// Name of that component; empty if unknown.
    pub source_name: &'a str,
    /// OID of the format of name and identifier.
    pub format: &'a str,
    /// The identifier of the session.
    pub identifier: &'a str,
}

impl<'a> SessionTracking<'a> {
    /// Decodes the control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let mut text = |what, limit: usize| {
            let text = parts.text(OCTET_STRING)?;
            if text.len() > limit {
                return Err(DecodeError::TooMany {
                    what,
                    limit: limit as u32,
                });
            }
            Ok(text)
        };
        let decoded = SessionTracking {
            source_address: text(Component::SessionSourceAddress, ADDRESS_BYTES_MAX)?,
            source_name: text(Component::SessionSourceName, TEXT_BYTES_MAX)?,
            format: text(Component::SessionFormat, TEXT_BYTES_MAX)?,
            identifier: text(Component::SessionIdentifier, TEXT_BYTES_MAX)?,
        };
        parts.finish()?;
        let is_oid = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if decoded.format.is_empty() || !is_oid(decoded.format) {
            return Err(DecodeError::NotAnOid {
                what: Component::SessionFormat,
            });
        }
        Ok(decoded)
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            let parts = [
                self.source_address,
                self.source_name,
                self.format,
                self.identifier,
            ];
            for part in parts {
                put_octets(out, OCTET_STRING, part.as_bytes());
            }
        });
    }
}
