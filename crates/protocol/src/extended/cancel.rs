//! Cancel operation (RFC 3909): ends an operation, which is answered.

use crate::DecodeError;
use crate::ber::{INTEGER, SEQUENCE, put_integer, put_nested};
use crate::control::sequence_of;
use crate::message_id::{MessageId, message_id};

/// `cancelRequestValue` (RFC 3909 §2.1). The response has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelRequest {
    /// The message id of the operation to cancel.
    pub cancel_id: MessageId,
}

impl CancelRequest {
    /// Decodes the request's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let cancel_id = message_id(&mut parts, INTEGER)?;
        parts.finish_extensible()?;
        Ok(CancelRequest { cancel_id })
    }

    /// Appends the request's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.cancel_id))
        });
    }
}
