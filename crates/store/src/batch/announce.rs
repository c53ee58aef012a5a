//! Reading ahead for changes that come next.

use schema::Name;
use smallvec::SmallVec;

use crate::batch::Batch;
use crate::lmdb::{RowValues, prefetch_value};
use crate::tables::{NameKey, id_key, id_of_name};

/// Number of names that [`Batch::announce`] takes at a time: more would push each other out of the
/// nearest cache.
const NAMES: usize = 16;
/// Number of cache lines of an entry that are announced: 1 KiB, more than most entries have.
const ENTRY_LINES: usize = 16;

impl Batch<'_> {
    /// Number of names that [`Batch::announce`] takes at a time.
    pub const ANNOUNCED: usize = NAMES;

    /// Brings the rows of entries that are changed next into the caches of the processor, side by
    /// side: in a large directory the waits for memory cost more than all else. Nothing depends on
    /// it, and names without an entry do no harm.
    pub fn announce<'n>(&self, names: impl Iterator<Item = &'n Name>) {
        let superiors = self.containers.borrow();
        let mut keys: SmallVec<[NameKey; NAMES]> = SmallVec::new();
        for name in names.take(NAMES) {
            let Some(above) = name.depth().checked_sub(1) else {
                continue;
            };
            if let Some(superior) = superiors.by_name(name.prefix_bytes(above)) {
                keys.push(NameKey::new(superior, name.rdn(above)));
            }
        }
        let bytes: SmallVec<[&[u8]; NAMES]> = keys.iter().map(NameKey::bytes).collect();
        let rows = self.transaction.announce(self.tables.name, &bytes);
        let ids: SmallVec<[[u8; 8]; NAMES]> = rows
            .iter()
            .zip(&bytes)
            .filter_map(|(row, key)| match row {
                Some(RowValues::Value(value)) => id_of_name(key, value).ok().map(id_key),
                _ => None,
            })
            .collect();
        let bytes: SmallVec<[&[u8]; NAMES]> = ids.iter().map(|id| &id[..]).collect();
        for row in self.transaction.announce(self.tables.entry, &bytes) {
            if let Some(RowValues::Value(row)) = row {
                prefetch_value(row, ENTRY_LINES);
            }
        }
    }
}
