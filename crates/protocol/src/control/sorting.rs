//! Server-side sorting of search results (RFC 2891).

use super::sequence_of;
use crate::ber::{
    ENUMERATED, OCTET_STRING, SEQUENCE, put_boolean, put_integer, put_nested, put_octets,
};
use crate::error::{Component, DecodeError};
use crate::response::result_code;
use crate::result_code::ResultCode;

/// Maximum number of sort keys.
pub const SORT_KEYS_MAX: usize = 64;

/// `SortKeyList` of RFC 2891 §1.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortRequest<'a> {
    /// The keys, most significant first; at least one when decoded.
    pub keys: Vec<SortKey<'a>>,
}

/// One sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey<'a> {
    /// The attribute description.
    pub attribute: &'a str,
    /// OID or name of the ordering rule; `None` for the attribute's own.
    pub ordering_rule: Option<&'a str>,
    /// Whether the greatest value comes first.
    pub reverse: bool,
}

/// `SortResult` of RFC 2891 §1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortResponse<'a> {
    /// Result of sorting.
    pub code: ResultCode,
    /// The first sort key with an error, if any.
    pub attribute: Option<&'a str>,
}

impl<'a> SortRequest<'a> {
    /// Decodes the request control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut list = sequence_of(value)?;
        let mut keys = Vec::new();
        while !list.is_empty() {
            if keys.len() == SORT_KEYS_MAX {
                return Err(DecodeError::TooMany {
                    what: Component::SortKeys,
                    limit: SORT_KEYS_MAX as u32,
                });
            }
            let mut parts = list.nested(SEQUENCE)?;
            let attribute = parts.text(OCTET_STRING)?;
            let ordering_rule = parts.optional_text(0x80)?;
            let reverse = parts.boolean_or_false(0x81)?;
            parts.finish_extensible()?;
            keys.push(SortKey {
                attribute,
                ordering_rule,
                reverse,
            });
        }
        if keys.is_empty() {
            return Err(DecodeError::EmptyList {
                what: Component::SortKeys,
            });
        }
        Ok(SortRequest { keys })
    }

    /// Appends the request control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            self.keys.iter().for_each(|key| key.encode(out))
        });
    }
}

impl SortKey<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_octets(out, OCTET_STRING, self.attribute.as_bytes());
            if let Some(rule) = self.ordering_rule {
                put_octets(out, 0x80, rule.as_bytes());
            }
            if self.reverse {
                put_boolean(out, 0x81, true);
            }
        });
    }
}

impl<'a> SortResponse<'a> {
    /// Decodes the response control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let code = result_code(&mut parts)?;
        let attribute = parts.optional_text(0x80)?;
        parts.finish_extensible()?;
        Ok(SortResponse { code, attribute })
    }

    /// Appends the response control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, ENUMERATED, i64::from(self.code.0));
            if let Some(attribute) = self.attribute {
                put_octets(out, 0x80, attribute.as_bytes());
            }
        });
    }
}
