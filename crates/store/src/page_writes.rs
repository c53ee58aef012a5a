//! Writing whole database files, as copies of others.
//!
//! Linux keeps a file in memory in blocks that are as large as the writes that made them, and ext4
//! looks at every page of a block when one of them is written again (kernel 6.18: 1.7 us for a page
//! in a block of its own, 8.8 us in one of 256 KiB, 57 us in one of 2 MiB). A database changes a
//! page here and a page there ever after, so a copy of it is written page by page.

use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, fadvise};

/// Size of a page of the database.
const PAGE_BYTES: usize = 4096;

/// Writes `bytes` into a database file that is being made, from the byte `at` on.
///
/// # Errors
/// Errors of the operating system.
pub fn write_pages(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let (mut rest, mut at) = (bytes, at);
    while !rest.is_empty() {
        let within = at as usize % PAGE_BYTES;
        let (page, others) = rest.split_at(rest.len().min(PAGE_BYTES - within));
        file.write_all_at(page, at)?;
        at += page.len() as u64;
        rest = others;
    }
    Ok(())
}

/// Advises the system to drop a synced part of a file from memory. When it is read again, each page
/// has a block of its own.
pub fn forget(file: &File, start: u64, end: u64) {
    if let Some(length) = end.checked_sub(start).and_then(NonZero::new) {
        // An error is ignored: the advice affects speed only.
        let _ = fadvise(file, start, Some(length), Advice::DontNeed);
    }
}
