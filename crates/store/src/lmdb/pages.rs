//! Lookups in the pages of the map, without LMDB's cursors.
//!
//! LMDB's look-up serves every case: dirty pages, nested transactions, any order of keys, a binary
//! search through a comparison function. A read transaction needs none of that: its pages lie in
//! the map and do not change while it holds its snapshot. Reading them here costs a fifth of the
//! instructions and, which matters more in a large database, touches few cache lines of a page:
//! where neighbouring keys are numbers (ids, hashes) the place of a key is guessed by
//! interpolation.
//!
//! The layout read here is that of data version 1 of LMDB (`mdb.c`: MDB_page, MDB_node, MDB_db).
//! Anything unexpected (another version or page size, a tree for the items of one key) is left to
//! LMDB. Every offset is checked, so damage gives an error or a wrong answer, never a read outside
//! of a page; only a page number beyond the end of a truncated file faults, as it does in LMDB.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ffi::c_int;
use std::ops::Range;

use crate::page_layout::{
    DEPTH_MAX, HEADER_BYTES, NO_PAGE, NODE_BYTES, NODE_ITEMS, NODE_OVERFLOW, NODE_TREE,
    PAGE_BRANCH, PAGE_FIXED_ITEMS, PAGE_LEAF,
};

/// Bytes of a page. A database with another page size is left to LMDB.
pub(super) const PAGE_BYTES: usize = 4096;
/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Bytes asked for at once: of more, Linux reads only as many as its device reads ahead.
const READ_AHEAD_BYTES: u64 = 128 << 10;
/// A tree, with figures that speed up look-ups.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    /// Number of the root page.
    pub root: u64,
    /// Number of pages from the root to a leaf.
    pub depth: u16,
    /// Number of nodes of the leaf read last.
    pub leaf_count: u16,
}

/// The values of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowValues<'t> {
    /// No row.
    Nothing,
    /// One value.
    Value(&'t [u8]),
    /// Several items of one length, concatenated.
    Items(&'t [u8]),
    /// So many items that they have a tree of their own, which a cursor must walk.
    Tree,
}

/// The pages of one snapshot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pages {
    base: *const u8,
    /// Number of pages of the file.
    count: u64,
}

impl Pages {
    /// Finds the map from a row of a read transaction that lies in it: every page begins with its
    /// number. `None` when the row is not in a leaf page.
    ///
    /// # Safety
    /// `row` must lie in a leaf page of the map that LMDB reads pages of [`PAGE_BYTES`] from, and
    /// `count` be at most the number of pages of the file.
    pub unsafe fn around(row: &[u8], count: u64) -> Option<Pages> {
        let at = row.as_ptr() as usize % PAGE_BYTES;
        // SAFETY: the row lies in a page, and pages begin at multiples of their size.
        let start = unsafe { row.as_ptr().sub(at) };
        // SAFETY: `start` is where the page of the row begins, and the page is in the map. The
        // snapshot that the row was read from keeps it from changing.
        let page = Page(unsafe { &*start.cast::<[u8; PAGE_BYTES]>() });
        let number = u64::from_ne_bytes(*page.0.first_chunk()?);
        if page.flags() != PAGE_LEAF || number >= count {
            return None;
        }
        // SAFETY: page 0 is the beginning of the map.
        let base = unsafe { start.sub(number as usize * PAGE_BYTES) };
        Some(Pages { base, count })
    }

    /// Reads a byte range of the file into memory and the map, and asks for the range behind it to
    /// be read ahead. Does nothing on systems without the calls.
    ///
    /// # Safety
    /// The file must still be mapped.
    pub unsafe fn populate(&self, part: Range<u64>) {
        let file_bytes = self.count * PAGE_BYTES as u64;
        let advise = |part: Range<u64>, advice: c_int| {
            let (begin, end) = (part.start.min(file_bytes), part.end.min(file_bytes));
            // SAFETY: the range lies in the map, and the two kinds of advice only read.
            unsafe {
                let begin_at = self.base.add(begin as usize).cast_mut().cast();
                libc::madvise(begin_at, (end - begin) as usize, advice)
            };
        };
        // What was not read ahead is read page by page, at a tenth of the speed: `part`, too, is
        // asked for, as nobody may have done so before.
        let mut begin = part.start;
        while begin < part.end + (part.end - part.start) {
            advise(begin..begin + READ_AHEAD_BYTES, libc::MADV_WILLNEED);
            begin += READ_AHEAD_BYTES;
        }
        advise(part, libc::MADV_POPULATE_READ);
    }

