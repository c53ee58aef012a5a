//! Transactions: reading in all of them, writing in the one write transaction.

use std::cell::RefCell;
use std::ffi::CString;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;

use lmdb_master_sys as ffi;

use super::environment::{Environment, Statistics};
use super::pages::Found;
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

/// What kind of table to open.
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

/// How to put a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// Replace what is there. In a table with duplicates: add the value if it is not there.
    Upsert,
    /// The key is greater than every other: skip the search and fill pages completely.
    Append,
    /// The key is the greatest, and the value the greatest of the key.
    AppendDuplicate,
}

impl Put {
    fn flags(self) -> u32 {
        match self {
            Put::Upsert => 0,
            Put::Append => ffi::MDB_APPEND,
            Put::AppendDuplicate => ffi::MDB_APPENDDUP,
        }
    }
}

/// When a commit becomes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitSync {
    /// With the commit.
    Now,
    /// With the next [`Environment::sync`]: what the disk holds in between is not a database.
    Later,
}

/// Cursors a read transaction keeps for the next user, so that a lookup allocates nothing.
const SPARE_CURSORS_MAX: usize = 8;

/// What reading needs, in read and write transactions alike.
#[derive(Debug)]
pub struct Transaction {
    raw: NonNull<ffi::MDB_txn>,
    /// Closed over to `Cursor::drop`: read cursors not in use. Always empty in write transactions,
    /// whose cursors cannot be renewed.
    spare: RefCell<Vec<(Table, NonNull<ffi::MDB_cursor>)>>,
    keeps_cursors: bool,
    /// For lookups without LMDB; `None` in write transactions, whose pages may be in memory.
    trees: Option<Trees>,
}

impl Transaction {
    fn new(raw: NonNull<ffi::MDB_txn>, keeps_cursors: bool, trees: Option<Trees>) -> Transaction {
        Transaction {
            raw,
            spare: RefCell::new(Vec::new()),
            keeps_cursors,
            trees,
        }
    }

    /// The id of the snapshot; in a write transaction the id it will have.
    pub fn id(&self) -> u64 {
        // SAFETY: the handle is valid while `self` lives; a reset transaction answers 0.
        unsafe { ffi::mdb_txn_id(self.raw.as_ptr()) as u64 }
    }

    /// The value of a key; in a table with duplicates the first one.
    ///
    /// # Errors
    /// What LMDB says.
    #[inline]
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        match self.find(table, key) {
            Some(Found::Value(value)) => Ok(Some(value)),
            Some(Found::Nothing) => Ok(None),
            _ => self.ask(table.handle, key),
        }
    }

    /// What a key has, if that can be seen without LMDB's help.
    #[inline]
    pub fn find(&self, table: Table, key: &[u8]) -> Option<Found<'_>> {
        let trees = self.trees.as_ref()?;
        let row = || {
            let row = self.ask(TABLE_OF_TABLES, table.name.as_bytes()).ok()??;
            Some((row, self.pages_max()?))
        };
        // SAFETY: the row is of the snapshot that this read transaction holds. If it holds none,
        // nothing is known of it and LMDB refuses the row. The snapshot is given up through
        // `&mut` access only, which the borrow of `self` excludes.
        unsafe { trees.find(table, key, row) }
    }

    /// The value of a key by LMDB's own way.
    pub(super) fn ask(&self, table: ffi::MDB_dbi, key: &[u8]) -> Result<Option<&[u8]>, Error> {
        let mut key = value(key);
        let mut data = no_value();
        // SAFETY: handle and table are valid; LMDB only reads through `key`.
        let code = unsafe { ffi::mdb_get(self.raw.as_ptr(), table, &mut key, &mut data) };
        // SAFETY: the bytes live until the transaction ends or changes, both of which need
        // `&mut` access that the returned borrow excludes.
        Ok(found(code)?.map(|()| unsafe { bytes(&data) }))
    }

    /// Reads a part of the file, in bytes, into memory. Nothing happens before a key was looked up,
    /// in a write transaction, and in a file that LMDB alone can read.
    pub fn populate(&self, part: Range<u64>) {
        if let Some(pages) = self.trees.as_ref().and_then(Trees::pages) {
            // SAFETY: the transaction keeps the environment open.
            unsafe { pages.populate(part) };
        }
    }

    /// Pages of the file in the newest state, which has at least those of this snapshot.
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

    /// A cursor for reading.
    ///
    /// # Errors
    /// What LMDB says.
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
    /// What LMDB says.
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

    /// Takes back a cursor; `false` if the caller has to close it.
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

