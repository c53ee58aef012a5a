//! Transactions: reading in all of them, writing in the one write transaction (`write.rs`).

mod marks;
mod write;

pub use write::{CommitSync, Put, WriteTransaction};

use std::cell::{OnceCell, RefCell};
use std::ffi::CString;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;

use lmdb_master_sys as ffi;

use self::marks::Marks;
use super::environment::{Environment, Statistics};
use super::pages::{Each, RowValues};
use super::trees::{TABLE_OF_TABLES, Trees};
use super::{Cursor, bytes, check, found, no_value, value};
use crate::error::Error;

/// A table's handle, valid for the environment it was opened in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    pub(super) handle: ffi::MDB_dbi,
    name: &'static str,
}

impl Table {
    /// LMDB's own list of free pages (`FREE_DBI`), which only read transactions can look at.
    pub(super) const FREE_PAGES: Table = Table {
        handle: 0,
        name: "free pages",
    };
}

/// The kind of a table to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOptions {
    /// One value per key.
    Plain,
    /// Many values of one length per key, sorted.
    FixedDuplicates,
}

impl TableOptions {
    fn flags(self) -> u32 {
        match self {
            TableOptions::Plain => 0,
            TableOptions::FixedDuplicates => ffi::MDB_DUPSORT | ffi::MDB_DUPFIXED,
        }
    }
}

/// Number of idle cursors that a read transaction keeps, so that a look-up allocates nothing.
const SPARE_CURSORS_MAX: usize = 8;

/// The reading part of read and write transactions.
#[derive(Debug)]
pub struct Transaction {
    raw: NonNull<ffi::MDB_txn>,
    /// Idle cursors for reading, which a dropped `Cursor` adds. Always empty in write transactions,
    /// whose cursors cannot be renewed.
    spare: RefCell<Vec<(Table, NonNull<ffi::MDB_cursor>)>>,
    keeps_cursors: bool,
    /// Trees for look-ups without LMDB; `None` in write transactions, whose pages may be dirty.
    trees: Option<Trees>,
    /// In a write transaction, the state before it.
    before: Option<Box<Before>>,
}

impl Transaction {
    fn new(raw: NonNull<ffi::MDB_txn>, keeps_cursors: bool, trees: Option<Trees>) -> Transaction {
        Transaction {
            raw,
            spare: RefCell::new(Vec::new()),
            keeps_cursors,
            trees,
            before: None,
        }
    }

    /// Id of the snapshot; in a write transaction the id that its commit will have.
    pub fn id(&self) -> u64 {
        // SAFETY: the handle is valid while `self` lives; a reset transaction answers 0.
        unsafe { ffi::mdb_txn_id(self.raw.as_ptr()) as u64 }
    }

