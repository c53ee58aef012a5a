//! Search (RFC 4511 §4.5).

mod areas;
mod end;
mod later;

pub(crate) use areas::region;
use areas::{Found, areas_or_virtual, derefs_searching};
pub(super) use end::{End, candidate_limit, paged_limit, park, size_limit, write_done};
use end::{Ran, end_before, uncount_hidden, write_everything};
pub(crate) use later::begin_later;
use later::step_back;
pub(super) use later::wants;

use crate::context::{Context, VisibleEntry, whole_bytes_max};
use crate::cursor::{Area, AreaKind, Cursor, Page};
use crate::group_walk_limits::GroupWalkLimits;
use crate::memory::Hold;
use crate::operation::alias::Effort;
use crate::operation::controls::{Controls, SearchControls};
use crate::operation::effective_rights::EffectiveRights;
use crate::operation::extras::{self, Extras};
use crate::operation::last_name::LastName;
use crate::operation::slice::Slice;
use crate::operation::sorted::{self, Begun};
use crate::operation::{
    cost, count, explain, large, page, position, reference, unindexed, virtual_search,
};
use crate::operations_log::OperationsLog;
use crate::paging::CookieKey;
use crate::session::Peer;
use crate::shared::Shared;
use policy::{LimitSettings, Limits, Whose};
use protocol::control::PagedResults;
use protocol::{MessageId, SearchRequest, response};
use replica::Clock;
use schema::Truth;
use state::assertion;
use state::heavy;
use state::links;
use state::projection::Projection;
use state::referral;
use state::stop::Stop;
use std::cell::RefCell;
use store::EntryId;

/// Maximum size in bytes of the buffer that one search leaves to the next.
const SCRATCH_BYTES_MAX: usize = 64 * 1024;

/// State of a search after a slice.
pub(crate) enum Step {
    /// The final result is in the output.
    Finished,
    /// The search continues in another slice.
    Parked,
}

/// Parts of the server and the connection that a search needs besides its context.
pub(crate) struct Needs<'n> {
    pub key: &'n CookieKey,
    pub limits: (Limits, Whose),
    /// Settings from which `limits` come, for the texts of refusals.
    pub settings: &'n LimitSettings,
    pub last_name: &'n RefCell<LastName>,
    /// Buffer for names and normalised values, so that a short search does not allocate.
    pub scratch: &'n RefCell<Vec<u8>>,
    /// Structures that all serving threads share.
    pub shared: &'n Shared,
    /// Clock, read only by searches that follow aliases, are about the present time or take more
    /// than one slice.
    pub clock: &'n dyn Clock,
    pub peer: &'n Peer,
    /// Memory of the server that the connection uses for other operations.
    pub memory: &'n Hold,
    /// Whether StartTLS is offered.
    pub tls: bool,
    pub operations: &'n OperationsLog,
}

impl Needs<'_> {
    /// The present time in seconds of Unix time.
    pub fn now_s(&self) -> i64 {
        (self.clock.now_us() / 1_000_000) as i64
    }

    /// Returns the buffer for the next search, unless it grew too large.
    fn give_back(&self, scratch: Vec<u8>) {
        if scratch.capacity() <= SCRATCH_BYTES_MAX {
            self.scratch.replace(scratch);
        }
    }
}

