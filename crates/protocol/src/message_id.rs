//! Message ids (RFC 4511 §4.1.1.1).

use crate::ber::Reader;
use crate::{Component, DecodeError};

/// A message id: 0 to 2^31-1. Requests use 1 and up; 0 marks unsolicited notifications.
pub type MessageId = i32;

/// Reads a MessageID with the identifier octet `tag`.
#[inline(always)]
pub(crate) fn message_id(reader: &mut Reader<'_>, tag: u8) -> Result<MessageId, DecodeError> {
    Ok(reader.max_int(tag, Component::MessageId)? as MessageId)
}
