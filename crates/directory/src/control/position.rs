//! Position (a control of Pando's own): an operation runs on a state that is at least as new as the
//! position its client names, and its response reports the position of that state.
//!
//! Whoever has to wait for a position has waited before (`freshness.rs`): a position ahead of the
//! newest state is refused here.

use crate::call::Call;
use crate::context::Context;
use protocol::control::Position;
use protocol::{OwnedControl, ResultCode, oid};
use state::stop::Stop;

/// The decoded control.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PositionRequest {
    /// Position that the state must have reached; `None` to only report it.
    pub after: Option<Position>,
    pub critical: bool,
}

/// Refuses an operation whose client names a position ahead of the newest state.
#[cold]
pub(crate) fn require(call: &Call<'_>, asked: &PositionRequest) -> Result<(), Stop> {
    let Some(after) = &asked.after else {
        return Ok(());
    };
    if after.log != call.shared.log {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the position is one of another directory: begin again without it",
        );
    }
    let reached = call.snapshot.position()?;
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

/// Position of the state that an operation sees.
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

/// The response controls that report the position of an operation's snapshot; none unless `asked`.
pub(crate) fn told(
    call: &Call<'_>,
    context: &Context<'_>,
    asked: bool,
) -> Result<Vec<OwnedControl>, Stop> {
    if !asked {
        return Ok(Vec::new());
    }
    let reached = reached(context, call.shared.log)?;
    Ok(vec![control(&reached)])
}
