//! Sums over rows, which do not depend on the order of the rows.
//!
//! Entries give the expected rows in the order of entries; a table holds them in the order of its
//! keys. Equal sums mean equal rows, so each side is walked once from end to end without look-ups,
//! which would read from the disk for each row of a database larger than memory.

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
