//! Parts of a response besides its result, and the response of a write.

use protocol::control::AssuredReplicationRequest;
use protocol::{MessageId, ResultCode, ResultKind, response};
use state::execute::Outcome;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Parts of the response besides the result.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// Value of an extended response after success.
    pub value: Option<Vec<u8>>,
    /// Value of an extended response after a refusal.
    pub refused: Option<Vec<u8>>,
    /// Name of an extended response.
    pub name: Option<&'static str>,
    /// Whether the client sent the password policy control.
    pub policy: bool,
    /// Whether the client asked for the position of its write.
    pub position: bool,
    /// The servers on which the client wants its write to be before the answer; `None` if it has
    /// not asked for that.
    pub assured: Option<Box<AssuredReplicationRequest>>,
    /// The request itself, if it is decided again where its entry changed before execution.
    pub again: Option<Arc<Again>>,
}

/// A request whose decision followed from what the entry held.
#[derive(Debug)]
pub(crate) struct Again {
    /// The whole message.
    pub message: Zeroizing<Vec<u8>>,
    /// How often it was decided before this time.
    pub tries: u8,
}

/// Writes the response of a write with its response controls.
pub(crate) fn write_response(
    out: &mut Vec<u8>,
    id: MessageId,
    kind: ResultKind,
    outcome: &Outcome,
    reply: &Reply,
) {
    let Outcome { result, controls } = outcome;
    let value = match result.code {
        ResultCode::SUCCESS => &reply.value,
        _ => &reply.refused,
    };
    match (kind, value) {
        (ResultKind::Extended, Some(value)) => {
            response::write_extended_result(out, id, result, reply.name, Some(value), controls);
        }
        _ => response::write_result(out, id, kind, result, controls),
    }
}