    /// Returns a page.
    ///
    /// # Safety
    /// The snapshot that has the page must be held for `'t`.
    unsafe fn page<'t>(&self, number: u64) -> Option<Page<'t>> {
        let start = self.run(number, 1)?;
        // SAFETY: the page lies within the file, hence in the map; pages of a snapshot do not
        // change as long as it is held.
        Some(Page(unsafe { &*start.cast::<[u8; PAGE_BYTES]>() }))
    }

    /// Returns the start of a run of pages, if it lies within the file. The first two pages belong
    /// to no tree.
    fn run(&self, number: u64, count: u64) -> Option<*const u8> {
        let inside = number >= 2 && number.checked_add(count)? <= self.count;
        // SAFETY: the file is mapped as a whole, so the offset stays inside of the map.
        inside.then(|| unsafe { self.base.add(number as usize * PAGE_BYTES) })
    }

    /// Looks up a key in a tree; `None` for malformed pages.
    ///
    /// # Safety
    /// The tree must be one of a snapshot that is held for `'t`.
    #[inline]
    pub unsafe fn find<'t>(&self, tree: &Cell<Tree>, key: &[u8]) -> Option<RowValues<'t>> {
        let Tree {
            root,
            depth,
            leaf_count,
        } = tree.get();
        if root == NO_PAGE {
            return Some(RowValues::Nothing);
        }
        let wanted = Wanted {
            key,
            rank: rank(key),
        };
        // SAFETY: the caller vouches for the snapshot, here and below.
        let mut page = unsafe { self.page(root) }?;
        let mut between = page.span();
        for level in 1..=DEPTH_MAX {
            if page.flags() & PAGE_BRANCH == 0 {
                let count = page.count() as u16;
                if count != leaf_count {
                    tree.set(Tree {
                        leaf_count: count,
                        ..tree.get()
                    });
                }
                // SAFETY: as above.
                return unsafe { self.in_leaf(page, &wanted, between) };
            }
            // The first child of a branch page holds everything below its second key.
            let (at, exact) = page.search(1, &wanted, between)?;
            let child = if exact { at } else { at - 1 };
            between.0 = if child > 0 {
                page.rank(child)?
            } else {
                between.0
            };
            if child + 1 < page.count() {
                between.1 = page.rank(child + 1)?;
            }
            // SAFETY: as above.
            page = unsafe { self.page(page.child(child)?) }?;
            if level + 1 == usize::from(depth) {
                page.announce_node(wanted.rank, between, usize::from(leaf_count));
            }
        }
        None
    }

    /// Returns whether each page on the way to a key is the one that its parent means: it has the
    /// number that leads to it, and its keys lie between those of the parent. For a key that was
    /// not found, which damage may hide.
    ///
    /// # Safety
    /// The errors of [`Pages::find`].
    #[cold]
    pub unsafe fn is_way_sound(&self, tree: Tree, key: &[u8]) -> bool {
        let (mut number, mut from, mut to) = (tree.root, None, None);
        for _ in 1..=DEPTH_MAX {
            if number == NO_PAGE {
                return true;
            }
            // SAFETY: the caller vouches for the snapshot.
            let Some(page) = (unsafe { self.page(number) }) else {
                return false;
            };
            let is_branch = page.flags() & PAGE_BRANCH != 0;
            if page.number() != number || !page.is_in_order(usize::from(is_branch), from, to) {
                return false;
            }
            if !is_branch {
                return true;
            }
            let keys = |at: usize| page.node(at).and_then(|node| page.key(node));
            let behind = (1..page.count()).take_while(|at| keys(*at) <= Some(key));
            let child = behind.last().unwrap_or(0);
            from = if child > 0 { keys(child) } else { from };
            to = keys(child + 1).filter(|_| child + 1 < page.count()).or(to);
            number = page.child(child).unwrap_or(0);
        }
        false
    }

