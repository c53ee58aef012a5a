//! Simple paged results (RFC 2696): requests and responses have one type of value.

use super::sequence_of;
use crate::ber::{INTEGER, OCTET_STRING, SEQUENCE, put_integer, put_nested, put_octets};
use crate::error::{Component, DecodeError};

/// `realSearchControlValue` of RFC 2696.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagedResults<'a> {
    /// Request: entries wanted in the page, 0 to end the paged search. Response: estimated total, 0
    /// for unknown.
    pub size: u32,
    /// Start of the next page; empty in the first request and in the last response.
    pub cookie: &'a [u8],
}

impl<'a> PagedResults<'a> {
    /// Decodes the control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let size = parts.max_int(INTEGER, Component::PageSize)?;
        let cookie = parts.expect(OCTET_STRING)?;
        parts.finish_extensible()?;
        Ok(PagedResults { size, cookie })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.size));
            put_octets(out, OCTET_STRING, self.cookie);
        });
    }
}
