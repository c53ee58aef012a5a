//! The roots of the trees in the snapshot that a read transaction holds.

use std::cell::Cell;
use std::ffi::c_int;

use lmdb_master_sys as ffi;

use super::environment::Environment;
use super::pages::{Each, PAGE_BYTES, Pages, RowValues, Tree};
use super::transaction::Table;

/// The table with a row for each other table (`MAIN_DBI`).
pub(super) const TABLE_OF_TABLES: ffi::MDB_dbi = 1;
/// Number of table handles with a cached tree; tables with greater handles are left to LMDB.
const TABLES: usize = 24;
/// Bytes of a table's row, and the offsets of depth and root in it (`MDB_db`).
const ROW_BYTES: usize = 48;
const DEPTH_AT: usize = 6;
const ROOT_AT: usize = 40;
/// A tree not looked up yet; page 0 belongs to no tree.
const UNKNOWN: Tree = Tree {
    root: 0,
    depth: 0,
    leaf_count: 0,
};

/// The trees of tables in one snapshot, looked up as needed.
#[derive(Debug)]
pub(super) struct Trees {
    /// Id of the snapshot that the trees belong to.
    version: u64,
    /// Whether the snapshot is held.
    held: bool,
    /// The pages of the snapshot; `None` before the first look-up.
    pages: Cell<Option<Pages>>,
    /// The trees by table handle.
    trees: [Cell<Tree>; TABLES],
}

impl Trees {
    /// Returns empty trees; `None` when the database is not laid out as [`super::pages`] reads it.
    pub fn new(environment: &Environment) -> Option<Trees> {
        let (mut major, mut minor): (c_int, c_int) = (0, 0);
        // SAFETY: both places are valid; LMDB skips the null one.
        unsafe { ffi::mdb_version(&mut major, &mut minor, std::ptr::null_mut()) };
        // Every LMDB 0.9 writes data version 1, and refuses to open another.
        let known = (major, minor) == (0, 9)
            && cfg!(all(target_pointer_width = "64", target_endian = "little"))
            && environment.page_bytes() == Some(PAGE_BYTES);
        known.then(|| Trees {
            version: 0,
            held: false,
            pages: Cell::new(None),
            trees: [const { Cell::new(UNKNOWN) }; TABLES],
        })
    }

    /// Notes that a snapshot is held from now on. The trees of the same version stay, so that a
    /// thread woken by each request looks them up again only after a write.
    pub fn hold(&mut self, version: u64) {
        self.held = true;
        if self.version != version {
            self.version = version;
            self.pages.set(None);
            self.trees.iter_mut().for_each(|it| it.set(UNKNOWN));
        }
    }

    /// Notes that the snapshot is given up: its pages may change.
    pub fn give_up(&mut self) {
        self.held = false;
    }

    /// Looks up a key of a table; `None` if only LMDB can tell. `row` returns the table's row in
    /// the table of tables, and the number of pages of the file.
    ///
    /// # Safety
    /// The snapshot must be held for `'t`, and `row` answer from it.
    #[inline]
    pub unsafe fn find<'t>(
        &self,
        table: Table,
        key: &[u8],
        row: impl FnOnce() -> Option<(&'t [u8], u64)>,
    ) -> Option<RowValues<'t>> {
        // SAFETY: the caller vouches for the row.
        let (pages, tree) = unsafe { self.tree(table, row) }?;
        // SAFETY: the caller vouches for the snapshot, and the tree is of it: another version
        // forgets it.
        unsafe { pages.find(tree, key) }
    }

    /// Looks up keys of a table side by side; an element of the result is `None` if only LMDB can
    /// tell.
    ///
    /// # Safety
    /// The errors of [`Trees::find`].
    pub unsafe fn find_each<'t>(
        &self,
        table: Table,
        keys: &[&[u8]],
        row: impl FnOnce() -> Option<(&'t [u8], u64)>,
    ) -> Each<Option<RowValues<'t>>> {
        // SAFETY: the caller vouches for the row.
        match unsafe { self.tree(table, row) } {
            // SAFETY: as in `find`.
            Some((pages, tree)) => unsafe { pages.find_each(tree, keys) },
            None => Each::new(),
        }
    }

    /// Returns the tree of a table.
    ///
    /// # Safety
    /// The errors of [`Trees::find`].
    #[inline]
    unsafe fn tree<'t>(
        &self,
        table: Table,
        row: impl FnOnce() -> Option<(&'t [u8], u64)>,
    ) -> Option<(Pages, &Cell<Tree>)> {
        let tree = self
            .trees
            .get(table.handle as usize)
            .filter(|_| self.held)?;
        if tree.get().root == UNKNOWN.root {
            // SAFETY: the caller vouches for the row.
            unsafe { self.learn(tree, row()?)? };
        }
        Some((self.pages.get()?, tree))
    }

    /// Returns whether the pages on the way to a key of a table, which was looked up before, are
    /// well formed; `true` when only LMDB can tell.
    pub fn is_way_sound(&self, table: Table, key: &[u8]) -> bool {
        let tree = self.trees.get(table.handle as usize).map(Cell::get);
        let known = tree.filter(|it| self.held && it.root != UNKNOWN.root);
        known.zip(self.pages.get()).is_none_or(|(tree, pages)| {
            // SAFETY: the snapshot is held, and the tree is of it.
            unsafe { pages.is_way_sound(tree, key) }
        })
    }

    /// The pages of the file; `None` before the first look-up.
    pub fn pages(&self) -> Option<Pages> {
        self.pages.get().filter(|_| self.held)
    }

    /// # Safety
    /// The errors of [`Trees::find`].
    #[cold]
    unsafe fn learn(&self, tree: &Cell<Tree>, row: (&[u8], u64)) -> Option<()> {
        let (row, count) = row;
        if row.len() != ROW_BYTES {
            return None;
        }
        if self.pages.get().is_none() {
            // SAFETY: the row is small, so it lies in a leaf page of the map.
            self.pages.set(Some(unsafe { Pages::around(row, count) }?));
        }
        tree.set(Tree {
            root: u64::from_ne_bytes(*row.get(ROOT_AT..)?.first_chunk()?),
            depth: u16::from_ne_bytes(*row.get(DEPTH_AT..)?.first_chunk()?),
            leaf_count: 0,
        });
        Some(())
    }
}
