//! Begins a search: resolves base, filter and controls.

use crate::call::Call;
use crate::context::{Context, whole_bytes_max};
use crate::control::proxy;
use crate::control::{SearchControls, position};
use crate::flow::Flow;
use crate::operation::{follow, resolve_name};
use crate::search::alias::WorkDone;
use crate::search::area::{AreaKind, Source};
use crate::search::areas::{Base, areas_or_virtual, derefs_searching};
use crate::search::call::{Query, SearchCall, Step};
use crate::search::count::{Counted, Counting};
use crate::search::criteria::Criteria;
use crate::search::cursor::{Cursor, Running, Stage};
use crate::search::end::write_abandoned;
use crate::search::explain::Explaining;
use crate::search::extras::Extras;
use crate::search::group_walk_limits::GroupWalkLimits;
use crate::search::later::begin_later;
use crate::search::run::step;
use crate::search::sending::Sending;
use crate::search::sink::Sink;
use crate::search::sort::begin as sorting;
use crate::search::sort::begin::Begun;
use crate::search::state::{Page, ResultControls, Search};
use crate::search::virtual_search::VirtualSearch;
use crate::search::{extras, page, unindexed, virtual_search};
use crate::session::Session;
use answers::access_question;
use answers::effective_rights::EffectiveRights;
use policy::Subject;
use protocol::control::{AccessQuestion, MatchingEntryCountRequest, PagedResults};
use protocol::{LdapResult, ResultKind, SearchRequest, response};
use schema::Filter;
use state::progress::Progress;
use state::projection::Projection;
use state::stop::Stop;
use state::{assertion, done, heavy, links};
use std::rc::Rc;

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
    if let Some(question) = query
        .controls
        .search
        .as_deref()
        .and_then(|it| it.access.as_ref())
    {
        return answer_question(context, query, question, out);
    }
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
    match search(context, &call, query, out)? {
        Progress::Done(None) => Ok(Flow::Done),
        Progress::Done(Some(running)) => Ok(Flow::More(Box::new(Cursor {
            id: query.message.id,
            subject: is_proxied.then(|| Rc::clone(subject)),
            walks: context.walks_for_later(),
            stage: Stage::Running(running),
        }))),
        Progress::Yield => begin_later(context, &call, query, out),
    }
}

/// Answers a question about access to the search's base, in place of the search.
#[cold]
fn answer_question(
    context: &Context<'_>,
    query: Query<'_>,
    question: &AccessQuestion<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let name = resolve_name(&context.catalog.schema, query.request.base)?;
    let named = |identity: &str| proxy::named(context, identity);
    let control = access_question::answer(context, &name, question, &named)?;
    let (id, result) = (query.message.id, LdapResult::success());
    response::write_result(out, id, ResultKind::SearchDone, &result, &[control]);
    Ok(Flow::Done)
}

