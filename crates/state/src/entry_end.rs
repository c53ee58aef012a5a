//! Ends of dynamic entries (RFC 2589), as they are stored.

use crate::catalog::Catalog;
use crate::time;
use crate::write::{Given, Modification};
use protocol::ChangeOperation;
use schema::Description;

/// The attribute with the end of an entry that lives `ttl_s` seconds from `now_us` (microseconds
/// since 1970).
pub fn end(catalog: &Catalog, now_us: u64, ttl_s: u32) -> Given {
    // Rounded up: an entry never ends before the time in the response to the client.
    let end_us = now_us.next_multiple_of(1_000_000) + u64::from(ttl_s) * 1_000_000;
    Given {
        description: Description::of_type(catalog.computed.entry_end),
        values: vec![time::generalized_time(end_us).into_bytes()],
    }
}

/// The change that gives a stored entry this end.
pub fn replace_end(catalog: &Catalog, now_us: u64, ttl_s: u32) -> Modification {
    Modification {
        operation: ChangeOperation::Replace,
        given: end(catalog, now_us, ttl_s),
    }
}