/// Begins a search and runs its first slice. Returns its cursor, or `None` if the search is
/// finished.
pub(crate) fn search(
    context: &Context<'_>,
    needs: &Needs<'_>,
    id: MessageId,
    request: &SearchRequest<'_>,
    controls: &Controls<'_>,
    out: &mut Vec<u8>,
) -> Result<Option<Box<Cursor>>, Stop> {
    let catalog = context.catalog;
    let asked = controls.search.as_deref();
    let now_s = || needs.now_s();
    let mut extras = Extras::of(catalog, request, asked, &now_s)?;
    if controls.position.is_some() {
        tell_position(context, needs, &mut extras)?;
    }
    heavy::refuse(&request.filter)?;
    let mut filter = catalog.schema.resolve_filter_with(&request.filter, &now_s);
    context.narrow(&mut filter);
    let projection = Projection::of(catalog, &request.attributes, request.types_only);
    require_virtual(context, needs, request, controls)?;
    let mut effort = Effort::of(request, needs, controls.page.is_some());
    let areas = match areas_or_virtual(context, needs, request, controls, &mut effort)? {
        Found::Areas(areas) => areas,
        Found::Virtual(nodes) => {
            let what = (&projection, nodes.as_slice());
            let (with, asked) = ((context, needs), (controls, extras.as_deref()));
            virtual_search::answer(with, (id, request), filter, what, asked, out)?;
            return Ok(None);
        }
    };
    if let Some(asked) = asked.and_then(|it| it.subentries) {
        filter = extras::narrowed(catalog, filter, asked);
    }
    context.limit_walks(|| GroupWalkLimits::boxed(&needs.shared.unindexed, needs.limits));
    links::follow(context, &mut filter, areas.iter().map(|it| &it.region))?;
    let mut cursor = Cursor {
        id,
        whole_bytes_max: whole_bytes_max(filter.weight()),
        filter,
        projection,
        areas,
        area: 0,
        candidates: None,
        after: EntryId(0),
        sent: 0,
        limits: effort.limits,
        page: None,
        manage_dsa_it: controls.manage_dsa_it,
        deref_searching: derefs_searching(request.deref_aliases),
        hides_subentries: catalog.has_subentries && extras::hides_subentries(request.scope, asked),
        extras,
        began_us: effort.began_us,
        subject: None,
        permit: None,
        has_waited: false,
        large: None,
        walks: None,
        buffer: needs.scratch.take(),
    };
    if !begin_asked(context, needs, request, controls, &mut cursor, out)? {
        return Ok(None);
    }
    match step(context, needs, &mut cursor, out)? {
        Step::Parked => Ok(Some(Box::new(cursor))),
        Step::Finished => {
            needs.give_back(cursor.buffer);
            Ok(None)
        }
    }
}

/// Checks the assertion control against a base that is not stored.
#[inline]
fn require_virtual(
    context: &Context<'_>,
    needs: &Needs<'_>,
    request: &SearchRequest<'_>,
    controls: &Controls<'_>,
) -> Result<(), Stop> {
    if let Some(condition) = controls.assertion
        && let Some(entry) = virtual_search::entry(context, needs, request.base)?
    {
        assertion::require_of_virtual(context, &entry, condition, &|| needs.now_s())?;
    }
    Ok(())
}

/// Makes the result of the search report the position of its snapshot.
#[cold]
fn tell_position(
    context: &Context<'_>,
    needs: &Needs<'_>,
    extras: &mut Option<Box<Extras>>,
) -> Result<(), Stop> {
    let reached = position::reached(context, needs.shared.log)?;
    extras.get_or_insert_default().position = Some(reached);
    Ok(())
}

/// Applies all controls to a search; false if it has been answered.
#[inline(always)]
fn begin_asked(
    context: &Context<'_>,
    needs: &Needs<'_>,
    request: &SearchRequest<'_>,
    controls: &Controls<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    if let Some(asked) = controls.search.as_deref()
        && !begin_with(context, needs, request, (controls, asked), cursor, out)?
    {
        return Ok(false);
    }
    let is_plain = cursor.extras.as_ref().is_none_or(|it| it.sorted.is_none());
    match controls.page.as_ref().filter(|_| is_plain) {
        Some(asked) => begin_page(context, needs, request, (controls, asked), cursor, out),
        None => Ok(true),
    }
}

