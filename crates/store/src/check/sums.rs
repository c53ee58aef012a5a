//! Sums over rows, which do not depend on the order of the rows.
//!
//! Entries say which rows there should be, in the order of entries; a table holds them in the order
//! of its keys. With equal sums both are the same rows, so each is walked once from end to end, and
//! nothing is looked up: that would be a read from the disk for each row once a database is larger
//! than memory.

use xxhash_rust::xxh3::xxh3_128;

/// The number of rows, and the sum of their hashes modulo 2^128.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum {
    pub rows: u64,
    hashes: u128,
}

impl Sum {
    /// Adds a row.
    pub fn add(&mut self, row: &[u8]) {
        self.rows += 1;
        self.hashes = self.hashes.wrapping_add(xxh3_128(row));
    }
}
