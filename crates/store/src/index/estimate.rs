//! Estimating the size of an index from a sample of the entries.

use std::collections::HashMap;

use schema::{Schema, TypeId};

use crate::error::Error;
use crate::id::EntryId;
use crate::index::equality::{BUCKET_BYTES, ITEM_BYTES};
use crate::index::keys::{HashedKey, Keys};
use crate::index::posting::{HOLDERS_MAX, KEY_BYTES};
use crate::index_set::{IndexDefinition, IndexKind, IndexKinds, IndexSet};
use crate::snapshot::Snapshot;

/// Bytes of a row beside key and value: its offset in the page, and lengths.
const ROW_BYTES: u64 = 10;
/// Number of ids that a chunk of a posting covers.
const CHUNK_IDS: u64 = 1 << 16;
/// Number of possible buckets: one for each value of the first 16 bits of a hash.
const BUCKETS_MAX: u64 = 1 << 16;
/// Pages per hundred full pages of rows: pages are filled to about 70 per cent.
const PAGES_PER_HUNDRED: u64 = 143;

/// The estimated size of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexEstimate {
    /// Number of entries in the index.
    pub entries: u64,
    /// Bytes of the index.
    pub bytes: u64,
}

/// Estimates the size of an index that does not exist, from about `samples` entries spread over
/// all.
///
/// # Errors
/// Errors of LMDB; [`Error::Corrupt`] for entries that cannot be read.
pub fn estimate_index(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    type_id: TypeId,
    kind: IndexKind,
    samples: u64,
) -> Result<IndexEstimate, Error> {
    let definition = IndexDefinition {
        type_id,
        attribute: String::new(),
        kinds: IndexKinds::of(&[kind]),
        ready: true,
    };
    let indexes = IndexSet {
        schema: schema.clone(),
        definitions: vec![definition],
    };
    let plan = indexes.plan();
    let last = snapshot.last_id()?.0;
    let apart = (last / samples.max(1)).max(1);
    let mut sample = Sample::default();
    let (mut keys, mut scratch) = (Keys::default(), Vec::new());
    let mut from = 1;
    while from <= last {
        let Some(found) = snapshot.stored_entries_from(EntryId(from)).next() else {
            break;
        };
        let (id, view) = found?;
        keys.of_entry(schema, &plan, &view, &mut scratch);
        sample.add(&keys);
        from = (from + apart).max(id.0 + 1);
    }
    Ok(sample.estimate(snapshot.entry_count()?))
}

/// Sums over the sampled entries.
#[derive(Default)]
struct Sample {
    entries: u64,
    holders: u64,
    hashed: HashMap<HashedKey, u64>,
    ordered: u64,
    ordered_bytes: u64,
}

impl Sample {
    fn add(&mut self, keys: &Keys) {
        self.entries += 1;
        self.holders += u64::from(!keys.hashed.is_empty() || !keys.ordered.is_empty());
        for key in &keys.hashed {
            *self.hashed.entry(*key).or_default() += 1;
        }
        self.ordered += keys.ordered.len() as u64;
        self.ordered_bytes += keys.bytes.len() as u64;
    }

    /// Scales the sums to all entries.
    fn estimate(&self, entries: u64) -> IndexEstimate {
        let all = |count: u64| {
            let each = u128::from(count) * u128::from(entries);
            (each / u128::from(self.entries.max(1))) as u64
        };
        let (mut bytes, mut items) = (0, 0);
        for (key, count) in &self.hashed {
            let holders = all(*count);
            let posted = matches!(key.kind, IndexKind::Presence | IndexKind::Substring);
            if posted || holders > u64::from(HOLDERS_MAX) {
                bytes += posting_bytes(holders, entries);
            } else {
                items += holders;
            }
        }
        // As long as items are fewer than buckets, few items share a bucket.
        let bucket_bytes = BUCKET_BYTES as u64 + ROW_BYTES;
        bytes += items * ITEM_BYTES as u64 + items.min(BUCKETS_MAX) * bucket_bytes;
        bytes += all(self.ordered_bytes) + all(self.ordered) * (ROW_BYTES + 6);
        IndexEstimate {
            entries: all(self.holders),
            bytes: bytes * PAGES_PER_HUNDRED / 100,
        }
    }
}

/// Bytes of a posting: two for each holder, and at most a bit for each id of its chunks.
fn posting_bytes(holders: u64, entries: u64) -> u64 {
    let chunks = holders.min(entries.div_ceil(CHUNK_IDS));
    let ids = (2 * holders).min(entries.div_ceil(8) + chunks * 8);
    ids + chunks * (KEY_BYTES as u64 + ROW_BYTES + 16)
}
