//! Admission of searches that no index narrows down: clients may reject them (reject and permit
//! unindexed search, Ping Identity), and a subject may run only a limited number at a time.

use crate::context::Context;
use crate::places::{Permit, is_small};
use crate::search::area::AreaKind;
use crate::search::call::SearchCall;
use crate::search::state::Search;
use crate::search::uses;
use protocol::ResultCode;
use schema::Filter;
use state::advice;
use state::stop::Stop;

/// Refuses a search that no index narrows down, even one for all entries. Reading the few entries
/// of a small subtree is allowed.
pub(crate) fn refuse(context: &Context<'_>, search: &Search) -> Result<(), Stop> {
    for area in search
        .source
        .areas
        .iter()
        .filter(|it| it.kind == AreaKind::Entries)
    {
        let plan = context.plan(&search.criteria.filter, &area.region)?;
        if plan.is_unindexed() || plan.is_scan() && plan.exact() {
            // A plan contains numbers of entries, hidden ones included.
            let plan = match context.sees_everything() {
                true => format!(": {}", plan.explain(&context.catalog.schema)),
                false => String::new(),
            };
            let advice = advice::sentence(context, &search.criteria.filter)?;
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                format!("unindexed, and the client wants no such search{plan}{advice}"),
            );
        }
    }
    Ok(())
}

/// Whether an unindexed search has to wait for its turn before it is admitted; true once for each
/// search. So a client that sends many, or repeats refused ones, gets no more turns than others. In
/// a small directory no search waits.
#[cold]
pub(crate) fn waits(context: &Context<'_>, search: &mut Search) -> Result<bool, Stop> {
    let waits = !search.has_waited && !is_small(context)?;
    search.has_waited = true;
    Ok(waits)
}

/// Admits an unindexed search until its cursor is dropped.
#[cold]
pub(crate) fn admit(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
) -> Result<(), Stop> {
    if search.permit.is_none() {
        for area in &search.source.areas {
            uses::require_unindexed(context, area.region.base)?;
        }
        search.permit = permit(context, call, &search.criteria.filter)?.map(Box::new);
    }
    Ok(())
}

/// A place for an unindexed search, held until it is dropped; `None` in a small directory, where no
/// search needs one. Refuses with `busy` at the limit.
#[cold]
pub(crate) fn permit(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    filter: &Filter,
) -> Result<Option<Permit>, Stop> {
    call.shared.unindexed.place(context, filter, &call.limits)
}