    /// # Safety
    /// The errors of [`Pages::find`].
    #[inline]
    unsafe fn in_leaf<'t>(
        &self,
        page: Page<'t>,
        wanted: &Wanted<'_>,
        between: (u64, u64),
    ) -> Option<RowValues<'t>> {
        if page.flags() & (PAGE_LEAF | PAGE_FIXED_ITEMS) != PAGE_LEAF {
            return None;
        }
        let (at, exact) = page.search(0, wanted, between)?;
        if !exact {
            return Some(RowValues::Nothing);
        }
        let node = page.node(at)?;
        let data = node + NODE_BYTES + page.u16(node + 6)?;
        let length = page.u16(node)? | page.u16(node + 2)? << 16;
        match page.u16(node + 4)? as u16 {
            0 => Some(RowValues::Value(page.0.get(data..data + length)?)),
            NODE_OVERFLOW => {
                let number = u64::from_ne_bytes(*page.0.get(data..)?.first_chunk()?);
                let pages = (HEADER_BYTES + length).div_ceil(PAGE_BYTES);
                let start = self.run(number, pages as u64)?;
                // SAFETY: the run lies within the map and is part of the snapshot.
                let value = unsafe { std::slice::from_raw_parts(start.add(HEADER_BYTES), length) };
                announce(value);
                Some(RowValues::Value(value))
            }
            NODE_ITEMS => inner_items(page.0.get(data..data + length)?).map(RowValues::Items),
            flags if flags == NODE_ITEMS | NODE_TREE => Some(RowValues::Tree),
            _ => None,
        }
    }
}

/// Returns the items of a page inside a row.
fn inner_items(inner: &[u8]) -> Option<&[u8]> {
    let u16_at = |at: usize| {
        Some(usize::from(u16::from_ne_bytes(
            *inner.get(at..)?.first_chunk()?,
        )))
    };
    if u16_at(10)? as u16 & PAGE_FIXED_ITEMS == 0 {
        return None;
    }
    let bytes = u16_at(8)? * (u16_at(12)?.checked_sub(HEADER_BYTES)? / 2);
    inner.get(HEADER_BYTES..HEADER_BYTES + bytes)
}

/// The key to find.
struct Wanted<'k> {
    key: &'k [u8],
    rank: u64,
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
struct Page<'t>(&'t [u8; PAGE_BYTES]);

impl<'t> Page<'t> {
    fn number(&self) -> u64 {
        u64::from_ne_bytes(
            *self
                .0
                .first_chunk()
                .expect("a page begins with eight bytes"),
        )
    }

    /// Returns whether the keys, without the first `skipped` ones, rise from `from` to below `to`.
    fn is_in_order(&self, skipped: usize, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
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
    fn u16(&self, at: usize) -> Option<usize> {
        Some(usize::from(u16::from_ne_bytes(
            *self.0.get(at..)?.first_chunk()?,
        )))
    }

    #[inline]
    fn flags(&self) -> u16 {
        u16::from_ne_bytes([self.0[10], self.0[11]])
    }

    /// Number of nodes.
    #[inline]
    fn count(&self) -> usize {
        let lower = usize::from(u16::from_ne_bytes([self.0[12], self.0[13]]));
        lower.saturating_sub(HEADER_BYTES) / 2
    }

    /// Returns the offset of a node.
    #[inline]
    fn node(&self, at: usize) -> Option<usize> {
        self.u16(HEADER_BYTES + 2 * at)
    }

    #[inline]
    fn key(&self, node: usize) -> Option<&'t [u8]> {
        let start = node + NODE_BYTES;
        self.0.get(start..start + self.u16(node + 6)?)
    }

    #[inline]
    fn rank(&self, at: usize) -> Option<u64> {
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
    fn child(&self, at: usize) -> Option<u64> {
        let node: [u8; 8] = *self.0.get(self.node(at)?..)?.first_chunk()?;
        // The number has 48 bits: two halves of a word and the place of the flags.
        Some(u64::from_le_bytes(node) & 0xFFFF_FFFF_FFFF)
    }

    /// Prefetches the probable place of a node in a leaf filled with `count` appended nodes of
    /// equal length: its header, its offset, and the first lines of the node. Few leaves of a large
    /// tree are in the caches, and these lines are read one after another.
    #[inline]
    fn announce_node(&self, rank: u64, between: (u64, u64), count: usize) {
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
    fn span(&self) -> (u64, u64) {
        let first = usize::from(self.flags() & PAGE_BRANCH != 0);
        let last = self.count().saturating_sub(1).max(first);
        (self.rank(first).unwrap_or(0), self.rank(last).unwrap_or(0))
    }

    /// Finds the first node from `from` on whose key is not less than the wanted one, and whether
    /// it is equal. `between`: bounds of the ranks of the page's keys.
    #[inline]
    fn search(
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

/// Prefetches the beginning of a value that will be read.
#[inline]
fn announce(value: &[u8]) {
    for line in value.chunks(LINE_BYTES).take(4) {
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

#[cfg(test)]
mod tests;
