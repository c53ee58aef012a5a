//! Extended operations that compact the database while it is served (docs/reference/oids.md): the
//! administrator starts or cancels it. Both are answered at once; `cn=monitor` shows the progress.

use crate::call::Call;
use crate::context::Context;
use crate::operation::extended::write_success;
use policy::access::words::Use;
use protocol::{MessageId, ResultCode, oid};
use schema::Name;
use state::stop::Stop;

const REFUSED: &str = "only the administrator may compact the database";

/// Starts compacting.
pub(crate) fn begin(
    call: &Call<'_>,
    context: &Context<'_>,
    id: MessageId,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    context.require_use(Use::Compact, &Name::root(), REFUSED)?;
    call.shared.replica.compact().map_err(Stop::Refused)?;
    write_success(out, id, Some(oid::COMPACT), None);
    Ok(())
}

/// Cancels the compaction under way.
pub(crate) fn cancel(
    call: &Call<'_>,
    context: &Context<'_>,
    id: MessageId,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    context.require_use(Use::Compact, &Name::root(), REFUSED)?;
    if !call.shared.replica.cancel_compaction() {
        let text = "the database is not being compacted";
        return Stop::refuse(ResultCode::NO_SUCH_OPERATION, text);
    }
    write_success(out, id, Some(oid::CANCEL_COMPACTION), None);
    Ok(())
}
