//! What a message means beside what it asks for, told from its bytes alone: for a search that is
//! parked or stays, and for the messages behind it.

use protocol::extended::CancelRequest;
use protocol::request::tag;
use protocol::{
    DecodeError, DecodeLimits, ExtendedRequest, Message, MessageId, Request, decode_header, oid,
};

/// What a message behind a parked search means for it.
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

/// Whether the message has a control without which nothing may be done (RFC 4511 §4.1.11): it is
/// for the operation to say whether it is known.
pub(super) fn insists(message: &Message<'_>) -> bool {
    message.controls.iter().any(|it| it.critical)
}

/// Whether a field of the message says that it ends where it cannot.
pub(super) fn lengths_are_wrong(error: &DecodeError) -> bool {
    matches!(
        error,
        DecodeError::Truncated
            | DecodeError::IndefiniteLength
            | DecodeError::LengthBeyondLimit { .. }
    )
}

/// The operation that a well-formed Cancel is about (RFC 3909 §2.1).
pub(super) fn cancel_target(request: &ExtendedRequest<'_>) -> Option<MessageId> {
    if request.name != oid::CANCEL {
        return None;
    }
    let asked = CancelRequest::decode(request.value?).ok()?;
    Some(asked.cancel_id)
}