/// Applies the controls that only searches have; false if the search has been answered.
fn begin_with(
    context: &Context<'_>,
    needs: &Needs<'_>,
    request: &SearchRequest<'_>,
    (controls, asked): (&Controls<'_>, &SearchControls<'_>),
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    if asked.rejects_unindexed {
        unindexed::refuse(context, cursor)?;
    }
    if let Some(rights) = &asked.rights {
        let rights = EffectiveRights::of(context, request, rights)?;
        cursor.extras.get_or_insert_default().rights = Some(Box::new(rights));
    }
    if asked.explains {
        explain::begin(context, cursor, asked)?;
    }
    if let Some(count) = asked.count_alone(controls.page.is_some())? {
        count::begin(context, cursor, count)?;
    } else if asked.sort.is_some() || asked.view.is_some() {
        let asked = (controls, asked);
        let begun = sorted::begin(context, needs, request, asked, cursor, out)?;
        if let Begun::Unsorted = begun {
            explain::note_order(cursor, || "not sorted".to_owned());
        }
        return Ok(!matches!(begun, Begun::Answered));
    }
    Ok(true)
}

/// Moves the cursor to the start of the requested page; false if the client abandoned the search,
/// which has then been answered.
fn begin_page(
    context: &Context<'_>,
    needs: &Needs<'_>,
    request: &SearchRequest<'_>,
    (controls, asked): (&Controls<'_>, &PagedResults<'_>),
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    let fingerprint = page::fingerprint(request, controls, context.subject, None);
    let Some(start) = page::begin(needs.key, fingerprint, asked)? else {
        let extras = cursor.extras.get_or_insert_default();
        extras.done.push(page::response(&[]));
        write_done(cursor, out);
        return Ok(false);
    };
    let size = page::size(asked, needs.limits.0.page_entries_max);
    cursor.page = Some(Page { size, start });
    cursor.limits.sent_before = start.sent;
    cursor.after = start.after;
    cursor.area = start.region.into();
    Ok(true)
}

/// Runs one slice of a search.
pub(crate) fn step(
    context: &Context<'_>,
    needs: &Needs<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    if cursor.large.is_some() {
        let later = large::go_on(context, needs, cursor, out)?;
        if let Some(later) = later {
            return Ok(later);
        }
    }
    explain::slice_begins(cursor, needs.clock);
    if let Some(extras) = &mut cursor.extras {
        if let Some(position) = &mut extras.position {
            position.position = context.position()?;
        }
        if let Some(sorted) = extras.sorted.take() {
            return sorted::step(context, needs, cursor, sorted, out);
        }
    }
    let ran = run(context, needs, cursor, out)?;
    explain::slice_ends(cursor, needs.clock);
    if cursor.limits.examined >= cost::EXAMINED_MIN && !matches!(ran, Ran::Paused) {
        cost::note(context, needs, cursor)?;
    }
    match ran {
        Ran::Paused => park(needs, cursor, out),
        Ran::Ended(end) => end.write(context, needs, cursor, out),
        Ran::Done => {
            write_everything(cursor, out);
            Ok(Step::Finished)
        }
    }
}

