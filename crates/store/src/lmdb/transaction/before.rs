//! The state before a write transaction, in which rows that the transaction has not changed are
//! looked up: its pages are read without LMDB's cursors (`pages.rs`), which costs a fraction.
//!
//! Invariant: a row is looked up here only if no change of the transaction, also of one that was
//! rolled back, concerned a key with the same mark. No other transaction can commit meanwhile, and
//! LMDB gives no page of the newest committed state to the transaction that follows it.

use std::cell::OnceCell;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::{ReadTransaction, Table};
use crate::lmdb::Environment;
use crate::lmdb::pages::RowValues;

/// Number of marks of a table: a group of 8,192 changes sets an eighth of them.
const MARKS: usize = 1 << 16;

/// Marks of the keys that were changed in a table; several keys may share a mark.
type Marks = Box<[u64; MARKS / 64]>;

/// The state before a write transaction.
#[derive(Debug)]
pub(super) struct Before {
    environment: Arc<Environment>,
    /// The transaction that holds the state, begun with the first look-up; `None` if LMDB has no
    /// place for one more reader.
    state: OnceCell<Option<ReadTransaction>>,
    /// Marks by table handle; `None` for tables without a change.
    changed: Vec<Option<Marks>>,
}

impl Before {
    /// Must be called while the write transaction is open, so that no other one commits.
    pub fn new(environment: &Arc<Environment>) -> Before {
        Before {
            environment: Arc::clone(environment),
            state: OnceCell::new(),
            changed: Vec::new(),
        }
    }

    /// Notes that the row of a key is about to be changed.
    pub fn note(&mut self, table: Table, key: &[u8]) {
        let at = table.handle as usize;
        if self.changed.len() <= at {
            self.changed.resize_with(at + 1, || None);
        }
        let marks = self.changed[at].get_or_insert_with(|| Box::new([0; MARKS / 64]));
        let (word, bit) = mark(key);
        marks[word] |= bit;
    }

    /// Looks up a key; `None` if its row may have changed, or only LMDB can tell.
    #[inline]
    pub fn find(&self, table: Table, key: &[u8]) -> Option<RowValues<'_>> {
        if let Some(Some(marks)) = self.changed.get(table.handle as usize) {
            let (word, bit) = mark(key);
            if marks[word] & bit != 0 {
                return None;
            }
        }
        self.state()?.find(table, key)
    }

    /// The state; `None` if it cannot be read.
    pub fn state(&self) -> Option<&ReadTransaction> {
        let begin = || ReadTransaction::begin(&self.environment).ok();
        self.state.get_or_init(begin).as_ref()
    }
}

/// The place of a key's mark: a word and a bit in it.
#[inline]
fn mark(key: &[u8]) -> (usize, u64) {
    let mark = xxh3_64(key) as usize % MARKS;
    (mark / 64, 1 << (mark % 64))
}
