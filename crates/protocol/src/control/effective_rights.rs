//! Get effective rights control (Sun Directory Server, draft-ietf-ldapext-acl-model-08 §10.1):
//! rights of a subject on the entries of a search.

use crate::ber::{OCTET_STRING, Reader, SEQUENCE, decode_text, put_nested, put_octets};
use crate::error::DecodeError;
use crate::request::{attribute_selection, put_attribute_selection};

/// Prefix of an identity that a client has put into the control without encoding.
const PLAIN_BEGIN: &[u8] = b"dn:";

/// The request's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveRightsRequest<'a> {
    /// The subject: an authorization identity (RFC 4513 §5.2.1.8), empty for anonymous.
    pub authorization_id: &'a str,
    /// Attributes to report besides those of the entry.
    pub attributes: Vec<&'a str>,
}

impl<'a> EffectiveRightsRequest<'a> {
    /// Decodes the control's value. Clients of 389 Directory Server send the identity unencoded.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let begin = value.get(..PLAIN_BEGIN.len());
        if begin.is_some_and(|it| it.eq_ignore_ascii_case(PLAIN_BEGIN)) {
            return Ok(EffectiveRightsRequest {
                authorization_id: decode_text(value)?,
                attributes: Vec::new(),
            });
        }
        let mut reader = Reader::new(value);
        let mut parts = reader.nested(SEQUENCE)?;
        reader.finish()?;
        let authorization_id = parts.text(OCTET_STRING)?;
        let attributes = match parts.peek_tag() {
            Some(SEQUENCE) => attribute_selection(&mut parts)?,
            _ => Vec::new(),
        };
        parts.finish_extensible()?;
        Ok(EffectiveRightsRequest {
            authorization_id,
            attributes,
        })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_octets(out, OCTET_STRING, self.authorization_id.as_bytes());
            if !self.attributes.is_empty() {
                put_attribute_selection(out, &self.attributes);
            }
        });
    }
}
