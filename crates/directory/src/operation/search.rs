//! Search (RFC 4511 §4.5).

use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::context::{Context, Place, VisibleEntry};
use crate::cursor::{Area, AreaKind, Areas, Cursor, Page, SearchLimits};
use crate::operation::controls::Controls;
use crate::operation::{alias, assertion, links, page, referral, root_dse, subschema};
use crate::paging::CookieKey;
use crate::projection::Projection;
use crate::session::Peer;
use crate::stop::Stop;
use crate::virtual_entry::VirtualEntry;
use policy::{Limits, Right};
use protocol::{
    DerefAliases, LdapResult, MessageId, OwnedControl, ResultCode, ResultKind, Scope,
    SearchRequest, response,
};
use schema::{Name, Schema, Truth, TypeId};
use smallvec::{SmallVec, smallvec};
use std::cell::RefCell;
use store::{EntryId, Region, RegionScope};

/// A slice ends when it has put this many bytes into the output …
const SLICE_BYTES: usize = 256 * 1024;
/// … or looked at this many candidates, so that other connections get their turn.
const SLICE_CANDIDATES: u32 = 2_048;

/// What a search does next.
pub(crate) enum Step {
    /// The final result is in the output.
    Finished,
    /// There is more to say.
    More(Box<Cursor>),
}

/// The parts of the server a search needs beside its context.
pub(crate) struct Needs<'n> {
    pub key: &'n CookieKey,
    pub limits: Limits,
    pub last_base: &'n RefCell<LastBase>,
    /// Asked only by searches that take more than one slice.
    pub clock: &'n dyn Clock,
    pub peer: &'n Peer,
    /// StartTLS is offered.
    pub tls: bool,
}

/// The base that the last search of a thread named: clients name the same one again and again,
/// and resolving it is a tenth of a search.
#[derive(Default)]
pub(crate) struct LastBase {
    text: String,
    name: Name,
    /// The schema it was resolved under; kept, so that its address means nothing else.
    schema: Option<Schema>,
}

impl LastBase {
    fn resolve(&mut self, catalog: &Catalog, text: &str) -> Result<&Name, Stop> {
        let same = |schema: &Schema| {
            let first = |it: &Schema| std::ptr::from_ref(it.type_of(TypeId(0)));
            first(schema) == first(&catalog.schema)
        };
        if self.text != text || !self.schema.as_ref().is_some_and(same) {
            self.name = super::resolve_name(&catalog.schema, text)?;
            text.clone_into(&mut self.text);
            self.schema = Some(catalog.schema.clone());
        }
        Ok(&self.name)
    }
}

impl Needs<'_> {
    /// The root DSE or the subschema subentry, if that is what the base names.
    fn virtual_entry(&self, catalog: &Catalog, base: &str) -> Option<VirtualEntry> {
        if base.is_empty() {
            return Some(root_dse::root_dse(catalog, self.peer, self.tls));
        }
        let name = catalog.schema.resolve_name(base).ok()?;
        self.virtual_entry_of(catalog, &name)
    }

    /// The same for a resolved name.
    pub fn virtual_entry_of(&self, catalog: &Catalog, name: &Name) -> Option<VirtualEntry> {
        if name.depth() == 0 {
            return Some(root_dse::root_dse(catalog, self.peer, self.tls));
        }
        (*name == catalog.subschema).then(|| subschema::subschema(catalog))
    }
}

/// Begins a search and runs its first slice.
pub(crate) fn search(
    context: &Context<'_>,
    needs: &Needs<'_>,
    id: MessageId,
    request: &SearchRequest<'_>,
    controls: &Controls<'_>,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    let catalog = context.catalog;
    let now_s = || (needs.clock.now_us() / 1_000_000) as i64;
    let mut filter = catalog.schema.resolve_filter_with(&request.filter, &now_s);
    let projection = Projection::of(catalog, &request.attributes, request.types_only);
    if let Some(condition) = controls.assertion
        && let Some(entry) = needs.virtual_entry(catalog, request.base)
    {
        assertion::require_of(catalog, &entry, condition)?;
    }
    let areas = match areas_or_virtual(context, needs, request, controls)? {
        Found::Areas(areas) => areas,
        Found::Virtual(entry) => {
            write_virtual(context, id, request, &filter, &projection, &entry, out);
            return Ok(Step::Finished);
        }
    };
    links::follow(context, &mut filter, areas.iter())?;
    let limits = search_limits(request, &needs.limits, controls.page.is_some());
    let mut cursor = Cursor {
        id,
        filter,
        projection,
        areas,
        area: 0,
        candidates: None,
        after: EntryId(0),
        sent: 0,
        limits,
        page: None,
        manage_dsa_it: controls.manage_dsa_it,
        deref_searching: derefs_searching(request.deref_aliases),
        began_us: None,
        subject: None,
        buffer: Vec::with_capacity(128),
    };
    if let Some(asked) = &controls.page {
        let start = page::begin(needs.key, request, context.subject, asked)?;
        let Some(start) = start else {
            finish_page(&cursor, &[], out);
            return Ok(Step::Finished);
        };
        cursor.page = Some(Page {
            size: asked.size,
            start,
        });
        cursor.after = start.after;
        cursor.area = start.region.into();
    }
    step(context, needs, cursor, out)
}

