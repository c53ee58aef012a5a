//! Compacting the database while it is served (docs/reference/oids.md): the administrator begins it
//! and may give it up. Both are answered at once; `cn=monitor` shows how it goes.

use crate::compact::online;
use crate::context::Context;
use crate::stop::Stop;
use crate::worker::Parts;
use protocol::{LdapResult, MessageId, ResultCode, oid, response};

/// Begins one.
pub(crate) fn begin(
    parts: &Parts<'_>,
    context: &Context<'_>,
    id: MessageId,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    require_administrator(context)?;
    let shared = parts.shared;
    online::ask(&shared.store, &shared.compaction).map_err(Stop::Refused)?;
    shared.writer.call();
    succeed(id, oid::COMPACT, out);
    Ok(())
}

/// Gives up the one under way.
pub(crate) fn cancel(
    parts: &Parts<'_>,
    context: &Context<'_>,
    id: MessageId,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    require_administrator(context)?;
    if !parts.shared.compaction.cancel() {
        let text = "the database is not being compacted";
        return Stop::refuse(ResultCode::NO_SUCH_OPERATION, text);
    }
    succeed(id, oid::CANCEL_COMPACTION, out);
    Ok(())
}

fn require_administrator(context: &Context<'_>) -> Result<(), Stop> {
    match context.subject.is_administrator() {
        true => Ok(()),
        false => Stop::refuse(
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "only the administrator may compact the database",
        ),
    }
}

fn succeed(id: MessageId, name: &str, out: &mut Vec<u8>) {
    let done = LdapResult::success();
    response::write_extended_result(out, id, &done, Some(name), None, &[]);
}
