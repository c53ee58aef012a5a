//! Looks in the input behind a parked search for requests that end it.

use directory::Worker;
use protocol::extended::CancelRequest;
use protocol::request::tag;
use protocol::{
    DecodeLimits, ExtendedRequest, Message, MessageId, Request, decode_header, frame, oid,
};

use super::{Connection, Rules, State};

/// Effect of a later message on a parked search.
enum Concern {
    Other,
    Unbind,
    Abandon,
    Cancel(MessageId),
}

impl Connection {
    /// Looks in the input behind a parked search for its Abandon or Cancel, and for Unbind (RFC
    /// 4511 §4.3, §4.11; RFC 3909).
    pub(super) fn look_ahead(&mut self, worker: &mut Worker, rules: &Rules, out: &mut Vec<u8>) {
        while let Some(parked) = self.parked.as_ref().map(|it| it.message_id()) {
            if self.is_inside_message() {
                return;
            }
            let rest = self.input.get(self.scanned..).unwrap_or_default();
            // Malformed input is answered in its turn.
            let Ok(Some(length)) = frame(rest, self.message_bytes_max(rules)) else {
                return;
            };
            match concern(&rest[..length], parked, &rules.limits) {
                Concern::Other => {
                    self.scanned += length;
                    continue;
                }
                Concern::Unbind => {
                    self.drop_parked(worker);
                    self.state = State::Closed;
                    return;
                }
                Concern::Abandon => self.drop_parked(worker),
                Concern::Cancel(id) => {
                    if let Some(cursor) = self.parked.take() {
                        worker.cancel(&self.session, cursor, id, out);
                    }
                }
            }
            self.input.remove(self.scanned, length);
            self.bundle.end();
            // Messages before and behind it are executed by `proceed`.
            (self.scanned, self.more) = (0, true);
        }
    }
}

fn concern(bytes: &[u8], parked: MessageId, limits: &DecodeLimits) -> Concern {
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

/// The message id that a well-formed Cancel names (RFC 3909 §2.1); `None` if it is malformed.
pub(super) fn cancel_target(request: &ExtendedRequest<'_>) -> Option<MessageId> {
    if request.name != oid::CANCEL {
        return None;
    }
    let asked = CancelRequest::decode(request.value?).ok()?;
    Some(asked.cancel_id)
}