/// Runs one slice of a search.
pub(crate) fn step(
    context: &Context<'_>,
    needs: &Needs<'_>,
    mut cursor: Cursor,
    out: &mut Vec<u8>,
) -> Result<Step, Stop> {
    let slice_end = out.len() + SLICE_BYTES;
    let mut turns = SLICE_CANDIDATES;
    while let Some(area) = cursor.areas.get(cursor.area).cloned() {
        let candidates = match cursor.candidates.take() {
            Some(candidates) => candidates,
            None => plan_area(context, &cursor, &area)?,
        };
        let mut entries = context.entries(&candidates, cursor.after);
        let mut slice_over = false;
        for entry in &mut entries {
            let entry = entry?;
            if let Some(end) = page_or_limit(&cursor) {
                return end.write(needs, &cursor, out);
            }
            if turns == 0 || out.len() >= slice_end {
                slice_over = true;
                break;
            }
            turns -= 1;
            cursor.after = entry.id;
            cursor.limits.examined += 1;
            if !context.in_region(&entry, &area.region)? {
                continue;
            }
            if let Some(end) = offer(context, &mut cursor, &area, &entry, out)? {
                return end.write(needs, &cursor, out);
            }
        }
        drop(entries);
        if slice_over {
            cursor.candidates = Some(candidates);
            return park(needs, cursor, out);
        }
        cursor.area += 1;
        cursor.after = EntryId(0);
    }
    finish_page(&cursor, &[], out);
    Ok(Step::Finished)
}

/// Why a search ends before its candidates do.
enum End {
    PageFull,
    SizeLimit,
    CandidateLimit,
}

impl End {
    fn write(self, needs: &Needs<'_>, cursor: &Cursor, out: &mut Vec<u8>) -> Result<Step, Stop> {
        match self {
            End::PageFull => {
                let page = cursor.page.expect("only a paged search has a full page");
                let mut at = page.start;
                at.region = cursor.area as u16;
                at.after = cursor.after;
                at.sent += cursor.sent;
                finish_page(cursor, &needs.key.seal(&at), out);
            }
            End::SizeLimit => {
                let limit = cursor.limits.entries_max;
                let whose = if cursor.limits.by_server {
                    "the server's"
                } else {
                    "the request's"
                };
                let text = format!(
                    "{whose} size limit of {limit} entries; more match: ask for pages \
                     (control 1.2.840.113556.1.4.319) or narrow the filter"
                );
                finish_with(cursor, ResultCode::SIZE_LIMIT_EXCEEDED, text, out);
            }
            End::CandidateLimit => {
                let limit = cursor.limits.candidates_max;
                let text = format!(
                    "the search would look at more than {limit} entries: use an indexed attribute"
                );
                finish_with(cursor, ResultCode::ADMIN_LIMIT_EXCEEDED, text, out);
            }
        }
        Ok(Step::Finished)
    }
}

