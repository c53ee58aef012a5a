//! Runs slices of a search: takes candidates, tests them, and sends entries that match.

use crate::context::{Context, VisibleEntry};
use crate::search::area::{Area, AreaKind};
use crate::search::call::{SearchCall, Step};
use crate::search::cursor::Cursor;
use crate::search::end::{
    Ran, end_before, paged_limit, park, size_limit, uncount_hidden, write_everything,
};
use crate::search::later::step_back;
use crate::search::limits::End;
use crate::search::offer::{continue_large, is_wanted, send};
use crate::search::slice::Slice;
use crate::search::{cost, end, reference, sort, unindexed};
use state::progress::Progress;
use state::stop::Stop;
use state::{done, referral};
use store::EntryId;

/// Runs one slice of a search.
pub(crate) fn step(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    if let Some(step) = step_apart(context, call, cursor, out)? {
        return Ok(step);
    }
    let ran = run(context, call, cursor, out)?;
    cursor.slice_ends(call.lent.clock);
    if cursor.limits.examined >= cost::EXAMINED_MIN && !matches!(ran, Ran::Paused) {
        cost::note(context, call, cursor)?;
    }
    match ran {
        Ran::Paused => park(call, cursor, out),
        Ran::Ended(end) => end.write(context, call, cursor, out),
        Ran::Done => {
            write_everything(cursor, out);
            Ok(Step::Finished)
        }
    }
}

/// Continues an entry that is sent in parts, and a sorted search. `None` if the slice goes on with
/// candidates.
#[inline(always)]
fn step_apart(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<Option<Step>, Stop> {
    if cursor.large.is_some()
        && let Some(step) = continue_large(context, call, cursor, out)?
    {
        return Ok(Some(step));
    }
    cursor.slice_begins(call.lent.clock);
    let Some(extras) = &mut cursor.extras else {
        return Ok(None);
    };
    if let Some(position) = &mut extras.position {
        position.position = context.position()?;
    }
    let Some(sorted) = extras.sorted.take() else {
        return Ok(None);
    };
    let step = sort::step::step(context, call, cursor, sorted, out)?;
    if step.is_none() {
        cursor.slice_begins(call.lent.clock);
    }
    Ok(step)
}

/// Tests candidates until the slice is over.
#[inline(always)]
fn run(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<Ran, Stop> {
    let mut slice = Slice::new(out);
    while let Some(area) = cursor.areas.get(cursor.area).cloned() {
        // A search that follows aliases may have thousands of areas.
        if slice.is_over() {
            return Ok(Ran::Paused);
        }
        let mut candidates = match cursor.candidates.take() {
            Some(candidates) => candidates,
            None => match plan_area(context, call, cursor, &area)? {
                Some(candidates) => candidates,
                None => return Ok(Ran::Paused),
            },
        };
        if let store::Candidates::Gathering(_) = candidates
            && !context.gather(&mut candidates)?
        {
            cursor.candidates = Some(candidates);
            return Ok(Ran::Paused);
        }
        let how = context.meeting(&candidates, cursor.after)?;
        let mut entries = context.meet_all(&candidates, cursor.after, how);
        let mut slice_over = false;
        for met in &mut entries {
            let met = met?;
            if let Some(end) = end_before(context, cursor, met.entry.as_ref())? {
                return Ok(Ran::Ended(end));
            }
            if slice.is_over() || slice.is_full(out) {
                slice_over = true;
                break;
            }
            slice.turn();
            cursor.after = met.id;
            let Some(entry) = met.entry else {
                continue;
            };
            cursor.limits.examined += 1;
            if !context.in_region(&entry, &area.region)? {
                uncount_hidden(context, cursor, &entry)?;
                continue;
            }
            match offer(context, cursor, &area, &entry, out)? {
                Progress::Done(None) => slice_over = cursor.large.is_some() || context.is_tired(),
                Progress::Done(Some(end)) => return Ok(ended_before(cursor, met.id, end)),
                Progress::Yield => {
                    step_back(context, cursor, met.id);
                    slice_over = true;
                }
            }
            if slice_over {
                break;
            }
        }
        drop(entries);
        if slice_over {
            cursor.candidates = Some(candidates);
            return Ok(Ran::Paused);
        }
        slice.turn();
        cursor.area += 1;
        cursor.after = EntryId(0);
    }
    Ok(Ran::Done)
}

/// Ends a page before an entry that was not sent; the next page begins with it.
#[cold]
fn ended_before(cursor: &mut Cursor, id: EntryId, end: End) -> Ran {
    cursor.after = EntryId(id.0 - 1);
    Ran::Ended(end)
}

/// Tests one entry of the region and sends it if it matches. `Some` if a limit or the page's size
/// ends the search before it.
fn offer(
    context: &Context<'_>,
    cursor: &mut Cursor,
    area: &Area,
    entry: &VisibleEntry<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<Progress<Option<End>>, Stop> {
    if area.kind == AreaKind::References {
        let is_reference = entry.has_class("referral") && entry.id != area.region.base;
        if is_reference && end::is_page_full(cursor) {
            return Ok(Progress::Done(Some(End::PageFull)));
        }
        if is_reference {
            reference::write_reference(entry, cursor.id, area.region.scope, out)?;
            context.count_reference();
        }
        return Ok(Progress::Done(None));
    }
    if !done!(is_wanted(context, cursor, area.region.base, entry)?) {
        return Ok(Progress::Done(None));
    }
    if let Some(end) = size_limit(cursor).or_else(|| paged_limit(cursor)) {
        return Ok(Progress::Done(Some(end)));
    }
    if end::is_page_full(cursor) {
        return Ok(Progress::Done(Some(End::PageFull)));
    }
    done!(send(context, cursor, entry, out)?);
    Ok(Progress::Done(None))
}

/// The candidates of an area; `None` if the search has to wait for its turn first.
fn plan_area(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    cursor: &mut Cursor,
    area: &Area,
) -> Result<Option<store::Candidates>, Stop> {
    let references;
    let filter = match area.kind {
        AreaKind::Entries => &cursor.filter,
        AreaKind::References => {
            references = referral::filter(&context.catalog.schema);
            &references
        }
    };
    let plan = context.plan(filter, &area.region)?;
    let schema = &context.catalog.schema;
    call.operations.planned(|| plan.explain(schema));
    if plan.is_unindexed() {
        if unindexed::waits(context, cursor)? {
            return Ok(None);
        }
        unindexed::admit(context, call, cursor)?;
    }
    let wanted = match (cursor.page, cursor.limits.entries_max) {
        (Some(page), _) => u64::from(page.size),
        (None, 0) => u64::MAX,
        (None, most) => most,
    };
    let candidates = context.begin_page(&plan, cursor.after, wanted)?;
    if cost::may_be_high(&candidates) {
        cursor
            .began_us
            .get_or_insert_with(|| call.lent.clock.now_us());
    }
    Ok(Some(candidates))
}
