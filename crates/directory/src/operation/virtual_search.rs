//! A search whose base is not stored: the root DSE or the subschema subentry.

use crate::context::Context;
use crate::operation::controls::SearchControls;
use crate::operation::count;
use crate::operation::extras::{self, Extras};
use crate::projection::Projection;
use crate::virtual_entry::VirtualEntry;
use protocol::{LdapResult, MessageId, ResultKind, Scope, SearchRequest, response};
use schema::Truth;

/// Answers a search whose base is such an entry.
pub(crate) fn answer(
    context: &Context<'_>,
    id: MessageId,
    request: &SearchRequest<'_>,
    filter: schema::Filter,
    (projection, entry): (&Projection, &VirtualEntry),
    (asked, extras): (Option<&SearchControls<'_>>, Option<&Extras>),
    out: &mut Vec<u8>,
) {
    let catalog = context.catalog;
    // The root DSE is no entry of any kind.
    let filter = match request.base.trim_start_matches(' ') {
        "" => filter,
        _ => extras::narrowed(catalog, filter, asked),
    };
    let mut scratch = Vec::new();
    // Nothing stands below such an entry.
    let in_scope = matches!(request.scope, Scope::BaseObject | Scope::WholeSubtree);
    let found = in_scope && filter.evaluate(&catalog.schema, entry, &mut scratch) == Truth::True;
    let done = LdapResult::success();
    if let Some(asked) = asked.and_then(|it| it.count) {
        let control = count::of_one(asked, found);
        response::write_result(out, id, ResultKind::SearchDone, &done, &[control]);
        return;
    }
    if found {
        let matched = extras.and_then(|it| it.matched.as_ref());
        let mark = response::begin_search_entry(out, id, request.base.as_bytes());
        projection.write_virtual(catalog, entry, matched, out);
        response::finish_search_entry(out, mark, &[]);
    }
    response::write_result(out, id, ResultKind::SearchDone, &done, &[]);
}