/// Tests one entry of the region and sends it if it matches. `Some` when it would be one too many.
fn offer(
    context: &Context<'_>,
    cursor: &mut Cursor,
    area: &Area,
    entry: &VisibleEntry<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<Option<End>, Stop> {
    let catalog = context.catalog;
    if catalog.has_referrals && !cursor.manage_dsa_it {
        let is_referral = entry.has_class("referral");
        if area.kind == AreaKind::References {
            if is_referral && entry.id != area.region.base {
                referral::write_reference(entry, cursor.id, area.region.scope, out)?;
            }
            return Ok(None);
        }
        if is_referral {
            return Ok(None);
        }
    }
    if cursor.deref_searching
        && catalog.has_aliases
        && entry.id != area.region.base
        && entry.has_class("alias")
    {
        return Ok(None);
    }
    if cursor
        .filter
        .evaluate(&catalog.schema, entry, &mut cursor.buffer)
        != Truth::True
    {
        return Ok(None);
    }
    if cursor.limits.entries_max != 0 && cursor.sent >= cursor.limits.entries_max {
        return Ok(Some(End::SizeLimit));
    }
    cursor.buffer.clear();
    entry.write_name(&mut cursor.buffer)?;
    let mark = response::begin_search_entry(out, cursor.id, &cursor.buffer);
    cursor.projection.write(catalog, entry, out)?;
    response::finish_search_entry(out, mark, &[]);
    cursor.sent += 1;
    Ok(None)
}

fn page_or_limit(cursor: &Cursor) -> Option<End> {
    if let Some(page) = cursor.page
        && cursor.sent >= u64::from(page.size)
    {
        return Some(End::PageFull);
    }
    let limits = &cursor.limits;
    if limits.candidates_max != 0 && limits.examined >= limits.candidates_max {
        return Some(End::CandidateLimit);
    }
    None
}

/// Leaves the search for its next slice, unless its time is up.
fn park(needs: &Needs<'_>, mut cursor: Cursor, out: &mut Vec<u8>) -> Result<Step, Stop> {
    let now = needs.clock.now_us();
    let began = *cursor.began_us.get_or_insert(now);
    let limit = cursor.limits.time_ms_max;
    if limit != 0 && now.saturating_sub(began) > limit * 1_000 {
        let text = format!("the time limit of {limit} ms is used up");
        finish_with(&cursor, ResultCode::TIME_LIMIT_EXCEEDED, text, out);
        return Ok(Step::Finished);
    }
    Ok(Step::More(Box::new(cursor)))
}

fn plan_area(
    context: &Context<'_>,
    cursor: &Cursor,
    area: &Area,
) -> Result<store::Candidates, Stop> {
    let references;
    let filter = match area.kind {
        AreaKind::Entries => &cursor.filter,
        AreaKind::References => {
            references = referral::filter(&context.catalog.schema);
            &references
        }
    };
    let plan = context.plan(filter, &area.region)?;
    context.candidates(&plan, cursor.after)
}

/// What the base of a search leads to.
enum Found {
    Areas(Areas),
    /// An entry that is not stored.
    Virtual(VirtualEntry),
}

/// The root DSE is no part of what lies below it (RFC 4512 §5.1); the subschema subentry is looked
/// for where nothing else is found, so that it costs other searches nothing.
fn areas_or_virtual(
    context: &Context<'_>,
    needs: &Needs<'_>,
    request: &SearchRequest<'_>,
    controls: &Controls<'_>,
) -> Result<Found, Stop> {
    let is_root = request.base.trim_start_matches(' ').is_empty();
    let catalog = context.catalog;
    if is_root && request.scope == Scope::BaseObject {
        let entry = needs.virtual_entry_of(catalog, &Name::root());
        return Ok(Found::Virtual(entry.expect("the root DSE is always there")));
    }
    match areas(context, needs, request, controls) {
        Ok(areas) => Ok(Found::Areas(areas)),
        Err(stop) if is_root => Err(stop),
        Err(stop) => match needs.virtual_entry(catalog, request.base) {
            Some(entry) => Ok(Found::Virtual(entry)),
            None => Err(stop),
        },
    }
}

/// Resolves the base and lists the regions to search.
fn areas(
    context: &Context<'_>,
    needs: &Needs<'_>,
    request: &SearchRequest<'_>,
    controls: &Controls<'_>,
) -> Result<Areas, Stop> {
    let scope = match request.scope {
        Scope::BaseObject => RegionScope::Base,
        Scope::SingleLevel => RegionScope::OneLevel,
        Scope::WholeSubtree => RegionScope::Subtree,
        Scope::Subordinate => RegionScope::Subordinates,
    };
    let base = resolve_base(context, needs, request, controls)?;
    let mut regions: SmallVec<[Region; 2]> = smallvec![Region { base, scope }];
    if derefs_searching(request.deref_aliases) && context.catalog.has_aliases {
        alias::add_targets(context, &mut regions)?;
    }
    let references = context.catalog.has_referrals
        && !controls.manage_dsa_it
        && request.scope != Scope::BaseObject;
    let mut areas = Areas::new();
    for region in regions {
        areas.push(Area {
            region,
            kind: AreaKind::Entries,
        });
        if references {
            areas.push(Area {
                region,
                kind: AreaKind::References,
            });
        }
    }
    Ok(areas)
}

fn resolve_base(
    context: &Context<'_>,
    needs: &Needs<'_>,
    request: &SearchRequest<'_>,
    controls: &Controls<'_>,
) -> Result<EntryId, Stop> {
    let catalog = context.catalog;
    let mut last_base = needs.last_base.borrow_mut();
    let name = last_base.resolve(catalog, request.base)?;
    if name.depth() == 0 {
        return Ok(EntryId(0));
    }
    let derefs = matches!(
        request.deref_aliases,
        DerefAliases::FindingBaseObject | DerefAliases::Always
    );
    let place = if derefs && catalog.has_aliases {
        alias::find(context, name)?
    } else {
        context.find(name)?
    };
    match place {
        Place::Found(base) => {
            context.require(Right::Search, name, None)?;
            if catalog.has_referrals && !controls.manage_dsa_it {
                referral::refuse_if_referral(
                    context,
                    base,
                    request.base,
                    None,
                    Some(request.scope),
                )?;
            }
            if let Some(condition) = controls.assertion {
                assertion::require(context, base, condition)?;
            }
            Ok(base)
        }
        Place::Missing { matched, depth } => {
            let scope = Some(request.scope);
            if let Some(above) = matched
                && catalog.has_referrals
                && !controls.manage_dsa_it
            {
                referral::refuse_if_referral(context, above, request.base, Some(depth), scope)?;
            }
            referral::refer_upwards(catalog, name, request.base, scope)?;
            Err(context.no_such_object(matched)?.into())
        }
    }
}

fn derefs_searching(deref: DerefAliases) -> bool {
    matches!(deref, DerefAliases::InSearching | DerefAliases::Always)
}

fn search_limits(request: &SearchRequest<'_>, limits: &Limits, paged: bool) -> SearchLimits {
    let server = if paged {
        0
    } else {
        u64::from(limits.size_entries_max)
    };
    let client = u64::from(request.size_limit);
    let by_server = server != 0 && (client == 0 || server < client);
    let client_ms = u64::from(request.time_limit_s) * 1_000;
    let server_ms = u64::from(limits.time_ms_max);
    SearchLimits {
        entries_max: if by_server { server } else { client },
        by_server,
        time_ms_max: match (client_ms, server_ms) {
            (0, limit) | (limit, 0) => limit,
            (client, server) => client.min(server),
        },
        candidates_max: limits.candidates_max,
        examined: 0,
    }
}

/// Answers a base search on an entry that is not stored.
fn write_virtual(
    context: &Context<'_>,
    id: MessageId,
    request: &SearchRequest<'_>,
    filter: &schema::Filter,
    projection: &Projection,
    entry: &VirtualEntry,
    out: &mut Vec<u8>,
) {
    let mut scratch = Vec::new();
    // Nothing stands below such an entry.
    let in_scope = matches!(request.scope, Scope::BaseObject | Scope::WholeSubtree);
    if in_scope && filter.evaluate(&context.catalog.schema, entry, &mut scratch) == Truth::True {
        let mark = response::begin_search_entry(out, id, request.base.as_bytes());
        projection.write_virtual(entry, out);
        response::finish_search_entry(out, mark, &[]);
    }
    response::write_result(out, id, ResultKind::SearchDone, &LdapResult::success(), &[]);
}

/// Success, with a paging cookie when the search is paged (empty: that was the last page).
fn finish_page(cursor: &Cursor, cookie: &[u8], out: &mut Vec<u8>) {
    let result = LdapResult::success();
    let controls: &[OwnedControl] = match cursor.page {
        Some(_) => &[page::response(cookie)],
        None => &[],
    };
    response::write_result(out, cursor.id, ResultKind::SearchDone, &result, controls);
}

fn finish_with(cursor: &Cursor, code: ResultCode, text: String, out: &mut Vec<u8>) {
    let result = LdapResult::new(code, text);
    response::write_result(out, cursor.id, ResultKind::SearchDone, &result, &[]);
}
