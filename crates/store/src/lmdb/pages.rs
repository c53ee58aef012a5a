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

mod page;

use std::cell::Cell;
use std::ffi::c_int;
use std::ops::Range;

use smallvec::SmallVec;

pub use self::page::prefetch_value;
use self::page::{Page, Wanted};
use crate::page_layout::{
    DEPTH_MAX, HEADER_BYTES, NO_PAGE, NODE_BYTES, NODE_ITEMS, NODE_OVERFLOW, NODE_TREE,
    PAGE_BRANCH, PAGE_FIXED_ITEMS, PAGE_LEAF,
};

/// Bytes of a page. A database with another page size is left to LMDB.
pub(super) const PAGE_BYTES: usize = 4096;
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

/// Number of look-ups side by side that need no memory of their own.
const EACH: usize = 16;
/// Results of look-ups side by side.
pub(super) type Each<T> = SmallVec<[T; EACH]>;

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
        // SAFETY: the caller vouches for the snapshot, here and below.
        let mut way = Way::from_root(unsafe { self.page(root) }?, key);
        for level in 1..=DEPTH_MAX {
            if way.is_at_leaf() {
                let count = way.page.count() as u16;
                if count != leaf_count {
                    tree.set(Tree {
                        leaf_count: count,
                        ..tree.get()
                    });
                }
                // SAFETY: as above.
                return unsafe { self.in_leaf(&way) };
            }
            // SAFETY: as above.
            unsafe { self.descend(&mut way) }?;
            if level + 1 == usize::from(depth) {
                way.announce_node(usize::from(leaf_count));
            }
        }
        None
    }

    /// Looks up keys of one tree side by side, level by level, so that their waits for memory
    /// overlap, and announces the values found. An element of the result is `None` for malformed
    /// pages.
    ///
    /// # Safety
    /// The errors of [`Pages::find`].
    pub unsafe fn find_each<'t>(
        &self,
        tree: &Cell<Tree>,
        keys: &[&[u8]],
    ) -> Each<Option<RowValues<'t>>> {
        let Tree {
            root,
            depth,
            leaf_count,
        } = tree.get();
        // SAFETY: the caller vouches for the snapshot, here and below.
        let top = unsafe { self.page(root) };
        let mut ways = Each::new();
        for key in keys {
            ways.push(top.map(|top| Way::from_root(top, key)));
        }
        for level in 1..usize::from(depth).min(DEPTH_MAX) {
            for slot in &mut ways {
                let Some(way) = slot.as_mut().filter(|way| !way.is_at_leaf()) else {
                    continue;
                };
                // SAFETY: as above.
                match unsafe { self.descend(way) } {
                    Some(()) if level + 1 == usize::from(depth) => {
                        way.announce_node(usize::from(leaf_count));
                    }
                    Some(()) => way.page.announce(),
                    None => *slot = None,
                }
            }
        }
        // SAFETY: as above.
        let end = |way: &Option<Way<'_, 't>>| unsafe { self.in_leaf(way.as_ref()?) };
        ways.iter().map(end).collect()
    }

    /// Goes from a branch page on to its child that leads to the key; `None` for malformed pages.
    ///
    /// # Safety
    /// The errors of [`Pages::find`].
    #[inline]
    unsafe fn descend(&self, way: &mut Way<'_, '_>) -> Option<()> {
        let page = way.page;
        // The first child of a branch page holds everything below its second key.
        let (at, exact) = page.search(1, &way.wanted, way.between)?;
        let child = if exact { at } else { at - 1 };
        if child > 0 {
            way.between.0 = page.rank(child)?;
        }
        if child + 1 < page.count() {
            way.between.1 = page.rank(child + 1)?;
        }
        // SAFETY: the caller vouches for the snapshot.
        way.page = unsafe { self.page(page.child(child)?) }?;
        Some(())
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
    unsafe fn in_leaf<'t>(&self, way: &Way<'_, 't>) -> Option<RowValues<'t>> {
        let page = way.page;
        if page.flags() & (PAGE_LEAF | PAGE_FIXED_ITEMS) != PAGE_LEAF {
            return None;
        }
        let (at, exact) = page.search(0, &way.wanted, way.between)?;
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
                prefetch_value(value, 4);
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

/// A descent to a key, at one page of it.
struct Way<'k, 't> {
    wanted: Wanted<'k>,
    page: Page<'t>,
    /// Bounds of the ranks of the page's keys.
    between: (u64, u64),
}

impl<'k, 't> Way<'k, 't> {
    #[inline]
    fn from_root(page: Page<'t>, key: &'k [u8]) -> Way<'k, 't> {
        Way {
            wanted: Wanted::new(key),
            page,
            between: page.span(),
        }
    }

    #[inline]
    fn is_at_leaf(&self) -> bool {
        self.page.flags() & PAGE_BRANCH == 0
    }

    /// Prefetches the probable place of the key in a leaf of `count` nodes.
    #[inline]
    fn announce_node(&self, count: usize) {
        self.page
            .announce_node(self.wanted.rank, self.between, count);
    }
}

#[cfg(test)]
mod tests;
