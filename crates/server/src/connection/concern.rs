//! Effects of a message besides its own operation, seen from its bytes: on a parked or following
//! search, and on later messages.

use protocol::extended::CancelRequest;
use protocol::request::tag;
use protocol::{
    DecodeError, DecodeLimits, ExtendedRequest, Message, MessageId, Request, decode_header, oid,
};

/// Effect of a later message on a parked search.
pub(super) enum Concern {
    Other,
    Unbind,
    Abandon,
    Cancel(MessageId),
}

pub(super) fn concern(bytes: &[u8], parked: MessageId, limits: &DecodeLimits) -> Concern {
    let Some((id, tag::UNBIND | tag::ABANDON | tag::EXTENDED)) = decode_header(bytes) else {
        return Concern::Other;
    };
    let Ok(message) = Message::decode(bytes, limits) else {
        return Concern::Other;
    };
    match &message.request {
        Request::Unbind => Concern::Unbind,
        _ if insists(&message) => Concern::Other,
        Request::Abandon(target) if *target == parked => Concern::Abandon,
        Request::Extended(it) if cancel_target(it) == Some(parked) => Concern::Cancel(id),
        _ => Concern::Other,
    }
}

/// Whether the message has a critical control (RFC 4511 §4.1.11). The operation decides whether the
/// control is known.
pub(super) fn insists(message: &Message<'_>) -> bool {
    message.controls.iter().any(|it| it.critical)
}

/// Whether the decoding error is a wrong length.
pub(super) fn lengths_are_wrong(error: &DecodeError) -> bool {
    matches!(
        error,
        DecodeError::Truncated
            | DecodeError::IndefiniteLength
            | DecodeError::LengthBeyondLimit { .. }
    )
}

/// The message id that a well-formed Cancel names (RFC 3909 §2.1); `None` if it is malformed.
pub(super) fn cancel_target(request: &ExtendedRequest<'_>) -> Option<MessageId> {
    if request.name != oid::CANCEL {
        return None;
    }
    let asked = CancelRequest::decode(request.value?).ok()?;
    Some(asked.cancel_id)
}