    /// Returns the value of a key; in a table with duplicates the first one.
    ///
    /// # Errors
    /// Errors of LMDB.
    #[inline]
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        match self.find(table, key) {
            Some(RowValues::Value(value)) => Ok(Some(value)),
            Some(RowValues::Nothing) => Ok(None),
            _ => self.ask(table.handle, key),
        }
    }

    /// Looks up a key without LMDB's help; `None` if only LMDB can tell.
    #[inline]
    pub fn find(&self, table: Table, key: &[u8]) -> Option<RowValues<'_>> {
        let Some(trees) = self.trees.as_ref() else {
            return self.before.as_ref()?.find(table, key);
        };
        // SAFETY: the row is of the snapshot that this read transaction holds. If it holds none,
        // nothing is known of it and LMDB refuses the row. The snapshot is given up through
        // `&mut` access only, which the borrow of `self` excludes.
        unsafe { trees.find(table, key, || self.row_of(table)) }
    }

    /// Looks up rows that are about to be read, side by side, and leaves them in the caches of the
    /// processor. In a write transaction the values are those before it, or nothing: they serve to
    /// look up more rows in this way, and nothing else.
    pub fn announce(&self, table: Table, keys: &[&[u8]]) -> Each<Option<RowValues<'_>>> {
        match (&self.trees, &self.before) {
            // SAFETY: as in `find`.
            (Some(trees), _) => unsafe { trees.find_each(table, keys, || self.row_of(table)) },
            (None, Some(before)) => match before.state() {
                Some(state) => state.announce(table, keys),
                None => Each::new(),
            },
            (None, None) => Each::new(),
        }
    }

    /// Returns the row of a table in the table of tables, and the number of pages of the file.
    fn row_of(&self, table: Table) -> Option<(&[u8], u64)> {
        let row = self.ask(TABLE_OF_TABLES, table.name.as_bytes()).ok()??;
        Some((row, self.pages_max()?))
    }

    /// Returns whether the pages that lead to a key are well formed, for a key that was not found
    /// and that a damaged page may hide; `true` where only LMDB can tell.
    pub fn is_way_sound(&self, table: Table, key: &[u8]) -> bool {
        let trees = self.trees.as_ref();
        trees.is_none_or(|it| it.is_way_sound(table, key))
    }

    /// Returns the value of a key through LMDB.
    pub(super) fn ask(&self, table: ffi::MDB_dbi, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        let mut key = value(key);
        let mut data = no_value();
        // SAFETY: handle and table are valid; LMDB only reads through `key`.
        let code = unsafe { ffi::mdb_get(self.raw.as_ptr(), table, &mut key, &mut data) };
        // SAFETY: the bytes live until the transaction ends or changes, both of which need
        // `&mut` access that the returned borrow excludes.
        Ok(found(code)?.map(|()| unsafe { bytes(&data) }))
    }

    /// Reads a byte range of the file into memory. Does nothing before the first look-up, in a
    /// write transaction, and in a file that only LMDB can read.
    pub fn populate(&self, part: Range<u64>) {
        if let Some(pages) = self.trees.as_ref().and_then(Trees::pages) {
            // SAFETY: the transaction keeps the environment open.
            unsafe { pages.populate(part) };
        }
    }

    /// Number of pages of the file in the newest state, at least that of this snapshot.
    fn pages_max(&self) -> Option<u64> {
        let mut info = std::mem::MaybeUninit::<ffi::MDB_envinfo>::zeroed();
        // SAFETY: the transaction's environment is open, the place is valid for writes, and
        // all-zero bytes are a value of the type.
        let info = unsafe {
            let environment = ffi::mdb_txn_env(self.raw.as_ptr());
            check(ffi::mdb_env_info(environment, info.as_mut_ptr())).ok()?;
            info.assume_init()
        };
        Some(info.me_last_pgno as u64 + 1)
    }

    /// Returns a cursor for reading.
    ///
    /// # Errors
    /// Errors of LMDB.
    #[inline]
    pub fn cursor(&self, table: Table) -> Result<Cursor<'_>, Error> {
        if let Some(raw) = self.take_spare(table) {
            // SAFETY: the cursor belongs to a read transaction and to this table; renewing
            // re-initialises it for this transaction, whatever it was positioned on before.
            let code = unsafe { ffi::mdb_cursor_renew(self.raw.as_ptr(), raw.as_ptr()) };
            let cursor = Cursor::new(self, table, raw);
            return check(code).map(|()| cursor);
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: handle and table are valid and `raw` is a valid place.
        check(unsafe { ffi::mdb_cursor_open(self.raw.as_ptr(), table.handle, &mut raw) })?;
        let raw = NonNull::new(raw)
            .ok_or_else(|| Error::corrupt("environment", "mdb_cursor_open gave no handle"))?;
        Ok(Cursor::new(self, table, raw))
    }

    /// Figures of a table.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn statistics(&self, table: Table) -> Result<Statistics, Error> {
        let mut stat = std::mem::MaybeUninit::<ffi::MDB_stat>::zeroed();
        // SAFETY: handle and table are valid, the place is valid for writes, and all-zero bytes
        // are a value of the type.
        let stat = unsafe {
            check(ffi::mdb_stat(
                self.raw.as_ptr(),
                table.handle,
                stat.as_mut_ptr(),
            ))?;
            stat.assume_init()
        };
        let pages = stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
        Ok(Statistics {
            depth: stat.ms_depth,
            pages: pages as u64,
            rows: stat.ms_entries as u64,
        })
    }

    fn take_spare(&self, table: Table) -> Option<NonNull<ffi::MDB_cursor>> {
        let mut spare = self.spare.borrow_mut();
        let at = spare.iter().position(|(of, _)| *of == table)?;
        Some(spare.swap_remove(at).1)
    }

    /// Keeps an idle cursor for reuse; `false` if the caller must close it.
    pub(super) fn keep(&self, table: Table, cursor: NonNull<ffi::MDB_cursor>) -> bool {
        let mut spare = self.spare.borrow_mut();
        let keep = self.keeps_cursors && spare.len() < SPARE_CURSORS_MAX;
        if keep {
            spare.push((table, cursor));
        }
        keep
    }

    fn close_spare(&mut self) {
        for (_, cursor) in self.spare.get_mut().drain(..) {
            // SAFETY: cursors of read transactions are closed by their user, before or after the
            // transaction's end (`lmdb.h`, mdb_cursor_open), and nobody else has this one.
            unsafe { ffi::mdb_cursor_close(cursor.as_ptr()) };
        }
    }
}

