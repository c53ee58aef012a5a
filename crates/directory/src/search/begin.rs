//! Begins a search: resolves base, filter and controls.

use crate::call::Call;
use crate::context::{Context, whole_bytes_max};
use crate::control::{SearchControls, position};
use crate::flow::Flow;
use crate::operation::follow;
use crate::search::alias::Effort;
use crate::search::area::AreaKind;
use crate::search::areas::{Found, areas_or_virtual, derefs_searching};
use crate::search::call::{Query, SearchCall, Step};
use crate::search::count::{Counted, Counting};
use crate::search::cursor::{Cursor, Page};
use crate::search::effective_rights::EffectiveRights;
use crate::search::end::write_done;
use crate::search::explain::Explaining;
use crate::search::extras::Extras;
use crate::search::group_walk_limits::GroupWalkLimits;
use crate::search::later::begin_later;
use crate::search::run::step;
use crate::search::sort::begin as sorting;
use crate::search::sort::begin::Begun;
use crate::search::virtual_search::VirtualSearch;
use crate::search::{extras, page, unindexed, virtual_search};
use crate::session::Session;
use policy::Subject;
use protocol::SearchRequest;
use protocol::control::{MatchingEntryCountRequest, PagedResults};
use state::progress::Progress;
use state::projection::Projection;
use state::stop::Stop;
use state::{assertion, done, heavy, links};
use std::rc::Rc;
use store::EntryId;

/// Begins a search, which may stay and follow the directory, and runs its first slice.
// Inlined: also called for searches that are repeated.
#[inline(always)]
pub(crate) fn begin(
    call: &Call<'_>,
    context: &Context<'_>,
    subject: &Rc<Subject>,
    session: &Session,
    query: Query<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let is_proxied = query.controls.proxied.is_some();
    let call = SearchCall::of(call, session, subject, is_proxied)?;
    context.divide_walks(true);
    if query.controls.follows() {
        return match follow::begin(&call, context, query)? {
            Progress::Done(follower) => {
                let follower = follower.acting_as(Rc::clone(subject));
                Ok(Flow::Follow(Box::new(follower)))
            }
            Progress::Yield => begin_later(context, &call, query, out),
        };
    }
    let mut cursor = match search(context, &call, query, out)? {
        Progress::Done(Some(cursor)) => cursor,
        Progress::Done(None) => return Ok(Flow::Done),
        Progress::Yield => return begin_later(context, &call, query, out),
    };
    cursor.walks = context.walks_for_later();
    if is_proxied {
        cursor.subject = Some(Rc::clone(subject));
    }
    Ok(Flow::More(cursor))
}

/// Begins a search in its entries and runs its first slice. Returns its cursor, or `None` if the
/// search is finished. Yields if the slice is over before the search has begun.
fn search(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    out: &mut Vec<u8>,
) -> Result<Progress<Option<Box<Cursor>>>, Stop> {
    let (request, controls) = (query.request, query.controls);
    let catalog = context.catalog;
    let asked = controls.search.as_deref();
    let mut extras = Extras::of(catalog, request, asked, &|| call.now_s())?;
    if controls.position.is_some() {
        tell_position(context, call, &mut extras)?;
    }
    let mut filter = resolve_filter(context, call, request)?;
    let projection = Projection::of(catalog, &request.attributes, request.types_only);
    require_virtual(context, call, query)?;
    let mut effort = Effort::of(call, query);
    let areas = match done!(areas_or_virtual(context, call, query, &mut effort)?) {
        Found::Areas(areas) => areas,
        Found::Virtual(nodes) => {
            let search = VirtualSearch {
                query,
                filter,
                projection: &projection,
                extras: extras.as_deref(),
            };
            virtual_search::answer(context, call, search, &nodes, out)?;
            return Ok(Progress::Done(None));
        }
    };
    if let Some(asked) = asked.and_then(|it| it.subentries) {
        filter = extras::narrowed(catalog, filter, asked);
    }
    context.limit_walks(|| GroupWalkLimits::boxed(&call.shared.unindexed, call.limits));
    let regions = areas.iter().map(|it| &it.region);
    done!(links::follow(context, &mut filter, regions)?);
    let mut cursor = Cursor {
        id: query.message.id,
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
        buffer: call.scratch.take(),
    };
    if !begin_asked(context, call, query, &mut cursor, out)? {
        return Ok(Progress::Done(None));
    }
    if let Step::Finished = step(context, call, &mut cursor, out)? {
        call.give_back(cursor.buffer);
        return Ok(Progress::Done(None));
    }
    Ok(Progress::Done(Some(Box::new(cursor))))
}

