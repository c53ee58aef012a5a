//! One page of a tree: finding a key in it.

use std::cmp::Ordering;

use super::PAGE_BYTES;
use crate::page_layout::{HEADER_BYTES, NODE_BYTES, PAGE_BRANCH};

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// The key to find.
pub(super) struct Wanted<'k> {
    key: &'k [u8],
    pub rank: u64,
}

impl<'k> Wanted<'k> {
    #[inline]
    pub fn new(key: &'k [u8]) -> Wanted<'k> {
        Wanted {
            key,
            rank: rank(key),
        }
    }
}

/// The first eight bytes of a key as a number, in the order of keys. Keys of equal rank may differ.
#[inline]
fn rank(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

/// Compares two keys of equal rank. Names differ within a few words, so a call of `memcmp` would
/// cost more than the comparison.
#[inline]
fn compare_rest(a: &[u8], b: &[u8]) -> Ordering {
    let mut at = 8;
    while at < a.len().max(b.len()) {
        match word(a, at).cmp(&word(b, at)) {
            Ordering::Equal => at += 8,
            other => return other,
        }
    }
    // Words are padded with zeros, and a key may end in zeros too: then the shorter one is first.
    a.len().cmp(&b.len())
}

/// The eight bytes from `at` on as a number, with zeros behind the end. `at` is not 0.
#[inline]
fn word(key: &[u8], at: usize) -> u64 {
    if let Some(whole) = key.get(at..).and_then(<[u8]>::first_chunk) {
        return u64::from_be_bytes(*whole);
    }
    let left = key.len().saturating_sub(at) as u32;
    match key.last_chunk() {
        Some(last) if left > 0 => u64::from_be_bytes(*last) << (64 - 8 * left),
        _ => 0,
    }
}

/// One page of a tree.
#[derive(Clone, Copy)]
pub(super) struct Page<'t>(pub &'t [u8; PAGE_BYTES]);

impl<'t> Page<'t> {
    pub fn number(&self) -> u64 {
        u64::from_ne_bytes(
            *self
                .0
                .first_chunk()
                .expect("a page begins with eight bytes"),
        )
    }

    /// Returns whether the keys, without the first `skipped` ones, rise from `from` to below `to`.
    pub fn is_in_order(&self, skipped: usize, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        let mut before = None;
        for at in skipped..self.count() {
            let Some(key) = self.node(at).and_then(|node| self.key(node)) else {
                return false;
            };
            let rises = before.is_none_or(|before| before < key);
            if !rises || from.is_some_and(|from| key < from) || to.is_some_and(|to| key >= to) {
                return false;
            }
            before = Some(key);
        }
        true
    }

    #[inline]
    pub fn u16(&self, at: usize) -> Option<usize> {
        Some(usize::from(u16::from_ne_bytes(
            *self.0.get(at..)?.first_chunk()?,
        )))
    }

    #[inline]
    pub fn flags(&self) -> u16 {
        u16::from_ne_bytes([self.0[10], self.0[11]])
    }

    /// Number of nodes.
    #[inline]
    pub fn count(&self) -> usize {
        let lower = usize::from(u16::from_ne_bytes([self.0[12], self.0[13]]));
        lower.saturating_sub(HEADER_BYTES) / 2
    }

    /// Returns the offset of a node.
    #[inline]
    pub fn node(&self, at: usize) -> Option<usize> {
        self.u16(HEADER_BYTES + 2 * at)
    }

    #[inline]
    pub fn key(&self, node: usize) -> Option<&'t [u8]> {
        let start = node + NODE_BYTES;
        self.0.get(start..start + self.u16(node + 6)?)
    }

    #[inline]
    pub fn rank(&self, at: usize) -> Option<u64> {
        self.rank_of(self.node(at)?)
    }

    #[inline]
    fn rank_of(&self, node: usize) -> Option<u64> {
        let length = self.u16(node + 6)?;
        let Some(first) = self
            .0
            .get(node + NODE_BYTES..)
            .and_then(<[u8]>::first_chunk)
        else {
            return self.key(node).map(rank);
        };
        let beyond = u64::MAX.checked_shr(8 * length as u32).unwrap_or(0);
        Some(u64::from_be_bytes(*first) & !beyond)
    }