/// The state before a write transaction, in which rows that the transaction has not changed are
/// looked up: its pages are read without LMDB's cursors (`pages.rs`), which costs a fraction. No
/// other transaction can commit meanwhile, and LMDB gives no page of the newest committed state to
/// the transaction that follows it.
#[derive(Debug)]
struct Before {
    environment: Arc<Environment>,
    /// The transaction that holds the state, begun with the first look-up; `None` if LMDB has no
    /// place for one more reader.
    state: OnceCell<Option<ReadTransaction>>,
    changed: Marks,
}

impl Before {
    /// Must be called while the write transaction is open, so that no other one commits.
    fn new(environment: &Arc<Environment>) -> Before {
        Before {
            environment: Arc::clone(environment),
            state: OnceCell::new(),
            changed: Marks::default(),
        }
    }

    /// Looks up a key; `None` if its row may have changed, or only LMDB can tell.
    #[inline]
    fn find(&self, table: Table, key: &[u8]) -> Option<RowValues<'_>> {
        match self.changed.has(table.handle, key) {
            true => None,
            false => self.state()?.find(table, key),
        }
    }

    /// The state; `None` if it cannot be read.
    fn state(&self) -> Option<&ReadTransaction> {
        let begin = || ReadTransaction::begin(&self.environment).ok();
        self.state.get_or_init(begin).as_ref()
    }
}

fn begin(
    environment: &Environment,
    parent: Option<NonNull<ffi::MDB_txn>>,
    flags: u32,
) -> Result<NonNull<ffi::MDB_txn>, Error> {
    let parent = parent.map_or(std::ptr::null_mut(), NonNull::as_ptr);
    let mut raw = std::ptr::null_mut();
    // SAFETY: the environment is open, `parent` is null or its active write transaction, and `raw`
    // is a valid place for the handle.
    check(unsafe { ffi::mdb_txn_begin(environment.raw(), parent, flags, &mut raw) })?;
    NonNull::new(raw).ok_or_else(|| Error::corrupt("environment", "mdb_txn_begin gave no handle"))
}

fn open_table(
    transaction: NonNull<ffi::MDB_txn>,
    name: &'static str,
    flags: u32,
) -> Result<Table, Error> {
    let text = CString::new(name).map_err(|_| Error::conflict("zero byte in a table name"))?;
    let mut handle = 0;
    let raw = transaction.as_ptr();
    // SAFETY: the handle is valid, the name NUL-terminated, `handle` a valid place. No two
    // transactions open tables at once: the write transaction does, or the one that looks into an
    // environment which only reads, before anybody else knows of it.
    check(unsafe { ffi::mdb_dbi_open(raw, text.as_ptr(), flags, &mut handle) })?;
    Ok(Table { handle, name })
}

