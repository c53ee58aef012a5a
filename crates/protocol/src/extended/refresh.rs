//! Refresh of a dynamic entry (RFC 2589 §4).

use crate::DecodeError;
use crate::ber::{SEQUENCE, put_integer, put_nested, put_octets};
use crate::control::sequence_of;
use crate::error::Component;

/// The request's value (RFC 2589 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshRequest<'a> {
    /// The dynamic entry.
    pub entry: &'a str,
    /// Requested lifetime from now on, in seconds.
    pub ttl_s: u32,
}

/// The response's value (RFC 2589 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshResponse {
    /// Granted lifetime in seconds, within which the client refreshes. 0 after a failure.
    pub ttl_s: u32,
}

impl<'a> RefreshRequest<'a> {
    /// Decodes the request's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let entry = parts.text(0x80)?;
        let ttl_s = parts.max_int(0x81, Component::TimeToLive)?;
        parts.finish_extensible()?;
        Ok(RefreshRequest { entry, ttl_s })
    }

    /// Appends the request's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_octets(out, 0x80, self.entry.as_bytes());
            put_integer(out, 0x81, i64::from(self.ttl_s));
        });
    }
}

impl RefreshResponse {
    /// Decodes the response's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let ttl_s = parts.max_int(0x81, Component::TimeToLive)?;
        parts.finish_extensible()?;
        Ok(RefreshResponse { ttl_s })
    }

    /// Appends the response's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, 0x81, i64::from(self.ttl_s));
        });
    }
}
