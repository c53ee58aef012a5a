//! The write transaction: it puts and deletes rows, rolls back to a savepoint, and commits all
//! changes at once.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use lmdb_master_sys as ffi;

use super::{Before, Table, TableOptions, Transaction, begin, open_table};
use crate::error::Error;
use crate::lmdb::{Environment, check, found, value};

/// The way to put a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// Replaces the value of the key; in a table with duplicates adds the value if it is missing.
    Upsert,
    /// Appends a key greater than all others, without a search, and fills pages completely.
    Append,
    /// Appends a value greater than all others of the key, which is the greatest.
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

/// The time at which a commit becomes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitSync {
    /// The commit itself syncs.
    Now,
    /// The next [`Environment::sync`]: until then the disk holds no usable database.
    Later,
}

/// The write transaction. At most one exists; beginning a second one waits.
#[derive(Debug)]
pub struct WriteTransaction {
    inner: Transaction,
    /// The transactions that `inner` is nested in, outermost first.
    outer: Vec<NonNull<ffi::MDB_txn>>,
    /// Whether LMDB has freed the handle.
    ended: bool,
    /// The environment. It stands last: it is dropped after the transaction's end.
    environment: Arc<Environment>,
}

impl WriteTransaction {
    /// Begins the write transaction after the previous one has ended. Its commit syncs.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn begin(environment: &Arc<Environment>) -> Result<WriteTransaction, Error> {
        WriteTransaction::begin_with(environment, CommitSync::Now)
    }

    /// Begins the write transaction, with a choice of when its commit becomes durable.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn begin_with(
        environment: &Arc<Environment>,
        sync: CommitSync,
    ) -> Result<WriteTransaction, Error> {
        let flags = match sync {
            CommitSync::Now => 0,
            CommitSync::Later => ffi::MDB_NOSYNC,
        };
        let mut inner = Transaction::new(begin(environment, None, flags)?, false, None);
        inner.before = Some(Box::new(Before::new(environment)));
        Ok(WriteTransaction {
            inner,
            outer: Vec::new(),
            ended: false,
            environment: Arc::clone(environment),
        })
    }

    /// Sets a savepoint: later changes can be rolled back with [`WriteTransaction::roll_back`],
    /// until [`WriteTransaction::release`] joins them to earlier ones. LMDB copies each page
    /// changed in between once more.
    ///
    /// # Errors
    /// Errors of LMDB; the transaction can then only be dropped.
    pub fn save(&mut self) -> Result<(), Error> {
        let raw = begin(&self.environment, Some(self.inner.raw), 0)?;
        // A transaction must not be used while one is nested in it; all use is through `inner`.
        self.outer.push(std::mem::replace(&mut self.inner.raw, raw));
        Ok(())
    }

    /// Ends the newest savepoint and keeps the changes made since.
    ///
    /// # Errors
    /// [`Error::Conflict`] without a savepoint, or an error of LMDB; the transaction can then only
    /// be dropped.
    pub fn release(&mut self) -> Result<(), Error> {
        let nested = self.leave()?;
        // SAFETY: the handle is the innermost transaction's, has no cursor left (they borrow
        // `self`), and nobody has it any more; LMDB frees it also when this fails.
        check(unsafe { ffi::mdb_txn_commit(nested.as_ptr()) })
    }

    /// Rolls back to the newest savepoint, and ends it.
    ///
    /// # Errors
    /// [`Error::Conflict`] without a savepoint.
    pub fn roll_back(&mut self) -> Result<(), Error> {
        let nested = self.leave()?;
        // SAFETY: as in `release`.
        unsafe { ffi::mdb_txn_abort(nested.as_ptr()) };
        Ok(())
    }

    /// Makes the enclosing transaction the current one; returns the one that was left.
    fn leave(&mut self) -> Result<NonNull<ffi::MDB_txn>, Error> {
        match self.outer.pop() {
            Some(outer) => Ok(std::mem::replace(&mut self.inner.raw, outer)),
            None => Err(Error::conflict("there is no savepoint")),
        }
    }

    /// Opens a table, creating it if it is missing. The handle stays valid once this transaction
    /// has committed.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn open_table(
        &mut self,
        name: &'static str,
        options: TableOptions,
    ) -> Result<Table, Error> {
        open_table(self.inner.raw, name, options.flags() | ffi::MDB_CREATE)
    }

    /// Notes that a row is about to be changed: from now on, LMDB looks it up.
    fn note(&mut self, table: Table, key: &[u8]) {
        if let Some(before) = &mut self.inner.before {
            before.changed.set(table.handle, key);
        }
    }

    /// Puts a row.
    ///
    /// # Errors
    /// [`Error::Full`], or an error of LMDB; the transaction can then only be dropped.
    pub fn put(&mut self, table: Table, key: &[u8], data: &[u8], put: Put) -> Result<(), Error> {
        self.note(table, key);
        let (mut key, mut data) = (value(key), value(data));
        let raw = self.inner.raw.as_ptr();
        // SAFETY: the handle and the table are valid; without MDB_RESERVE LMDB copies from the
        // two values and writes to neither.
        check(unsafe { ffi::mdb_put(raw, table.handle, &mut key, &mut data, put.flags()) })
    }

    /// Puts a row unless the key exists; `false` if it does.
    ///
    /// # Errors
    /// The errors of [`WriteTransaction::put`].
    pub fn put_new(&mut self, table: Table, key: &[u8], data: &[u8]) -> Result<bool, Error> {
        self.note(table, key);
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

    /// Puts a row whose value is the concatenation of `parts`, copied directly into its page. Not
    /// for tables with duplicates.
    ///
    /// # Errors
    /// The errors of [`WriteTransaction::put`].
    pub fn put_parts(
        &mut self,
        table: Table,
        key: &[u8],
        parts: &[&[u8]],
        put: Put,
    ) -> Result<(), Error> {
        self.note(table, key);
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

    /// Deletes a key with all its values; `false` if it does not exist.
    ///
    /// # Errors
    /// The errors of [`WriteTransaction::put`].
    pub fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool, Error> {
        self.note(table, key);
        let mut key = value(key);
        let raw = self.inner.raw.as_ptr();
        // SAFETY: handle and table are valid; LMDB only reads through `key`.
        let code = unsafe { ffi::mdb_del(raw, table.handle, &mut key, std::ptr::null_mut()) };
        Ok(found(code)?.is_some())
    }

    /// Deletes one value of a key in a table with duplicates; `false` if it does not exist.
    ///
    /// # Errors
    /// The errors of [`WriteTransaction::put`].
    pub fn delete_item(&mut self, table: Table, key: &[u8], item: &[u8]) -> Result<bool, Error> {
        self.note(table, key);
        let (mut key, mut item) = (value(key), value(item));
        let raw = self.inner.raw.as_ptr();
        // SAFETY: handle and table are valid; LMDB only reads through the values.
        let code = unsafe { ffi::mdb_del(raw, table.handle, &mut key, &mut item) };
        Ok(found(code)?.is_some())
    }

    /// Commits; the changes are durable on return, with [`CommitSync::Later`] after the next sync.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB. The database is then unchanged.
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
