//! Adding and removing the index rows of an entry.

use std::cmp::Ordering;

use crate::batch::Batch;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::equality::{bucket, holder, item};
use crate::index::keys::{HashedKey, Keys};
use crate::index::posting;
use crate::index_set::IndexKind;
use crate::lmdb::Put;

/// The table that has the holders of a key.
enum Place {
    Bucket,
    Posting,
}

impl Batch<'_> {
    /// Replaces the sorted keys `old` of an entry by the sorted keys `new`. Adding a present row
    /// and removing a missing one are no errors, since an index under construction has some rows.
    pub(crate) fn write_keys(&mut self, id: EntryId, old: &Keys, new: &Keys) -> Result<(), Error> {
        let mut gone = old.hashed.iter().peekable();
        let mut come = new.hashed.iter().peekable();
        loop {
            match order_of(gone.peek(), come.peek()) {
                None => break,
                Some(Ordering::Equal) => {
                    gone.next();
                    come.next();
                }
                Some(Ordering::Less) => {
                    if let Some(key) = gone.next() {
                        self.remove_holder(key, id)?;
                    }
                }
                Some(Ordering::Greater) => {
                    if let Some(key) = come.next() {
                        self.add_holder(key, id)?;
                    }
                }
            }
        }
        self.write_ordered(id, old, new)
    }

    fn write_ordered(&mut self, id: EntryId, old: &Keys, new: &Keys) -> Result<(), Error> {
        let table = self.tables.order;
        let with_id = |prefix: &[u8]| [prefix, &id.packed()].concat();
        let holds = |keys: &Keys, key: &[u8]| {
            keys.ordered
                .binary_search_by(|it| keys.ordered_bytes(*it).cmp(key))
                .is_ok()
        };
        for range in &old.ordered {
            let key = old.ordered_bytes(*range);
            if !holds(new, key) {
                self.transaction.delete(table, &with_id(key))?;
            }
        }
        for range in &new.ordered {
            let key = new.ordered_bytes(*range);
            if !holds(old, key) {
                self.transaction
                    .put(table, &with_id(key), &[], Put::Upsert)?;
            }
        }
        Ok(())
    }

    pub(super) fn add_holder(&mut self, key: &HashedKey, id: EntryId) -> Result<(), Error> {
        match self.place(key)? {
            Place::Posting => {
                self.chunk(key, id)?.insert(low(id));
                Ok(())
            }
            Place::Bucket => {
                let (bucket, item) = (bucket(key), item(key.hash, id));
                self.transaction
                    .put(self.tables.index, &bucket, &item, Put::Upsert)?;
                if self.is_sampled(id, 1) {
                    self.post_if_many(key)
                } else {
                    Ok(())
                }
            }
        }
    }

    fn remove_holder(&mut self, key: &HashedKey, id: EntryId) -> Result<(), Error> {
        match self.place(key)? {
            Place::Bucket => {
                let (bucket, item) = (bucket(key), item(key.hash, id));
                self.transaction
                    .delete_item(self.tables.index, &bucket, &item)?;
                Ok(())
            }
            Place::Posting => {
                let few = self.holders_max / 4;
                let chunk = self.chunk(key, id)?;
                chunk.remove(low(id));
                let left = chunk.len();
                let may_return = keeps_buckets(key.kind) && left < few;
                if may_return && (left == 0 || self.is_sampled(id, 16)) {
                    self.unpost_if_few(key, few)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Returns the table that has the holders of a key: presence and substring keys always stand in
    /// postings, other keys where the mark in the bucket says.
    fn place(&self, key: &HashedKey) -> Result<Place, Error> {
        if !keeps_buckets(key.kind) {
            return Ok(Place::Posting);
        }
        let mut cursor = self.transaction.cursor(self.tables.index)?;
        let first = cursor.seek_item(&bucket(key), &item(key.hash, EntryId::ROOT))?;
        match first.and_then(|item| holder(item, key.hash)) {
            Some(EntryId::ROOT) => Ok(Place::Posting),
            _ => Ok(Place::Bucket),
        }
    }

    /// Returns whether a write of this entry also counts the holders of its keys, which costs more:
    /// one id in 256 does, more where the limit is small. Ids are mixed so that no pattern of
    /// writes evades it.
    fn is_sampled(&self, id: EntryId, times_more_often: u64) -> bool {
        let every = (self.holders_max / 16 / times_more_often).clamp(1, 256);
        (id.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).is_multiple_of(every)
    }

    /// Moves the holders of a key to the posting table if they are too many for a bucket.
    fn post_if_many(&mut self, key: &HashedKey) -> Result<(), Error> {
        let bucket = bucket(key);
        let mark = item(key.hash, EntryId::ROOT);
        let mut ids = Vec::new();
        {
            let mut cursor = self.transaction.cursor(self.tables.index)?;
            let mut found = cursor.seek_item(&bucket, &mark)?;
            if found.is_none() || cursor.item_count()? <= self.holders_max {
                return Ok(());
            }
            while let Some(id) = found.and_then(|item| holder(item, key.hash)) {
                ids.push(id);
                found = cursor.next_duplicate()?.map(|(_, item)| item);
            }
        }
        if (ids.len() as u64) <= self.holders_max {
            return Ok(());
        }
        for id in ids {
            self.transaction
                .delete_item(self.tables.index, &bucket, &item(key.hash, id))?;
            self.chunk(key, id)?.insert(low(id));
        }
        self.transaction
            .put(self.tables.index, &bucket, &mark, Put::Upsert)
    }

    /// Moves the holders of a key back into its bucket if there are fewer than `few`.
    fn unpost_if_few(&mut self, key: &HashedKey, few: u64) -> Result<(), Error> {
        self.pending
            .postings
            .flush(&mut self.transaction, self.tables.posting)?;
        let prefix = posting::prefix(key);
        let mut chunks = Vec::new();
        let mut holders = 0;
        {
            let mut cursor = self.transaction.cursor(self.tables.posting)?;
            let mut row = cursor.seek(&prefix)?;
            while let Some((chunk, value)) = row.filter(|(it, _)| it.starts_with(&prefix)) {
                holders += posting::cardinality(value)?;
                if holders >= few {
                    return Ok(());
                }
                chunks.push(chunk.to_vec());
                row = cursor.next()?;
            }
        }
        let ids = posting::ids(&self.transaction, self.tables.posting, None, key)?;
        for chunk in chunks {
            self.transaction.delete(self.tables.posting, &chunk)?;
        }
        let bucket = bucket(key);
        let mark = item(key.hash, EntryId::ROOT);
        self.transaction
            .delete_item(self.tables.index, &bucket, &mark)?;
        for id in ids {
            let item = item(key.hash, EntryId(id));
            self.transaction
                .put(self.tables.index, &bucket, &item, Put::Upsert)?;
        }
        Ok(())
    }

    fn chunk(
        &mut self,
        key: &HashedKey,
        id: EntryId,
    ) -> Result<&mut roaring::RoaringBitmap, Error> {
        self.pending
            .postings
            .chunk(&mut self.transaction, self.tables.posting, key, id)
    }
}

/// Returns whether keys of this kind stand in buckets until they have very many holders.
pub(crate) fn keeps_buckets(kind: IndexKind) -> bool {
    matches!(kind, IndexKind::Equality | IndexKind::Approximate)
}

/// The low bits of an id, which stand in its chunk.
fn low(id: EntryId) -> u32 {
    id.0 as u32
}

fn order_of<T: Ord>(a: Option<&T>, b: Option<&T>) -> Option<Ordering> {
    match (a, b) {
        (None, None) => None,
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (Some(a), Some(b)) => Some(a.cmp(b)),
    }
}
