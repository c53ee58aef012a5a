//! Records expensive searches for monitoring and for the index adviser.

use crate::context::Context;
use crate::monitor::Costs;
use crate::search::area::AreaKind;
use crate::search::call::SearchCall;
use crate::search::state::Search;
use state::advice;
use state::stop::Stop;
use store::Candidates;

/// Minimum number of entries looked at for a search to be recorded, whatever its filter.
pub(crate) const EXAMINED_MIN: u64 = 256;
/// Maximum number of entries looked at for each entry returned by a search that is not recorded.
const EXAMINED_PER_ENTRY: u64 = 10;

/// Whether a search of these candidates may turn out expensive, so that its time must be measured.
#[inline]
pub(crate) fn may_be_high(candidates: &Candidates) -> bool {
    match candidates {
        Candidates::None | Candidates::One(_) => false,
        many => many.count().is_none_or(|it| it >= EXAMINED_MIN),
    }
}

/// Records a finished search if it was expensive.
#[cold]
pub(crate) fn note(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &Search,
) -> Result<(), Stop> {
    let examined = search.limits.examined;
    if examined < (search.sent + 1).saturating_mul(EXAMINED_PER_ENTRY) {
        return Ok(());
    }
    let advice = advice::indexes(context, &search.criteria.filter)?;
    let mut entries = search
        .source
        .areas
        .iter()
        .filter(|it| it.kind == AreaKind::Entries);
    let unindexed = match entries.next() {
        Some(area) => context
            .plan(&search.criteria.filter, &area.region)?
            .is_unindexed(),
        None => !advice.is_empty(),
    };
    let now_us = call.lent.clock.now_us();
    let began_us = search.began_us.unwrap_or(now_us);
    let one = Costs {
        searches: 1,
        unindexed: u64::from(unindexed),
        examined,
        returned: search.sent,
        took_us: now_us.saturating_sub(began_us),
        last_us: now_us,
        advice,
    };
    let shape = search.criteria.filter.shape(&context.catalog.schema);
    call.shared.monitor.searches.note(shape, one);
    Ok(())
}
