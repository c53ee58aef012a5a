//! The LDAPMessage envelope of requests (RFC 4511 §4.1.1) and the limits on what is accepted.

use crate::ber::{INTEGER, Reader, SEQUENCE};
use crate::control::{self, Control};
use crate::filter::{self, Filter};
use crate::message_id::{MessageId, message_id};
use crate::request::{self, Request, SearchHead};
use crate::{DecodeError, ber};

/// Limits on decoding one message.
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
    /// The default limits: 16 MiB, 32 filters, 64 elements.
    pub const DEFAULT: DecodeLimits = DecodeLimits {
        message_bytes_max: 16 << 20,
        filter_depth_max: filter::FILTER_DEPTH_MAX,
        depth_max: ber::DEPTH_MAX,
    };
}

// Each level of a filter is one level of elements; the envelope, the operation, the item and its
// substrings are four more.
const _: () = assert!(
    filter::FILTER_DEPTH_MAX as u16 + 8 <= ber::DEPTH_MAX as u16,
    "a filter within its limit must be decodable"
);

impl Default for DecodeLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One request with its envelope, borrowing from the bytes it was decoded from.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The message id. 0 is decoded; whether it is allowed is the receiver's decision.
    pub id: MessageId,
    /// The requested operation.
    pub request: Request<'a>,
    /// The controls in the order given.
    pub controls: Vec<Control<'a>>,
    /// The encoded message.
    pub encoded: &'a [u8],
}

impl PartialEq for Message<'_> {
    /// Whether both messages are equal, however they are encoded.
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.request == other.request && self.controls == other.controls
    }
}

impl Eq for Message<'_> {}

impl<'a> Message<'a> {
    /// Decodes exactly one message: one frame, no byte more.
    ///
    /// If this fails, [`decode_header`] returns the message id to answer.
    #[inline]
    pub fn decode(bytes: &'a [u8], limits: &DecodeLimits) -> Result<Self, DecodeError> {
        let (id, mut body) = open(bytes, limits)?;
        let (tag, content) = body.element()?;
        let content = body.deeper(content)?;
        if tag == request::tag::SEARCH {
            return Self::decode_search(id, bytes, content, body, limits);
        }
        let request = Request::decode(tag, content)?;
        let controls = close(&mut body)?;
        Ok(Message {
            id,
            request,
            controls,
            encoded: bytes,
        })
    }

    /// Decodes a message whose operation is a search.
    ///
    /// The commonest form of a search is decoded by code of its own, which puts the message
    /// together in one place from parts in registers: each move of its 176 bytes right after they
    /// were written costs about 5 ns, because the processor must wait for the writes.
    #[inline]
    fn decode_search(
        id: MessageId,
        encoded: &'a [u8],
        mut parts: Reader<'a>,
        mut body: Reader<'a>,
        limits: &DecodeLimits,
    ) -> Result<Self, DecodeError> {
        let head = SearchHead::decode(&mut parts)?;
        if parts.peek_tag() == Some(filter::tag::EQUALITY) {
            let (attribute, value) = filter::assertion(parts.nested(filter::tag::EQUALITY)?)?;
            let attributes = SearchHead::close(&mut parts)?;
            let controls = close(&mut body)?;
            let filter = Filter::Equality { attribute, value };
            return Ok(Message {
                id,
                request: head.request(filter, attributes),
                controls,
                encoded,
            });
        }
        let filter = Filter::decode(&mut parts, limits.filter_depth_max)?;
        let attributes = SearchHead::close(&mut parts)?;
        let controls = close(&mut body)?;
        Ok(Message {
            id,
            request: head.request(filter, attributes),
            controls,
            encoded,
        })
    }
}

/// Decodes the controls after the operation.
#[inline(always)]
fn close<'a>(body: &mut Reader<'a>) -> Result<Vec<Control<'a>>, DecodeError> {
    let controls = control::decode_controls(body)?;
    body.skip_extensions()?;
    Ok(controls)
}

/// Decodes the envelope: the message id, and a reader in front of the operation.
#[inline(always)]
pub(crate) fn open<'a>(
    bytes: &'a [u8],
    limits: &DecodeLimits,
) -> Result<(MessageId, Reader<'a>), DecodeError> {
    if bytes.len() > limits.message_bytes_max {
        return Err(DecodeError::beyond(limits.message_bytes_max));
    }
    let mut outer = Reader::with_depth(bytes, limits.depth_max);
    let mut body = outer.nested(SEQUENCE)?;
    outer.finish()?;
    Ok((message_id(&mut body, INTEGER)?, body))
}

/// The message id and the operation's identifier octet of a frame whose rest may be malformed, so
/// that a server can answer `protocolError` to the right request.
pub fn decode_header(bytes: &[u8]) -> Option<(MessageId, u8)> {
    let mut body = Reader::new(bytes).nested(SEQUENCE).ok()?;
    let id = message_id(&mut body, INTEGER).ok()?;
    Some((id, body.peek_tag()?))
}

/// The controls of a message whose operation may be malformed; `None` if they cannot be decoded.
pub fn decode_controls_of(bytes: &[u8]) -> Option<Vec<Control<'_>>> {
    let mut body = Reader::new(bytes).nested(SEQUENCE).ok()?;
    message_id(&mut body, INTEGER).ok()?;
    body.element().ok()?;
    control::decode_controls(&mut body).ok()
}
