//! What a message means beside what it asks for, told from its bytes alone: for a search that is
//! parked or stays, and for the messages behind it.

use protocol::ber::{self, Reader};
use protocol::request::tag;
use protocol::{DecodeError, DecodeLimits, Message, MessageId, Request, decode_header, oid};

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
    match Message::decode(bytes, limits).map(|it| it.request) {
        Ok(Request::Unbind) => Concern::Unbind,
        Ok(Request::Abandon(target)) if target == parked => Concern::Abandon,
        Ok(Request::Extended(it)) if it.name == oid::CANCEL => match it.value.map(cancel_target) {
            Some(Some(target)) if target == i64::from(parked) => Concern::Cancel(id),
            _ => Concern::Other,
        },
        _ => Concern::Other,
    }
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

/// The message id in `cancelRequestValue` (RFC 3909 §2.1).
pub(super) fn cancel_target(value: &[u8]) -> Option<i64> {
    let mut sequence = Reader::new(value).nested(ber::SEQUENCE).ok()?;
    sequence.integer(ber::INTEGER).ok()
}