/// A read transaction: it holds one snapshot until it is reset and renewed.
#[derive(Debug)]
pub struct ReadTransaction {
    inner: Transaction,
    /// Whether a snapshot is held: not between `reset` and `renew`.
    active: bool,
    /// The environment. It stands last: it is dropped after the transaction's end.
    _environment: Arc<Environment>,
}

// SAFETY: with MDB_NOTLS a read transaction and its cursors belong to no thread (`lmdb.h`,
// MDB_NOTLS); they must only not be used by two threads at once, and the type is not `Sync`.
unsafe impl Send for ReadTransaction {}

impl ReadTransaction {
    /// Begins a read transaction on the newest committed state.
    ///
    /// # Errors
    /// Errors of LMDB, e.g. that there are too many readers.
    pub fn begin(environment: &Arc<Environment>) -> Result<ReadTransaction, Error> {
        let inner = Transaction::new(
            begin(environment, None, ffi::MDB_RDONLY)?,
            true,
            Trees::new(environment),
        );
        let mut it = ReadTransaction {
            inner,
            active: true,
            _environment: Arc::clone(environment),
        };
        it.look();
        Ok(it)
    }

    /// Opens tables of an environment that was opened for reading only and is not shared yet.
    /// Tables that are missing are an error.
    ///
    /// # Errors
    /// Errors of LMDB, and what `open` does.
    pub fn open_tables<T>(
        environment: &Environment,
        open: impl FnOnce(
            &mut dyn FnMut(&'static str, TableOptions) -> Result<Table, Error>,
        ) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let raw = begin(environment, None, ffi::MDB_RDONLY)?;
        let opened = open(&mut |name, options| open_table(raw, name, options.flags()));
        // SAFETY: the transaction is valid and not used again. Its commit keeps the tables open.
        unsafe {
            match &opened {
                Ok(_) => check(ffi::mdb_txn_commit(raw.as_ptr()))?,
                Err(_) => ffi::mdb_txn_abort(raw.as_ptr()),
            }
        }
        opened
    }

    /// Lets look-ups read the pages of the snapshot from now on.
    fn look(&mut self) {
        let version = self.inner.id();
        if let Some(trees) = &mut self.inner.trees {
            trees.hold(version);
        }
    }

    /// Returns whether a snapshot is held.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Gives up the snapshot but keeps the reader slot.
    pub fn reset(&mut self) {
        if self.active {
            if let Some(trees) = &mut self.inner.trees {
                trees.give_up();
            }
            // SAFETY: the handle is valid and active; nothing borrowed from it is left, because
            // of `&mut self`.
            unsafe { ffi::mdb_txn_reset(self.inner.raw.as_ptr()) };
            self.active = false;
        }
    }

    /// Takes a snapshot of the newest committed state, unless one is held.
    ///
    /// # Errors
    /// Errors of LMDB.
    #[inline]
    pub fn renew(&mut self) -> Result<(), Error> {
        if !self.active {
            // SAFETY: the handle is valid and was reset.
            check(unsafe { ffi::mdb_txn_renew(self.inner.raw.as_ptr()) })?;
            self.active = true;
            self.look();
        }
        Ok(())
    }
}

impl Deref for ReadTransaction {
    type Target = Transaction;

    /// After `reset`, LMDB answers reads with an error, not with bytes.
    #[inline]
    fn deref(&self) -> &Transaction {
        &self.inner
    }
}

impl Drop for ReadTransaction {
    fn drop(&mut self) {
        self.inner.close_spare();
        // SAFETY: the handle is valid, not used again, and nothing borrowed from it is left.
        unsafe { ffi::mdb_txn_abort(self.inner.raw.as_ptr()) };
    }
}