/// A read transaction: one snapshot, until it is reset and renewed.
#[derive(Debug)]
pub struct ReadTransaction {
    inner: Transaction,
    /// False between `reset` and `renew`.
    active: bool,
    /// Declared last: dropped after the transaction's end.
    _environment: Arc<Environment>,
}

// SAFETY: with MDB_NOTLS a read transaction and its cursors belong to no thread (`lmdb.h`,
// MDB_NOTLS); they must only not be used by two threads at once, and the type is not `Sync`.
unsafe impl Send for ReadTransaction {}

impl ReadTransaction {
    /// Begins a read transaction on the newest committed state.
    ///
    /// # Errors
    /// What LMDB says, e.g. that there are too many readers.
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
    /// What LMDB says, and what `open` does.
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

    /// Looks at the pages of the snapshot from now on.
    fn look(&mut self) {
        let version = self.inner.id();
        if let Some(trees) = &mut self.inner.trees {
            trees.hold(version);
        }
    }

    /// Whether a snapshot is held.
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
    /// What LMDB says.
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

    /// Reading through a reset transaction is answered by LMDB with an error, not with bytes.
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

/// The write transaction. There is one at a time; beginning a second one waits.
#[derive(Debug)]
pub struct WriteTransaction {
    inner: Transaction,
    /// The transactions that `inner` is nested in, outermost first.
    outer: Vec<NonNull<ffi::MDB_txn>>,
    /// Set when LMDB has freed the handle.
    ended: bool,
    /// Declared last: dropped after the transaction's end.
    environment: Arc<Environment>,
}

impl WriteTransaction {
    /// Begins the write transaction, waiting for the one before to end. Its commit syncs.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn begin(environment: &Arc<Environment>) -> Result<WriteTransaction, Error> {
        WriteTransaction::begin_with(environment, CommitSync::Now)
    }

