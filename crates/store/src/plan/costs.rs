//! Thresholds of planning: numbers of entries and rows at which one way becomes cheaper.

/// Up to so many entries are cheaper to read than to narrow further.
pub(super) const ENOUGH: u64 = 8;
/// Holders of a value looked up while planning at most; of more only the number is taken.
pub(super) const HOLDERS_FOUND_MAX: usize = 64;
/// Number of entries up to which a region is listed while planning, when no index does better.
pub(super) const REGION_MAX: u64 = 4096;
/// Cost of looking up an entry by id, in entries of a scan, which reads them in their order.
pub(super) const SCAN_ADVANTAGE: u64 = 4;
/// A part of an AND is fetched to narrow the cheapest part only if it has fewer than so many times
/// as many ids.
pub(super) const NARROWING_MAX: u64 = 64;
/// Number of index rows walked in one slice: some milliseconds.
pub(super) const SLICE_ROWS: u64 = 65_536;
/// Number of link rows that an estimate reads before it falls back to a guess: a millisecond or
/// two.
pub(super) const OWNERS_COUNTED_MAX: usize = 16_384;
