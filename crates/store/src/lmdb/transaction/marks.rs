//! Marks of the keys that a write transaction has changed.

use xxhash_rust::xxh3::xxh3_64;

/// Number of marks of a table: a group of 8,192 changes sets an eighth of them.
const MARKS: usize = 1 << 16;

/// Marks by table handle. Several keys may share a mark, and a mark stays when its change is rolled
/// back: a key without a mark was not changed, one with a mark may have been.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// `None` for tables without a change.
    tables: Vec<Option<Box<[u64; MARKS / 64]>>>,
}

impl Marks {
    /// Marks a key of the table with this handle.
    pub fn set(&mut self, handle: u32, key: &[u8]) {
        let at = handle as usize;
        if self.tables.len() <= at {
            self.tables.resize_with(at + 1, || None);
        }
        let marks = self.tables[at].get_or_insert_with(|| Box::new([0; MARKS / 64]));
        let (word, bit) = mark(key);
        marks[word] |= bit;
    }

    /// Whether a key of the table with this handle is marked.
    #[inline]
    pub fn has(&self, handle: u32, key: &[u8]) -> bool {
        let Some(Some(marks)) = self.tables.get(handle as usize) else {
            return false;
        };
        let (word, bit) = mark(key);
        marks[word] & bit != 0
    }
}

/// The place of a key's mark: a word and a bit in it.
#[inline]
fn mark(key: &[u8]) -> (usize, u64) {
    let mark = xxh3_64(key) as usize % MARKS;
    (mark / 64, 1 << (mark % 64))
}
