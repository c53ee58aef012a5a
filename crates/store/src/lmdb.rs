//! LMDB behind a thin safe wrapper: the only module of the workspace with `unsafe` code.
//!
//! Reasons why it is safe, for all blocks:
//! - **Lifetimes.** Bytes that LMDB hands out lie in the map (or, in a write transaction, in its
//!   dirty pages) and stay valid until the transaction ends, and in a write transaction until its
//!   next change (`lmdb.h`, `mdb_get`). They are therefore borrowed from the transaction: whatever
//!   ends or changes it takes `&mut self` or `self`.
//! - **Threads.** Environments are opened with `MDB_NOTLS`, so a read transaction is tied to no
//!   thread; it may move between threads but not be used by two at once: `Send`, not `Sync`. A
//!   write transaction holds a mutex of its thread: neither `Send` nor `Sync`.
//! - **One process.** LMDB forbids opening a file twice in one process; [`crate::Store`] holds a
//!   lock on the folder that a second open of the same folder fails to get.
//! - **Pages.** Lookups of read transactions go to the pages directly (`pages.rs`), from roots that
//!   LMDB told for the snapshot held. Such a page is neither changed nor used again before the
//!   snapshot is given up, by LMDB's own rule for readers. A write transaction looks up what it has
//!   not changed in a read transaction of its own.
//! - **The file.** The map is read-only (never `MDB_WRITEMAP`), so a stray pointer faults instead
//!   of damaging data. Nobody else may truncate the file while it is open.

#![allow(unsafe_code)]

pub mod codes;
mod cursor;
mod environment;
mod faults;
mod pages;
mod transaction;
mod trees;
mod usage;

pub use codes::NOT_FOUND;
pub use cursor::Cursor;
pub use environment::{Environment, EnvironmentOptions, Statistics};
pub use pages::{RowValues, prefetch_value};
pub use transaction::{
    CommitSync, Put, ReadTransaction, Table, TableOptions, Transaction, WriteTransaction,
};

use std::ffi::{CStr, c_int};

use lmdb_master_sys as ffi;

use crate::error::{Error, means_full};

/// A row: key and value.
pub type Row<'a> = (&'a [u8], &'a [u8]);

/// Turns LMDB's return code into a result.
fn check(code: c_int) -> Result<(), Error> {
    match code {
        ffi::MDB_SUCCESS => Ok(()),
        ffi::MDB_MAP_FULL => Err(Error::Full),
        ffi::MDB_PANIC => Err(Error::Broken),
        code if means_full(code) => Err(Error::Full),
        code => Err(Error::Lmdb {
            code,
            message: message(code),
        }),
    }
}

/// Turns the return code of a look-up into a result: `None` for "not found", an error for codes
/// that are errors to [`check`].
fn found(code: c_int) -> Result<Option<()>, Error> {
    match code {
        ffi::MDB_NOTFOUND => Ok(None),
        code => check(code).map(Some),
    }
}

fn message(code: c_int) -> String {
    // SAFETY: mdb_strerror returns a NUL-terminated text that is static or, for codes of the
    // operating system, valid until the next call of strerror in this thread; it is copied here.
    unsafe { CStr::from_ptr(ffi::mdb_strerror(code)) }
        .to_string_lossy()
        .into_owned()
}

/// Returns a slice as LMDB takes it. LMDB does not write through keys or data passed to it, except
/// with `MDB_RESERVE`, where it replaces the pointer.
fn value(bytes: &[u8]) -> ffi::MDB_val {
    ffi::MDB_val {
        mv_size: bytes.len(),
        mv_data: bytes.as_ptr().cast_mut().cast(),
    }
}

const fn no_value() -> ffi::MDB_val {
    ffi::MDB_val {
        mv_size: 0,
        mv_data: std::ptr::null_mut(),
    }
}

/// Returns the bytes of LMDB's answer.
///
/// # Safety
/// `value` must have been filled in by a successful call of LMDB, and its bytes must stay valid
/// and unchanged for `'a`.
unsafe fn bytes<'a>(value: &ffi::MDB_val) -> &'a [u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for pointer, length and lifetime.
    unsafe { std::slice::from_raw_parts(value.mv_data.cast::<u8>(), value.mv_size) }
}

#[cfg(test)]
mod tests;
