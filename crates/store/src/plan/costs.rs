//! Bounds that plans weigh: entries and rows from which one way costs less than another.

/// At most this many entries are cheaper to look at than to narrow down further.
pub(super) const ENOUGH: u64 = 8;
/// Holders of a value that are looked up while planning; of more only the number matters then.
pub(super) const HOLDERS_FOUND_MAX: usize = 64;
/// Regions up to this many entries are listed while planning when no index does better.
pub(super) const REGION_MAX: u64 = 4096;
/// A scan reads entries in their order; looking up as many ids costs this much more for each.
pub(super) const SCAN_ADVANTAGE: u64 = 4;
/// A part of an AND is fetched to narrow the cheapest one only if it has fewer than so many times
/// the ids of that one.
pub(super) const NARROWING_MAX: u64 = 64;
/// Rows of an index that are walked at a time: some milliseconds.
pub(super) const SLICE_ROWS: u64 = 65_536;
/// Rows of sets of links that an estimate looks at before it gives up and guesses: a millisecond
/// or two.
pub(super) const OWNERS_COUNTED_MAX: usize = 16_384;
