//! The source of a search: the candidates of its areas, which pass its criteria to its sink.

use crate::context::{Context, VisibleEntry};
use crate::search::area::{Area, AreaKind};
use crate::search::call::SearchCall;
use crate::search::end::{end_before, uncount_hidden};
use crate::search::limits::End;
use crate::search::sink::Sink;
use crate::search::slice::Slice;
use crate::search::state::Search;
use crate::search::{cost, reference, unindexed};
use state::progress::Progress;
use state::stop::Stop;
use state::{done, referral};
use store::{Candidates, EntryId, Plan};

/// Result of a slice.
pub(crate) enum Ran {
    /// All candidates have been looked at.
    Done,
    Ended(End),
    /// Candidates are left.
    Paused,
}

/// Tests candidates until the slice is over.
pub(crate) fn run(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &mut Sink,
    slice: &mut Slice,
    out: &mut Vec<u8>,
) -> Result<Ran, Stop> {
    while let Some(area) = search.source.areas.get(search.source.area).cloned() {
        // A search that follows aliases may have thousands of areas.
        if slice.is_over() {
            return Ok(Ran::Paused);
        }
        let Some(candidates) = candidates_of(context, call, search, sink, &area)? else {
            return Ok(Ran::Paused);
        };
        let how = context.meeting(&candidates, search.source.after)?;
        let mut entries = context.meet_all(&candidates, search.source.after, how);
        let mut slice_over = false;
        for met in &mut entries {
            let met = met?;
            if let Some(end) = end_before(context, search, met.entry.as_ref())? {
                return Ok(Ran::Ended(end));
            }
            if slice.is_over() || slice.is_full(out) {
                slice_over = true;
                break;
            }
            slice.turn();
            search.source.after = met.id;
            let Some(entry) = met.entry else {
                continue;
            };
            search.limits.examined += 1;
            if !context.in_region(&entry, &area.region)? {
                uncount_hidden(context, search, &entry)?;
                continue;
            }
            match offer(context, search, sink, &area, &entry, out)? {
                Progress::Done(None) => slice_over = sink.large().is_some() || context.is_tired(),
                Progress::Done(Some(end)) => {
                    // The next page begins with this entry.
                    search.source.step_back(met.id);
                    return Ok(Ran::Ended(end));
                }
                Progress::Yield => {
                    context.leave_unfinished(met.id);
                    search.limits.examined -= 1;
                    search.source.step_back(met.id);
                    slice_over = true;
                }
            }
            if slice_over {
                break;
            }
        }
        drop(entries);
        if slice_over {
            search.source.candidates = Some(candidates);
            return Ok(Ran::Paused);
        }
        slice.turn();
        search.source.area += 1;
        search.source.after = EntryId::ROOT;
    }
    Ok(Ran::Done)
}

/// Passes one entry of the region to the sink if it is accepted. `Some` if a limit or the page's
/// size ends the search before it.
#[inline]
fn offer(
    context: &Context<'_>,
    search: &mut Search,
    sink: &mut Sink,
    area: &Area,
    entry: &VisibleEntry<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<Progress<Option<End>>, Stop> {
    if area.kind == AreaKind::References {
        let is_reference = entry.has_class("referral") && entry.id != area.region.base;
        if is_reference && search.is_page_full() {
            return Ok(Progress::Done(Some(End::PageFull)));
        }
        if is_reference {
            reference::write_reference(entry, search.id, area.region.scope, out)?;
            context.count_reference();
        }
        return Ok(Progress::Done(None));
    }
    match done!(search.accepts(context, area.region.base, entry)?) {
        true => sink.take(context, search, entry, out),
        false => Ok(Progress::Done(None)),
    }
}

/// The candidates of an area; `None` if the slice is over before they are collected.
#[inline(always)]
fn candidates_of(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &Sink,
    area: &Area,
) -> Result<Option<Candidates>, Stop> {
    let mut candidates = match search.source.candidates.take() {
        Some(candidates) => candidates,
        None => match begin_area(context, call, search, sink, area)? {
            Some(candidates) => candidates,
            None => return Ok(None),
        },
    };
    let is_gathered = match candidates {
        Candidates::Gathering(_) => context.gather(&mut candidates)?,
        _ => true,
    };
    search.source.count(call.session, &candidates)?;
    if !is_gathered {
        search.source.candidates = Some(candidates);
        return Ok(None);
    }
    Ok(Some(candidates))
}

/// The candidates of an area that is begun; `None` if the search has to wait for its turn first.
#[inline(always)]
fn begin_area(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    sink: &Sink,
    area: &Area,
) -> Result<Option<Candidates>, Stop> {
    let references;
    let filter = match area.kind {
        AreaKind::Entries => &search.criteria.filter,
        AreaKind::References => {
            references = referral::filter(&context.catalog.schema);
            &references
        }
    };
    let plan = context.plan(filter, &area.region)?;
    if let Sink::Sort(_) = sink {
        return begin_sorted(context, call, search, &plan).map(Some);
    }
    let schema = &context.catalog.schema;
    call.operations.planned(|| plan.explain(schema));
    if plan.is_unindexed() {
        if unindexed::waits(context, search)? {
            return Ok(None);
        }
        unindexed::admit(context, call, search)?;
    }
    let wanted = match (search.page, search.limits.entries_max) {
        (Some(page), _) => u64::from(page.size),
        (None, 0) => u64::MAX,
        (None, most) => most,
    };
    let candidates = context.begin_page(&plan, search.source.after, wanted)?;
    if cost::may_be_high(&candidates) {
        search
            .began_us
            .get_or_insert_with(|| call.lent.clock.now_us());
    }
    Ok(Some(candidates))
}

/// The candidates of a search that sorts all of them.
#[cold]
fn begin_sorted(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: &mut Search,
    plan: &Plan,
) -> Result<Candidates, Stop> {
    // Each page looks at all entries again, whatever the filter.
    if plan.is_scan() || plan.is_unindexed() {
        unindexed::admit(context, call, search)?;
    }
    context.begin_walk(plan, search.source.after)
}
