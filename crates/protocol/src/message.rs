//! The LDAPMessage envelope of requests (RFC 4511 §4.1.1) and the limits on what is accepted.

use crate::ber::{INTEGER, Reader, SEQUENCE};
use crate::control::{self, Control};
use crate::request::Request;
use crate::{DecodeError, ber, filter};

/// A message id: 0 to 2^31-1. Requests use 1 and up; 0 marks unsolicited notifications.
pub type MessageId = i32;

/// What one message may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// The longest message in bytes, headers included.
    pub message_bytes_max: usize,
    /// The deepest nesting of `and`, `or` and `not` in a filter.
    pub filter_depth_max: u8,
    /// The deepest nesting of elements.
    pub depth_max: u8,
}

impl DecodeLimits {
    /// The limits that hold when nothing else is set: 16 MiB, 32 filters, 64 elements.
    pub const DEFAULT: DecodeLimits = DecodeLimits {
        message_bytes_max: 16 << 20,
        filter_depth_max: filter::FILTER_DEPTH_MAX,
        depth_max: ber::DEPTH_MAX,
    };
}

// A `not` and its content take one element each, the envelope and an item the rest.
const _: () = assert!(
    2 * filter::FILTER_DEPTH_MAX as u16 <= ber::DEPTH_MAX as u16,
    "a filter within its limit must be decodable"
);

impl Default for DecodeLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One request with its envelope, borrowing from the bytes it was decoded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    /// The message id. 0 is decoded; whether it is allowed is the receiver's decision.
    pub id: MessageId,
    /// The operation asked for.
    pub request: Request<'a>,
    /// The controls in the order given.
    pub controls: Vec<Control<'a>>,
}

impl<'a> Message<'a> {
    /// Decodes exactly one message: one frame, no byte more.
    ///
    /// When this fails, [`decode_header`] tells whom to answer.
    #[inline]
    pub fn decode(bytes: &'a [u8], limits: &DecodeLimits) -> Result<Self, DecodeError> {
        let (id, mut body) = open(bytes, limits)?;
        let (tag, content) = body.element()?;
        let request = Request::decode(tag, body.deeper(content)?, limits)?;
        let controls = control::decode_controls(&mut body)?;
        body.finish_extensible()?;
        Ok(Message {
            id,
            request,
            controls,
        })
    }
}

/// Opens the envelope: the message id, and a reader that stands before the operation.
#[inline]
pub(crate) fn open<'a>(
    bytes: &'a [u8],
    limits: &DecodeLimits,
) -> Result<(MessageId, Reader<'a>), DecodeError> {
    if bytes.len() > limits.message_bytes_max {
        let (length, limit) = (bytes.len() as u64, limits.message_bytes_max as u64);
        return Err(DecodeError::LengthBeyondLimit { length, limit });
    }
    let mut outer = Reader::with_depth(bytes, limits.depth_max);
    let mut body = outer.nested(SEQUENCE)?;
    outer.finish()?;
    Ok((message_id(&mut body, INTEGER)?, body))
}

/// A MessageID (RFC 4511 §4.1.1.1) with this identifier octet.
#[inline]
pub(crate) fn message_id(reader: &mut Reader<'_>, tag: u8) -> Result<MessageId, DecodeError> {
    Ok(reader.max_int(tag, "messageID")? as MessageId)
}

/// The message id and the operation's identifier octet of a frame whose rest may be malformed, so
/// that a server can answer `protocolError` to the right request.
pub fn decode_header(bytes: &[u8]) -> Option<(MessageId, u8)> {
    let mut body = Reader::new(bytes).nested(SEQUENCE).ok()?;
    let id = message_id(&mut body, INTEGER).ok()?;
    Some((id, body.peek_tag()?))
}
