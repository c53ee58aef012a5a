//! The end of a request's wait for a newer state.

use protocol::MessageId;

/// The end of a request's wait.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub id: MessageId,
    /// A reason if this node does not show as much as was asked for.
    pub outcome: Result<(), String>,
}
