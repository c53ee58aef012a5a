//! Fuzz bodies of the crates below, under the names by which the fuzz targets call them.

pub use spool::fuzz::paging_cookie;
pub use state::fuzz::{history_row, record, sync_cookie, words};
