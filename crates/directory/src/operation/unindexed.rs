//! Reject and permit unindexed search (Ping Identity): may a search look at all entries?

use crate::advice;
use crate::context::Context;
use crate::cursor::{AreaKind, Cursor};
use crate::stop::Stop;
use protocol::ResultCode;

/// Refuses a search that no index narrows down. Looking at the few entries of a small subtree is
/// no such search.
pub(crate) fn refuse(context: &Context<'_>, cursor: &Cursor) -> Result<(), Stop> {
    for area in cursor
        .areas
        .iter()
        .filter(|it| it.kind == AreaKind::Entries)
    {
        let plan = context.plan(&cursor.filter, &area.region)?;
        if plan.is_scan() {
            let plan = plan.explain(&context.catalog.schema);
            let advice = advice::sentence(context, &cursor.filter)?;
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                format!("unindexed, and the client wants no such search: {plan}{advice}"),
            );
        }
    }
    Ok(())
}
