//! Position (a control of our own): an operation is carried out on a state that has come at least
//! as far as its client knows, and its response says how far that state had come.
//!
//! On a server that is alone everything acknowledged is in the newest snapshot, so a position that
//! lies ahead is one that this server will not get from anybody: it is refused, not waited for.

use crate::context::Context;
use crate::worker::Parts;
use protocol::control::Position;
use protocol::{OwnedControl, ResultCode, oid};
use state::stop::Stop;

/// What a client asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// The state must have come so far.
    pub after: Option<Position>,
    pub critical: bool,
}

/// Refuses an operation whose client knows more than the state it would be carried out on.
#[cold]
pub(crate) fn require(parts: &Parts<'_>, asked: &Asked) -> Result<(), Stop> {
    let Some(after) = &asked.after else {
        return Ok(());
    };
    if after.log != parts.shared.log {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the position is one of another directory: begin again without it",
        );
    }
    let reached = parts.snapshot.position()?;
    if reached < after.position {
        let asked = after.position;
        return Stop::refuse(
            ResultCode::UNAVAILABLE,
            format!(
                "expected a position up to {reached}, which is how far this server has come; got \
                 {asked}: ask the server that gave it"
            ),
        );
    }
    Ok(())
}

/// How far the state has come that an operation sees.
#[cold]
pub(crate) fn reached(context: &Context<'_>, log: [u8; 16]) -> Result<Position, Stop> {
    let position = context.position()?;
    Ok(Position { log, position })
}

/// The response control.
#[cold]
pub(crate) fn control(position: &Position) -> OwnedControl {
    OwnedControl::with_value(oid::POSITION, false, |out| position.encode(out))
}