/// Begins a search in its entries and runs its first slice. `None` if the search is finished.
/// Yields if the slice is over before the source of the search is known.
fn search(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    out: &mut Vec<u8>,
) -> Result<Progress<Option<Box<Running>>>, Stop> {
    let (request, controls) = (query.request, query.controls);
    let catalog = context.catalog;
    let asked = controls.search.as_deref();
    let extras = Extras::of(catalog, request, asked, &|| call.now_s())?;
    let result = match controls.position {
        Some(_) => Some(with_position(context, call)?),
        None => None,
    };
    let mut filter = resolve_filter(context, call, request)?;
    let projection = Projection::of(catalog, &request.attributes, request.types_only);
    require_virtual(context, call, query)?;
    let mut work = WorkDone::of(call, query);
    let areas = match done!(areas_or_virtual(context, call, query, &mut work)?) {
        Base::Areas(areas) => areas,
        Base::Virtual(nodes) => {
            let search = VirtualSearch {
                query,
                filter,
                projection: &projection,
                extras: extras.as_deref(),
                position: result.as_ref().and_then(|it| it.position.as_ref()),
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
    let sending = Sending {
        projection,
        extras,
        large: None,
    };
    let mut running = Running {
        search: Search {
            id: query.message.id,
            source: Source::new(areas),
            criteria: criteria(context, query, filter),
            limits: work.limits,
            sent: 0,
            page: None,
            result,
            began_us: query.began_us.or(work.began_us),
            permit: None,
            has_waited: false,
            buffer: call.scratch.take(),
        },
        sink: Sink::Send(sending),
    };
    if !begin_asked(context, call, query, &mut running, out)? {
        return Ok(Progress::Done(None));
    }
    if let Step::Finished = step(context, call, &mut running, out)? {
        call.give_back(running.search.buffer);
        return Ok(Progress::Done(None));
    }
    Ok(Progress::Done(Some(Box::new(running))))
}

/// The filter of a request, resolved and narrowed to what the subject may search.
#[inline(always)]
fn resolve_filter(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    request: &SearchRequest<'_>,
) -> Result<Filter, Stop> {
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

/// The criteria of a request with this filter.
#[inline(always)]
fn criteria(context: &Context<'_>, query: Query<'_>, filter: Filter) -> Criteria {
    let (request, controls) = (query.request, query.controls);
    let asked = controls.search.as_deref();
    let hides = || extras::hides_subentries(request.scope, asked);
    // Written out, because a filter that is moved again costs every search its copy.
    Criteria {
        whole_bytes_max: whole_bytes_max(filter.weight()),
        filter,
        manage_dsa_it: controls.manage_dsa_it,
        deref_searching: derefs_searching(request.deref_aliases),
        hides_subentries: context.catalog.has_subentries && hides(),
        tested: 0,
    }
}

/// Controls of a result that reports the position of its snapshot.
#[cold]
fn with_position(
    context: &Context<'_>,
    call: &SearchCall<'_>,
) -> Result<Box<ResultControls>, Stop> {
    Ok(Box::new(ResultControls {
        done: Vec::new(),
        position: Some(position::reached(context, call.shared.log)?),
    }))
}

/// Applies all controls to a search; false if it has been answered.
#[inline(always)]
fn begin_asked(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    running: &mut Running,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    if let Some(asked) = query.controls.search.as_deref()
        && !begin_with(context, call, query, asked, running, out)?
    {
        return Ok(false);
    }
    let is_plain = !matches!(running.sink, Sink::Sort(_));
    match query.controls.page.as_ref().filter(|_| is_plain) {
        Some(asked) => begin_page(context, call, query, asked, running, out),
        None => Ok(true),
    }
}

/// Applies the controls that only searches have; false if the search has been answered.
fn begin_with(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    asked: &SearchControls<'_>,
    running: &mut Running,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    let Running { search, sink } = &mut *running;
    if asked.rejects_unindexed {
        unindexed::refuse(context, search)?;
    }
    if let Some(rights) = &asked.rights {
        let subject = proxy::named(context, rights.authorization_id)?;
        let rights = EffectiveRights::of(context, subject, query.request, rights)?;
        if let Some(sending) = sink.sending() {
            sending.extras.get_or_insert_default().rights = Some(Box::new(rights));
        }
    }
    if asked.explains {
        let (areas, filter) = (&search.source.areas, &search.criteria.filter);
        let explaining = Explaining::of(context, areas, filter, asked)?;
        *sink = Sink::Explain(Box::new(explaining));
    }
    if let Some(count) = asked.count_alone(query.is_paged())? {
        begin_count(context, running, count)?;
    } else if asked.sort.is_some() || asked.view.is_some() {
        let begun = sorting::begin(context, call, query, asked, running, out)?;
        if let Begun::Unsorted = begun
            && let Some(explaining) = running.sink.explaining_mut()
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
    Running { search, sink }: &mut Running,
    asked: MatchingEntryCountRequest,
) -> Result<(), Stop> {
    let areas = &mut search.source.areas;
    areas.retain(|it| it.kind == AreaKind::Entries);
    // The client wants a number, so the limit on entries returned does not apply.
    search.limits.entries_max = 0;
    match Counting::of(context, areas, &search.criteria.filter, asked)? {
        Counted::Known(control) => {
            areas.clear();
            search.add_control(control);
        }
        Counted::ByTesting(counting) => *sink = Sink::Count(counting),
    }
    Ok(())
}

/// Moves the search to the start of the requested page; false if the client abandoned the search,
/// which has then been answered.
fn begin_page(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    query: Query<'_>,
    asked: &PagedResults<'_>,
    Running { search, sink }: &mut Running,
    out: &mut Vec<u8>,
) -> Result<bool, Stop> {
    let fingerprint = page::fingerprint(query, context.subject, None);
    let Some(start) = page::begin(call.cookie_key, fingerprint, asked)? else {
        write_abandoned(search, sink, out);
        return Ok(false);
    };
    let size = page::size(asked, call.limits.page_entries_max);
    search.page = Some(Page { size, start });
    search.limits.sent_before = start.sent;
    search.source.after = start.after;
    search.source.area = start.region.into();
    Ok(true)
}
