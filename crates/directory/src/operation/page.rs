//! Simple paged results (RFC 2696): where a page begins, and the control that ends it.

use crate::operation::controls::Controls;
use crate::paging::{CookieKey, PagePosition};
use policy::Subject;
use protocol::control::{PagedResults, SortRequest};
use protocol::{OwnedControl, SearchRequest, oid};
use state::stop::Stop;
use std::borrow::Cow;
use store::EntryId;
use xxhash_rust::xxh3::Xxh3;

/// Where the page asked for begins. `None` when the client gives the search up (size 0 with a
/// cookie, RFC 2696 §3).
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

/// How many entries a page has at most, where the server has a limit of its own (0: none).
pub(crate) fn size(asked: &PagedResults<'_>, size_max: u32) -> u32 {
    match size_max {
        0 => asked.size,
        size_max => asked.size.min(size_max),
    }
}

/// What must stay the same from page to page: base, scope, what aliases and referrals are taken
/// for, filter and who asks. Attributes and sizes may change (RFC 2696 §3 asks for the same
/// parameters; these two do no harm). So must the order of sorted results.
pub(crate) fn fingerprint(
    request: &SearchRequest<'_>,
    controls: &Controls<'_>,
    subject: &Subject,
    sort: Option<&SortRequest<'_>>,
) -> u64 {
    let mut filter = Vec::with_capacity(64);
    request.filter.encode(&mut filter);
    let mut hash = Xxh3::new();
    hash.update(request.base.as_bytes());
    hash.update(&[0, request.scope as u8]);
    // They decide which regions there are, and the cookie says how many are done.
    hash.update(&[request.deref_aliases as u8, controls.manage_dsa_it as u8]);
    // They decide which entries of the regions are meant.
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

/// The control of the final response. The size is 0: the total is not known (RFC 2696 §2).
pub(crate) fn response(cookie: &[u8]) -> OwnedControl {
    let mut value = Vec::with_capacity(cookie.len() + 8);
    PagedResults { size: 0, cookie }.encode(&mut value);
    OwnedControl {
        oid: Cow::Borrowed(oid::PAGED_RESULTS),
        critical: false,
        value: Some(value),
    }
}
