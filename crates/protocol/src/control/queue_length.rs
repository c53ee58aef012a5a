//! Queue length control (Pando's own): number of responses that a client waits for together.

use super::sequence_of;
use crate::DecodeError;
use crate::ber::{INTEGER, Reader, SEQUENCE, put_integer, put_nested};
use crate::error::Component;

/// Identifier octet of `maxDelay [0]`.
const MAX_DELAY: u8 = 0x80;

/// `QueueLengthValue ::= SEQUENCE { queueLength INTEGER (0 .. maxInt),
/// maxDelay [0] INTEGER (0 .. maxInt) OPTIONAL }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLength {
    /// Number of results expected from this request on, its own included; 0 to send each at once.
    pub responses: u32,
    /// Maximum time for which a response may be held back, in microseconds.
    pub delay_us_max: Option<u32>,
}

impl QueueLength {
    /// Decodes the control's value; a bare INTEGER is taken for `queueLength`.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value);
        if outer.peek_tag() == Some(INTEGER) {
            let responses = outer.max_int(INTEGER, Component::QueueLength)?;
            outer.finish()?;
            return Ok(QueueLength {
                responses,
                delay_us_max: None,
            });
        }
        let mut parts = sequence_of(value)?;
        let responses = parts.max_int(INTEGER, Component::QueueLength)?;
        let delay_us_max = match parts.peek_tag() {
            Some(MAX_DELAY) => Some(parts.max_int(MAX_DELAY, Component::QueueLength)?),
            _ => None,
        };
        parts.finish_extensible()?;
        Ok(QueueLength {
            responses,
            delay_us_max,
        })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.responses));
            if let Some(delay) = self.delay_us_max {
                put_integer(out, MAX_DELAY, i64::from(delay));
            }
        });
    }
}
