//! Usage of an environment: the snapshots that its readers hold, and its free pages.

use std::ffi::{CStr, c_char, c_int, c_void};

use lmdb_master_sys as ffi;

use super::check;
use super::environment::Environment;
use super::transaction::{ReadTransaction, Table};
use crate::error::Error;

impl Environment {
    /// Returns the process id and the held snapshot of each reader, this process's among them.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn readers(&self) -> Result<Vec<(u32, u64)>, Error> {
        let mut lines: Vec<u8> = Vec::new();
        // SAFETY: the handle is open; `take_line` gets the context given here, which outlives the
        // call.
        let code = unsafe {
            ffi::mdb_reader_list(
                self.raw(),
                Some(take_line),
                (&raw mut lines).cast::<c_void>(),
            )
        };
        // The results of the callback come back as well, and are never negative.
        if code < 0 {
            check(code)?;
        }
        // LMDB gives a line for each slot: process, thread, snapshot; `-` for a slot that holds
        // none.
        let text = String::from_utf8_lossy(&lines);
        let reader = |line: &str| {
            let mut words = line.split_whitespace();
            Some((words.next()?.parse().ok()?, words.nth(1)?.parse().ok()?))
        };
        Ok(text.lines().filter_map(reader).collect())
    }

    /// Id of the newest snapshot.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn newest(&self) -> Result<u64, Error> {
        let mut info = std::mem::MaybeUninit::<ffi::MDB_envinfo>::zeroed();
        // SAFETY: the place is valid for writes and all-zero bytes are a value of its type; the
        // handle is open.
        let info = unsafe {
            check(ffi::mdb_env_info(self.raw(), info.as_mut_ptr()))?;
            info.assume_init()
        };
        Ok(info.me_last_txnid as u64)
    }
}

/// Appends a text of LMDB's to the `Vec<u8>` that `context` points to.
unsafe extern "C" fn take_line(text: *const c_char, context: *mut c_void) -> c_int {
    // SAFETY: LMDB hands over a NUL-terminated text and the context it was given, which is a
    // vector that nobody else uses meanwhile.
    unsafe {
        let lines = &mut *context.cast::<Vec<u8>>();
        lines.extend_from_slice(CStr::from_ptr(text).to_bytes());
    }
    0
}

impl ReadTransaction {
    /// Number of pages that are free in this snapshot. Reads each row of LMDB's free list, which
    /// has one for each transaction that freed pages.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn free_pages(&self) -> Result<u64, Error> {
        let mut pages = 0_u64;
        let mut cursor = self.cursor(Table::FREE_PAGES)?;
        while let Some((_, list)) = cursor.next()? {
            // The first word is the number of page numbers that follow.
            let count = list.first_chunk().map_or(0, |it| usize::from_ne_bytes(*it));
            pages += count as u64;
        }
        Ok(pages)
    }
}
