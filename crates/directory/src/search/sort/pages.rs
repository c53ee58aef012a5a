//! Pages of a sorted search (RFC 2891 §3): the cookie holds the sort key of the last entry sent, so
//! that the next page begins after it, whatever has changed in between.

use crate::search::page;
use protocol::control::PagedResults;
use spool::cookie::{CookieKey, SortedPosition};
use state::stop::Stop;

/// The requested page.
#[derive(Debug)]
pub(crate) struct Page {
    pub size: u32,
    /// Sort key of the last entry sent; empty for the first page.
    pub after: Box<[u8]>,
    /// Number of entries sent by earlier pages.
    pub sent_before: u64,
    /// Number of the list that the page is a part of; 0 for none.
    pub list: u64,
    fingerprint: u64,
}

/// The start of the requested page; `None` if the client abandons the search (size 0 with a cookie,
/// RFC 2696 §3).
pub(crate) fn begin(
    key: &CookieKey,
    fingerprint: u64,
    asked: &PagedResults<'_>,
    size_max: u32,
) -> Result<Option<Page>, Stop> {
    let size = page::size(asked, size_max);
    let start = match asked.cookie {
        [] => SortedPosition::default(),
        _ if asked.size == 0 => return Ok(None),
        cookie => key.open_sorted(cookie, fingerprint)?,
    };
    Ok(Some(Page {
        size,
        after: start.after,
        sent_before: start.sent,
        list: start.list,
        fingerprint,
    }))
}

impl Page {
    /// The cookie for the start of the next page.
    pub fn cookie(&self, key: &CookieKey, sent: u64) -> Vec<u8> {
        let at = SortedPosition {
            after: self.after.clone(),
            sent: self.sent_before + sent,
            list: self.list,
        };
        key.seal_sorted(&at, self.fingerprint)
    }
}
