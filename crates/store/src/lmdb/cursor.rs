//! Cursors over the rows of a table.

use std::ptr::NonNull;

use lmdb_master_sys as ffi;

use super::transaction::{Table, Transaction};
use super::{Row, bytes, check, found, no_value, value};
use crate::error::Error;

/// A position in a table. Returned rows outlive the cursor: they are borrowed from the transaction.
#[derive(Debug)]
pub struct Cursor<'t> {
    transaction: &'t Transaction,
    table: Table,
    raw: NonNull<ffi::MDB_cursor>,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(
        transaction: &'t Transaction,
        table: Table,
        raw: NonNull<ffi::MDB_cursor>,
    ) -> Cursor<'t> {
        Cursor {
            transaction,
            table,
            raw,
        }
    }

    /// Moves to the last row.
    pub fn last(&mut self) -> Result<Option<Row<'t>>, Error> {
        self.step(ffi::MDB_LAST)
    }

    /// Moves to the next row; to the first one when the cursor has no position.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Row<'t>>, Error> {
        self.step(ffi::MDB_NEXT)
    }

    /// Moves to the previous row; to the last one when the cursor has no position.
    pub fn previous(&mut self) -> Result<Option<Row<'t>>, Error> {
        self.step(ffi::MDB_PREV)
    }

    /// Moves to the next value of the same key.
    #[inline]
    pub fn next_duplicate(&mut self) -> Result<Option<Row<'t>>, Error> {
        self.step(ffi::MDB_NEXT_DUP)
    }

    /// Moves to the first row with this key or a greater one.
    #[inline]
    pub fn seek(&mut self, key: &[u8]) -> Result<Option<Row<'t>>, Error> {
        self.get(value(key), no_value(), ffi::MDB_SET_RANGE)
    }

    /// Moves to the first row with a greater key.
    pub fn seek_behind(&mut self, key: &[u8]) -> Result<Option<Row<'t>>, Error> {
        match self.seek(key)? {
            Some((found, _)) if found == key => self.next(),
            row => Ok(row),
        }
    }

    /// Moves to the first value of this key that is `item` or greater.
    #[inline]
    pub fn seek_item(&mut self, key: &[u8], item: &[u8]) -> Result<Option<&'t [u8]>, Error> {
        let row = self.get(value(key), value(item), ffi::MDB_GET_BOTH_RANGE)?;
        Ok(row.map(|(_, item)| item))
    }

    /// Number of values of the current key.
    pub fn item_count(&mut self) -> Result<u64, Error> {
        let mut count = 0;
        // SAFETY: the cursor is open, `count` a valid place.
        check(unsafe { ffi::mdb_cursor_count(self.raw.as_ptr(), &mut count) })?;
        Ok(count as u64)
    }

    fn step(&mut self, operation: ffi::MDB_cursor_op) -> Result<Option<Row<'t>>, Error> {
        self.get(no_value(), no_value(), operation)
    }

    #[inline]
    fn get(
        &mut self,
        mut key: ffi::MDB_val,
        mut data: ffi::MDB_val,
        operation: ffi::MDB_cursor_op,
    ) -> Result<Option<Row<'t>>, Error> {
        // SAFETY: the cursor is open and its transaction borrowed, hence alive; LMDB only reads
        // through what the two values point to and replaces the pointers by its answer.
        let code =
            unsafe { ffi::mdb_cursor_get(self.raw.as_ptr(), &mut key, &mut data, operation) };
        if found(code)?.is_none() {
            return Ok(None);
        }
        // SAFETY: every operation used here points `data` at the row found, and all but
        // GET_BOTH_RANGE, which is told apart, also `key` (`mdb_cursor_set` and its siblings set
        // both before they return success; NEXT_DUP may leave the empty key it was given). Those
        // bytes live as long as the transaction is neither ended nor changed, which the shared
        // borrow for `'t` excludes.
        Ok(Some(unsafe {
            let key = if operation == ffi::MDB_GET_BOTH_RANGE {
                &[]
            } else {
                bytes(&key)
            };
            (key, bytes(&data))
        }))
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        if !self.transaction.keep(self.table, self.raw) {
            // SAFETY: the cursor is open, ours alone, and its transaction still alive.
            unsafe { ffi::mdb_cursor_close(self.raw.as_ptr()) };
        }
    }
}