/// Tests candidates until the slice is over.
#[inline(always)]
fn run(
    context: &Context<'_>,
    needs: &Needs<'_>,
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
            None => match plan_area(context, needs, cursor, &area)? {
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
            match offer(context, cursor, &area, &entry, out) {
                Ok(None) => slice_over = cursor.large.is_some() || context.is_tired(),
                Ok(Some(end)) => return Ok(ended_before(cursor, met.id, end)),
                Err(stop) => slice_over = step_back(context, cursor, met.id, stop)?,
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
) -> Result<Option<End>, Stop> {
    if area.kind == AreaKind::References {
        let is_reference = entry.has_class("referral") && entry.id != area.region.base;
        if is_reference && end::is_page_full(cursor) {
            return Ok(Some(End::PageFull));
        }
        if is_reference {
            reference::write_reference(entry, cursor.id, area.region.scope, out)?;
            context.count_reference();
        }
        return Ok(None);
    }
    if !is_wanted(context, cursor, area.region.base, entry)? {
        return Ok(None);
    }
    if let Some(end) = size_limit(cursor).or_else(|| paged_limit(cursor)) {
        return Ok(Some(end));
    }
    if end::is_page_full(cursor) {
        return Ok(Some(End::PageFull));
    }
    send(context, cursor, entry, out)?;
    Ok(None)
}

/// Whether an entry of the region matches the filter and is of the kind that the search returns.
#[inline]
pub(super) fn is_wanted(
    context: &Context<'_>,
    cursor: &mut Cursor,
    base: EntryId,
    entry: &VisibleEntry<'_, '_>,
) -> Result<bool, Stop> {
    let catalog = context.catalog;
    let of_other_kind =
        (catalog.has_referrals && !cursor.manage_dsa_it && entry.has_class("referral"))
            || (cursor.deref_searching
                && catalog.has_aliases
                && entry.id != base
                && entry.has_class("alias"))
            || (cursor.hides_subentries && entry.has_class("subentry"));
    let filter = &cursor.filter;
    let wanted = !of_other_kind
        && match entry.is_longer_than(cursor.whole_bytes_max) {
            false => {
                let truth = filter.evaluate(&catalog.schema, entry, &mut cursor.buffer);
                context.evaluated(truth)? == Truth::True
            }
            true => context.evaluate_paced(filter, entry, &mut cursor.buffer)? == Truth::True,
        };
    if let Some(explaining) = explain::of(cursor) {
        explaining.tested += 1;
    }
    Ok(wanted)
}

/// Appends an entry to the output, or begins one that is sent in parts; no other entry can be sent
/// before its end.
pub(super) fn send(
    context: &Context<'_>,
    cursor: &mut Cursor,
    entry: &VisibleEntry<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    if entry.has_links() || context.catalog.has_dynamic_groups {
        cursor.large = large::begin(context, cursor, entry)?;
        if cursor.large.is_some() {
            return Ok(());
        }
    }
    let catalog = context.catalog;
    cursor.buffer.clear();
    entry.write_name(&mut cursor.buffer)?;
    let mark = response::begin_search_entry(out, cursor.id, &cursor.buffer);
    match &mut cursor.extras {
        None => {
            let written = cursor.projection.write(catalog, entry, None, out);
            whole(written, mark.start(), out)?;
            response::finish_search_entry(out, mark, &[]);
        }
        Some(extras) if extras.counting.is_some() || extras.explaining.is_some() => {
            // The entry is known to be one that the client could receive.
            out.truncate(mark.start());
            extras.counting.iter_mut().for_each(|it| it.note());
            if let Some(explaining) = &mut extras.explaining {
                // Pages and limits count the entry as if it were sent.
                explaining.matched += 1;
                cursor.sent += 1;
            }
            return Ok(());
        }
        Some(extras) => {
            let matched = extras.matched.as_ref();
            let written = cursor.projection.write(catalog, entry, matched, out);
            whole(written, mark.start(), out)?;
            extras.write_rights(context, entry, out);
            let controls = whole(extras.controls_of(context, entry), mark.start(), out)?;
            response::finish_search_entry(out, mark, &controls);
        }
    }
    cursor.sent += 1;
    context.count_entry();
    Ok(())
}

/// Passes `written` on; after an error, first removes the incomplete entry from the output.
#[inline(always)]
fn whole<T>(written: Result<T, Stop>, start: usize, out: &mut Vec<u8>) -> Result<T, Stop> {
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// The candidates of an area; `None` if the search has to wait for its turn first.
fn plan_area(
    context: &Context<'_>,
    needs: &Needs<'_>,
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
    needs.operations.planned(|| plan.explain(schema));
    if plan.is_unindexed() {
        if unindexed::waits(context, cursor)? {
            return Ok(None);
        }
        unindexed::admit(context, needs, cursor)?;
    }
    let wanted = match (cursor.page, cursor.limits.entries_max) {
        (Some(page), _) => u64::from(page.size),
        (None, 0) => u64::MAX,
        (None, most) => most,
    };
    let candidates = context.begin_page(&plan, cursor.after, wanted)?;
    if cost::may_be_high(&candidates) {
        cursor.began_us.get_or_insert_with(|| needs.clock.now_us());
    }
    Ok(Some(candidates))
}
