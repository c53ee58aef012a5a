//! Simple paged results (RFC 2696): the start of a page, and the control at its end.

use crate::search::call::Query;
use policy::{Limit, Subject};
use protocol::control::{PagedResults, SortRequest};
use protocol::{OwnedControl, oid};
use spool::cookie::{CookieKey, PagePosition};
use state::stop::Stop;
use std::borrow::Cow;
use store::EntryId;
use xxhash_rust::xxh3::Xxh3;

/// The start of the requested page; `None` if the client abandons the search (size 0 with a cookie,
/// RFC 2696 §3).
pub(crate) fn begin(
    key: &CookieKey,
    fingerprint: u64,
    asked: &PagedResults<'_>,
) -> Result<Option<PagePosition>, Stop> {
    if asked.cookie.is_empty() {
        return Ok(Some(PagePosition {
            region: 0,
            after: EntryId(0),
            sent: 0,
            fingerprint,
        }));
    }
    if asked.size == 0 {
        return Ok(None);
    }
    key.open(asked.cookie, fingerprint).map(Some)
}

/// Number of entries of a page, at most `size_max` if the server has such a limit (0 for none). A
/// page that the limit makes smaller is counted.
pub(crate) fn size(asked: &PagedResults<'_>, size_max: u32) -> u32 {
    if size_max == 0 || asked.size <= size_max {
        return asked.size;
    }
    Limit::PageEntries.count();
    size_max
}

/// Fingerprint of everything that must be equal for all pages: base, scope, handling of aliases and
/// referrals, filter, subject, and the sort order. Attributes and sizes may differ (RFC 2696 §3
/// wants equal parameters, but these two do no harm).
pub(crate) fn fingerprint(
    query: Query<'_>,
    subject: &Subject,
    sort: Option<&SortRequest<'_>>,
) -> u64 {
    let Query {
        request, controls, ..
    } = query;
    let mut filter = Vec::with_capacity(64);
    request.filter.encode(&mut filter);
    let mut hash = Xxh3::new();
    hash.update(request.base.as_bytes());
    hash.update(&[0, request.scope as u8]);
    // These decide the list of regions, of which the cookie holds an index.
    hash.update(&[request.deref_aliases as u8, controls.manage_dsa_it as u8]);
    // These decide which entries of the regions are candidates.
    let asked = controls.search.as_deref();
    let subentries = asked.and_then(|it| it.subentries).map(|it| it.visible);
    let beside = asked.is_some_and(|it| it.shows_subentries);
    hash.update(&[subentries.map_or(2, u8::from), u8::from(beside)]);
    hash.update(&filter);
    hash.update(&[0]);
    hash.update(subject.dn.as_bytes());
    if let Some(sort) = sort {
        let mut keys = Vec::with_capacity(32);
        sort.encode(&mut keys);
        hash.update(&[0]);
        hash.update(&keys);
    }
    hash.digest()
}

/// The control of the result. Its size is 0, because the total is unknown (RFC 2696 §2).
pub(crate) fn response(cookie: &[u8]) -> OwnedControl {
    let mut value = Vec::with_capacity(cookie.len() + 8);
    PagedResults { size: 0, cookie }.encode(&mut value);
    OwnedControl {
        oid: Cow::Borrowed(oid::PAGED_RESULTS),
        critical: false,
        value: Some(value),
    }
}
