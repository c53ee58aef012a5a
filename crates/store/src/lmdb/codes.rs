//! LMDB's return codes.

use std::ffi::c_int;

use lmdb_master_sys as ffi;

/// LMDB's code for a missing key.
pub const NOT_FOUND: c_int = ffi::MDB_NOTFOUND;

/// Returns whether a code of LMDB means that its pages are damaged.
pub fn means_damage(code: c_int) -> bool {
    matches!(
        code,
        ffi::MDB_PAGE_NOTFOUND
            | ffi::MDB_CORRUPTED
            | ffi::MDB_INVALID
            | ffi::MDB_CURSOR_FULL
            | ffi::MDB_PAGE_FULL
            | ffi::MDB_BAD_VALSIZE
            | ffi::MDB_INCOMPATIBLE
    )
}