/// The filter of a request, resolved and narrowed to what the subject may search.
#[inline(always)]
fn resolve_filter(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    request: &SearchRequest<'_>,
) -> Result<schema::Filter, Stop> {
    heavy::refuse(&request.filter)?;
    let schema = &context.catalog.schema;
    let mut filter = schema.resolve_filter_with(&request.filter, &|| call.now_s());
    context.narrow(&mut filter);
    Ok(filter)
}

/// Checks the assertion control against a base that is not stored.
#[inline]
fn require_virtual(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
) -> Result<(), Stop> {
    if let Some(condition) = query.controls.assertion
        && let Some(entry) = virtual_search::entry(context, call, query.request.base)?
    {
        assertion::require_of_virtual(context, &entry, condition, &|| call.now_s())?;
    }
    Ok(())
}

/// Makes the result of the search report the position of its snapshot.
#[cold]
fn tell_position(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    extras: &mut Option<Box<Extras>>,
) -> Result<(), Stop> {
    let reached = position::reached(context, call.shared.log)?;
    extras.get_or_insert_default().position = Some(reached);
    Ok(())
}

/// Applies all controls to a search; false if it has been answered.
#[inline(always)]
fn begin_asked(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    if let Some(asked) = query.controls.search.as_deref()
        && !begin_with(context, call, query, asked, cursor, out)?
    {
        return Ok(false);
    }
    let is_plain = cursor.extras.as_ref().is_none_or(|it| it.sorted.is_none());
    match query.controls.page.as_ref().filter(|_| is_plain) {
        Some(asked) => begin_page(context, call, query, asked, cursor, out),
        None => Ok(true),
    }
}

/// Applies the controls that only searches have; false if the search has been answered.
fn begin_with(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    asked: &SearchControls<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    if asked.rejects_unindexed {
        unindexed::refuse(context, cursor)?;
    }
    if let Some(rights) = &asked.rights {
        let rights = EffectiveRights::of(context, query.request, rights)?;
        cursor.extras.get_or_insert_default().rights = Some(Box::new(rights));
    }
    if asked.explains {
        let explaining = Explaining::of(context, &cursor.areas, &cursor.filter, asked)?;
        cursor.extras.get_or_insert_default().explaining = Some(Box::new(explaining));
    }
    if let Some(count) = asked.count_alone(query.is_paged())? {
        begin_count(context, cursor, count)?;
    } else if asked.sort.is_some() || asked.view.is_some() {
        let begun = sorting::begin(context, call, query, asked, cursor, out)?;
        if let Begun::Unsorted = begun
            && let Some(explaining) = cursor.explaining()
        {
            explaining.note_order("not sorted");
        }
        return Ok(!matches!(begun, Begun::Answered));
    }
    Ok(true)
}

/// Makes a search count its entries. If the number is known without looking at entries, or cannot
/// be known as the client wants it, no area is left.
fn begin_count(
    context: &Context<'_>,
    cursor: &mut Cursor,
    asked: MatchingEntryCountRequest,
) -> Result<(), Stop> {
    cursor.areas.retain(|it| it.kind == AreaKind::Entries);
    // The client wants a number, so the limit on entries returned does not apply.
    cursor.limits.entries_max = 0;
    let counted = Counting::of(context, &cursor.areas, &cursor.filter, asked)?;
    let extras = cursor.extras.get_or_insert_default();
    match counted {
        Counted::Known(control) => {
            extras.done.push(control);
            cursor.areas.clear();
        }
        Counted::ByTesting(counting) => extras.counting = Some(counting),
    }
    Ok(())
}

/// Moves the cursor to the start of the requested page; false if the client abandoned the search,
/// which has then been answered.
fn begin_page(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    asked: &PagedResults<'_>,
    cursor: &mut Cursor,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    let fingerprint = page::fingerprint(query, context.subject, None);
    let Some(start) = page::begin(call.cookie_key, fingerprint, asked)? else {
        let extras = cursor.extras.get_or_insert_default();
        extras.done.push(page::response(&[]));
        write_done(cursor, out);
        return Ok(false);
    };
    let size = page::size(asked, call.limits.page_entries_max);
    cursor.page = Some(Page { size, start });
    cursor.limits.sent_before = start.sent;
    cursor.after = start.after;
    cursor.area = start.region.into();
    Ok(true)
}