    /// As [`WriteTransaction::begin`], with a choice of when the commit becomes durable.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn begin_with(
        environment: &Arc<Environment>,
        sync: CommitSync,
    ) -> Result<WriteTransaction, Error> {
        let flags = match sync {
            CommitSync::Now => 0,
            CommitSync::Later => ffi::MDB_NOSYNC,
        };
        let inner = Transaction::new(begin(environment, None, flags)?, false, None);
        Ok(WriteTransaction {
            inner,
            outer: Vec::new(),
            ended: false,
            environment: Arc::clone(environment),
        })
    }

    /// From here on changes can be taken back with [`WriteTransaction::roll_back`], until
    /// [`WriteTransaction::release`] makes them part of what was before. LMDB copies each page
    /// that is changed in between once more.
    ///
    /// # Errors
    /// What LMDB says; the transaction can then only be dropped.
    pub fn save(&mut self) -> Result<(), Error> {
        let raw = begin(&self.environment, Some(self.inner.raw), 0)?;
        // A transaction must not be used while one is nested in it; all use is through `inner`.
        self.outer.push(std::mem::replace(&mut self.inner.raw, raw));
        Ok(())
    }

    /// Keeps what was changed since the last `save` that was not yet released or rolled back.
    ///
    /// # Errors
    /// [`Error::Conflict`] without such a `save`, or what LMDB says; the transaction can then only
    /// be dropped.
    pub fn release(&mut self) -> Result<(), Error> {
        let nested = self.leave()?;
        // SAFETY: the handle is the innermost transaction's, has no cursor left (they borrow
        // `self`), and nobody has it any more; LMDB frees it also when this fails.
        check(unsafe { ffi::mdb_txn_commit(nested.as_ptr()) })
    }

    /// Takes back what was changed since the last `save` that was not yet released or rolled back.
    ///
    /// # Errors
    /// [`Error::Conflict`] without such a `save`.
    pub fn roll_back(&mut self) -> Result<(), Error> {
        let nested = self.leave()?;
        // SAFETY: as in `release`.
        unsafe { ffi::mdb_txn_abort(nested.as_ptr()) };
        Ok(())
    }

    /// Goes back to the next outer transaction; returns the one that was left.
    fn leave(&mut self) -> Result<NonNull<ffi::MDB_txn>, Error> {
        match self.outer.pop() {
            Some(outer) => Ok(std::mem::replace(&mut self.inner.raw, outer)),
            None => Err(Error::conflict("there is no savepoint")),
        }
    }

    /// Opens a table, creating it if it is missing. The handle is for good once this transaction
    /// has committed.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn open_table(
        &mut self,
        name: &'static str,
        options: TableOptions,
    ) -> Result<Table, Error> {
        open_table(self.inner.raw, name, options.flags() | ffi::MDB_CREATE)
    }

    /// Puts a row.
    ///
    /// # Errors
    /// [`Error::Full`], or what LMDB says; the transaction can then only be dropped.
    pub fn put(&mut self, table: Table, key: &[u8], data: &[u8], put: Put) -> Result<(), Error> {
        let (mut key, mut data) = (value(key), value(data));
        let raw = self.inner.raw.as_ptr();
        // SAFETY: the handle and the table are valid; without MDB_RESERVE LMDB copies from the
        // two values and writes to neither.
        check(unsafe { ffi::mdb_put(raw, table.handle, &mut key, &mut data, put.flags()) })
    }

    /// Puts a row unless the key has one; `false` if it has.
    ///
    /// # Errors
    /// As [`WriteTransaction::put`].
    pub fn put_new(&mut self, table: Table, key: &[u8], data: &[u8]) -> Result<bool, Error> {
        let (mut key, mut data) = (value(key), value(data));
        let raw = self.inner.raw.as_ptr();
        // SAFETY: as in `put`; on "exists" LMDB points `data` at the present value, and it is not
        // looked at again.
        let code =
            unsafe { ffi::mdb_put(raw, table.handle, &mut key, &mut data, ffi::MDB_NOOVERWRITE) };
        match code {
            ffi::MDB_KEYEXIST => Ok(false),
            code => check(code).map(|()| true),
        }
    }

    /// Puts a row whose value is the concatenation of `parts`, written where it will stay. Not for
    /// tables with duplicates.
    ///
    /// # Errors
    /// As [`WriteTransaction::put`].
    pub fn put_parts(
        &mut self,
        table: Table,
        key: &[u8],
        parts: &[&[u8]],
        put: Put,
    ) -> Result<(), Error> {
        let length = parts.iter().map(|part| part.len()).sum();
        let mut key = value(key);
        let mut data = ffi::MDB_val {
            mv_size: length,
            mv_data: std::ptr::null_mut(),
        };
        let flags = put.flags() | ffi::MDB_RESERVE;
        // SAFETY: the handle and the table are valid; LMDB points `data` at the space it reserved.
        check(unsafe {
            ffi::mdb_put(
                self.inner.raw.as_ptr(),
                table.handle,
                &mut key,
                &mut data,
                flags,
            )
        })?;
        let mut to = data.mv_data.cast::<u8>();
        for part in parts {
            // SAFETY: LMDB reserved `length` bytes, the sum of all parts, in a dirty page of this
            // transaction; a part is not in that page, since parts are borrowed from elsewhere
            // than this transaction, which is borrowed mutably. The space is only written to,
            // never read, so that it need not be initialised.
            unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
                to = to.add(part.len());
            }
        }
        Ok(())
    }

    /// Deletes a key with all its values; `false` if it was not there.
    ///
    /// # Errors
    /// As [`WriteTransaction::put`].
    pub fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool, Error> {
        let mut key = value(key);
        let raw = self.inner.raw.as_ptr();
        // SAFETY: handle and table are valid; LMDB only reads through `key`.
        let code = unsafe { ffi::mdb_del(raw, table.handle, &mut key, std::ptr::null_mut()) };
        Ok(found(code)?.is_some())
    }

    /// Deletes one value of a key in a table with duplicates; `false` if it was not there.
    ///
    /// # Errors
    /// As [`WriteTransaction::put`].
    pub fn delete_item(&mut self, table: Table, key: &[u8], item: &[u8]) -> Result<bool, Error> {
        let (mut key, mut item) = (value(key), value(item));
        let raw = self.inner.raw.as_ptr();
        // SAFETY: handle and table are valid; LMDB only reads through the values.
        let code = unsafe { ffi::mdb_del(raw, table.handle, &mut key, &mut item) };
        Ok(found(code)?.is_some())
    }

    /// Commits; durable when it returns, unless syncing was left for later.
    ///
    /// # Errors
    /// [`Error::Full`] or what LMDB says. Nothing is changed then.
    pub fn commit(mut self) -> Result<(), Error> {
        while !self.outer.is_empty() {
            self.release()?;
        }
        self.ended = true;
        // SAFETY: the handle is valid, no cursor is left, and it is not used again: `drop` sees
        // `ended`. LMDB frees it also when the commit fails.
        check(unsafe { ffi::mdb_txn_commit(self.inner.raw.as_ptr()) })
    }
}

impl Deref for WriteTransaction {
    type Target = Transaction;

    #[inline]
    fn deref(&self) -> &Transaction {
        &self.inner
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        if !self.ended {
            let outermost = self.outer.first().copied().unwrap_or(self.inner.raw);
            // SAFETY: the handle is valid, no cursor is left, and it is not used again. LMDB ends
            // the transactions nested in it first.
            unsafe { ffi::mdb_txn_abort(outermost.as_ptr()) };
        }
    }
}
