//! Writing whole database files, as copies of others: page by page, so that the system keeps each
//! page in a block of its own, in which it is written again at little cost
//! (docs/adr/0091-pages-are-written-one-by-one.md).

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZero;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Writes bytes into a database file that is being made, from the byte `at` on.
///
/// # Errors
/// Errors of the operating system.
pub fn write_pages(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    let (mut rest, mut at) = (bytes, at);
    while !rest.is_empty() {
        let (page, behind) = rest.split_at(left_of_page(at).min(rest.len()));
        file.write_all_at(page, at)?;
        at += page.len() as u64;
        rest = behind;
    }
    Ok(())
}

/// A database file that is being made from its beginning to its end.
#[derive(Debug)]
pub struct PageWriter {
    file: File,
    at: u64,
}

impl PageWriter {
    /// Takes an empty file.
    pub fn new(file: File) -> PageWriter {
        PageWriter { file, at: 0 }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Has all bytes reach the disk.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn sync(self) -> io::Result<()> {
        self.file.sync_all()
    }
}

impl Write for PageWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = left_of_page(self.at).min(bytes.len());
        let written = self.file.write(&bytes[..count])?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Bytes from `at` to the end of its page.
fn left_of_page(at: u64) -> usize {
    PAGE_BYTES - at as usize % PAGE_BYTES
}

/// Drops a synced file that no process has mapped from the memory of the system, which reads it
/// again page by page. For files that were written in larger blocks.
pub fn forget(path: &Path) {
    // Errors are ignored: the advice affects speed only.
    if let Ok(file) = File::open(path) {
        let _ = fadvise(&file, 0, None::<NonZero<u64>>, Advice::DontNeed);
    }
}