    /// Returns the number of the page that a node of a branch page leads to.
    #[inline]
    pub fn child(&self, at: usize) -> Option<u64> {
        let node: [u8; 8] = *self.0.get(self.node(at)?..)?.first_chunk()?;
        // The number has 48 bits: two halves of a word and the place of the flags.
        Some(u64::from_le_bytes(node) & 0xFFFF_FFFF_FFFF)
    }

    /// Prefetches the header and the first offsets of a branch page.
    #[inline]
    pub fn announce(&self) {
        for line in 0..4 {
            prefetch(self.0.as_ptr().wrapping_add(line * LINE_BYTES));
        }
    }

    /// Prefetches the probable place of a node in a leaf filled with `count` appended nodes of
    /// equal length: its header, its offset, and the first lines of the node. Few leaves of a large
    /// tree are in the caches, and these lines are read one after another.
    #[inline]
    pub fn announce_node(&self, rank: u64, between: (u64, u64), count: usize) {
        let (_, at) = guess(0, count, rank, between);
        let free = PAGE_BYTES.saturating_sub(HEADER_BYTES + 2 * count);
        // Nodes are added from the end of the page downwards.
        let node = PAGE_BYTES.saturating_sub((at + 1) * free / count.max(1));
        let start = self.0.as_ptr();
        prefetch(start);
        prefetch(start.wrapping_add(HEADER_BYTES + 2 * at));
        for line in 0..3 {
            prefetch(start.wrapping_add((node + line * LINE_BYTES).min(PAGE_BYTES - 1)));
        }
    }

    /// The ranks of the first and the last key.
    #[inline]
    pub fn span(&self) -> (u64, u64) {
        let first = usize::from(self.flags() & PAGE_BRANCH != 0);
        let last = self.count().saturating_sub(1).max(first);
        (self.rank(first).unwrap_or(0), self.rank(last).unwrap_or(0))
    }

    /// Finds the first node from `from` on whose key is not less than the wanted one, and whether
    /// it is equal. `between`: bounds of the ranks of the page's keys.
    #[inline(always)]
    pub fn search(
        &self,
        from: usize,
        wanted: &Wanted<'_>,
        between: (u64, u64),
    ) -> Option<(usize, bool)> {
        let (mut low, mut high) = (from, self.count());
        let (guessed, mut at) = guess(low, high, wanted.rank, between);
        // The distance to look from a wrong guess.
        let mut stride = if guessed { 1 } else { PAGE_BYTES };
        while low < high {
            let node = self.node(at)?;
            let order = match self.rank_of(node)?.cmp(&wanted.rank) {
                Ordering::Equal => compare_rest(self.key(node)?, wanted.key),
                other => other,
            };
            at = match order {
                Ordering::Equal => return Some((at, true)),
                Ordering::Less => {
                    low = at + 1;
                    at + stride
                }
                Ordering::Greater => {
                    high = at;
                    at.wrapping_sub(stride)
                }
            };
            stride *= 4;
            if !(low..high).contains(&at) {
                at = low + (high - low) / 2;
            }
        }
        Some((low, false))
    }
}

/// The place between `low` and `high` to look at first: in proportion to the rank, if that tells
/// anything, and whether it does.
#[inline]
fn guess(low: usize, high: usize, rank: u64, between: (u64, u64)) -> (bool, usize) {
    let count = high.saturating_sub(low);
    if between.0 < rank && rank < between.1 {
        let part = (rank - between.0) as f64 * count as f64 / (between.1 - between.0) as f64;
        (true, low + (part as usize).min(count.saturating_sub(1)))
    } else {
        (false, low + count / 2)
    }
}

/// Prefetches the first cache lines of a value that will be read, `lines` at most.
#[inline]
pub fn prefetch_value(value: &[u8], lines: usize) {
    for line in value.chunks(LINE_BYTES).take(lines) {
        prefetch(line.as_ptr());
    }
}

/// Prefetches a cache line, so that several waits for memory overlap.
#[inline]
fn prefetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
