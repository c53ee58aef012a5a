//! Searches of entries that are not stored: the root DSE, the subschema subentry and the monitor.

use crate::context::Context;
use crate::control::position;
use crate::search::call::{Query, SearchCall};
use crate::search::extras::Extras;
use crate::search::monitor::{Node, tree};
use crate::search::{count, extras, root_dse, subschema, virtual_list};
use protocol::control::Position;
use protocol::{LdapResult, ResultCode, ResultKind, Scope, SearchRequest, response};
use schema::{Name, Truth};
use state::heavy;
use state::projection::Projection;
use state::stop::{Refusal, Stop};
use state::virtual_entry::VirtualEntry;

/// The entry of a name as spelled; `None` unless it is one that is not stored.
pub(crate) fn entry(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    name: &str,
) -> Result<Option<VirtualEntry>, Stop> {
    match context.catalog.schema.resolve_name(name) {
        Ok(name) => entry_of(context, call, &name),
        Err(_) => Ok(None),
    }
}

/// The entry of a resolved name; `None` unless it is one that is not stored.
pub(crate) fn entry_of(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    name: &Name,
) -> Result<Option<VirtualEntry>, Stop> {
    let catalog = context.catalog;
    if name.depth() == 0 {
        let csn = context.newest()?.to_csn();
        let (peer, passwords) = (&call.session.peer, catalog.passwords);
        let root = root_dse::root_dse(catalog, &csn, peer, passwords, call.tls);
        return Ok(Some(root));
    }
    if *name == catalog.subschema {
        return Ok(Some(subschema::subschema(catalog)));
    }
    if !is_monitor(context, name) {
        return Ok(None);
    }
    for node in tree(call.shared, catalog)? {
        if is_of(context, &node, name) {
            return Ok(Some(node.entry));
        }
    }
    Ok(None)
}

/// The entries in scope of a search whose base is not stored; `None` for other bases.
pub(crate) fn nodes(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    request: &SearchRequest<'_>,
) -> Result<Option<Vec<Node>>, Stop> {
    let catalog = context.catalog;
    let Ok(base) = catalog.schema.resolve_name(request.base) else {
        return Ok(None);
    };
    if is_monitor(context, &base) {
        return monitor_nodes(context, call, &base, request.scope).map(Some);
    }
    let Some(entry) = entry_of(context, call, &base)? else {
        return Ok(None);
    };
    let name = request.base.to_owned();
    // Root DSE and subschema subentry have no entries below them.
    let in_scope = matches!(request.scope, Scope::BaseObject | Scope::WholeSubtree);
    Ok(Some(match in_scope {
        true => vec![Node { name, entry }],
        false => Vec::new(),
    }))
}

/// Whether a name is one of the monitor, and the subject may know of it.
fn is_monitor(context: &Context<'_>, name: &Name) -> bool {
    name.is_within(&context.catalog.monitor) && context.sees_monitor()
}

fn is_of(context: &Context<'_>, node: &Node, name: &Name) -> bool {
    let own = context.catalog.schema.resolve_name(&node.name);
    own.is_ok_and(|it| it == *name)
}

fn monitor_nodes(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    base: &Name,
    scope: Scope,
) -> Result<Vec<Node>, Stop> {
    let schema = &context.catalog.schema;
    let mut found_base = false;
    let mut nodes = Vec::new();
    for node in tree(call.shared, context.catalog)? {
        let Ok(name) = schema.resolve_name(&node.name) else {
            continue;
        };
        if !name.is_within(base) {
            continue;
        }
        let deeper = name.depth() - base.depth();
        found_base |= deeper == 0;
        let in_scope = match scope {
            Scope::BaseObject => deeper == 0,
            Scope::SingleLevel => deeper == 1,
            Scope::WholeSubtree => true,
            Scope::Subordinate => deeper > 0,
        };
        if in_scope {
            nodes.push(node);
        }
    }
    if found_base {
        return Ok(nodes);
    }
    let mut refusal = Refusal::new(ResultCode::NO_SUCH_OBJECT, "");
    refusal.matched = state::catalog::MONITOR_NAME.to_owned();
    Err(refusal.into())
}

/// A search for entries that are not stored.
pub(crate) struct VirtualSearch<'s> {
    pub query: Query<'s>,
    pub filter: schema::Filter,
    pub projection: &'s Projection,
    /// State of controls; `None` without such controls.
    pub extras: Option<&'s Extras>,
    /// Position of the snapshot, if the client asked for it.
    pub position: Option<&'s Position>,
}

/// Answers a search for entries that are not stored.
pub(crate) fn answer(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    search: VirtualSearch<'_>,
    nodes: &[Node],
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let (query, projection, extras) = (search.query, search.projection, search.extras);
    let (id, request, controls) = (query.message.id, query.request, query.controls);
    heavy::refuse_virtual(&request.filter)?;
    let asked = controls.search.as_deref();
    if asked.is_some_and(|it| it.explains) {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "entries that are not stored are found without a plan: nothing to explain",
        );
    }
    let catalog = context.catalog;
    // The subentries control does not apply to the root DSE.
    let is_root = request.base.trim_start_matches(' ').is_empty();
    let filter = match asked.and_then(|it| it.subentries) {
        Some(asked) if !is_root => extras::narrowed(catalog, search.filter, asked),
        _ => search.filter,
    };
    let mut scratch = Vec::new();
    let mut matches =
        |it: &&Node| filter.evaluate(&catalog.schema, &it.entry, &mut scratch) == Truth::True;
    let mut found: Vec<&Node> = nodes.iter().filter(|it| matches(it)).collect();
    let position = || search.position.map(position::control);
    let mut done = Vec::from_iter(position());
    let count = match asked {
        Some(asked) => asked.count_alone(controls.page.is_some())?,
        None => None,
    };
    if let Some(asked) = count {
        done.push(count::of_virtual(asked, found.len() as u64));
        found.clear();
    } else if virtual_list::is_asked_for(controls) {
        match virtual_list::list(context, call, query, found)? {
            Ok(listed) => {
                found = listed.nodes;
                done.extend(listed.controls);
            }
            Err(failure) => {
                failure.write(id, out);
                return Ok(());
            }
        }
    }
    let matched = extras.and_then(|it| it.matched.as_ref());
    for (sent, node) in found.into_iter().enumerate() {
        if request.size_limit != 0 && sent >= request.size_limit as usize {
            let limit = request.size_limit;
            let text = format!("the request's own size limit of {limit} entries; more match");
            let result = LdapResult::new(ResultCode::SIZE_LIMIT_EXCEEDED, text);
            let own = position();
            response::write_result(out, id, ResultKind::SearchDone, &result, own.as_slice());
            return Ok(());
        }
        let mark = response::begin_search_entry(out, id, node.name.as_bytes());
        projection.write_virtual(catalog, &node.entry, matched, out);
        response::finish_search_entry(out, mark, &[]);
        context.count_entry();
    }
    let success = LdapResult::success();
    response::write_result(out, id, ResultKind::SearchDone, &success, &done);
    Ok(())
}
