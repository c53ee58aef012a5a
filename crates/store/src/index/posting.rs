//! Postings: the holders of a key with very many of them, as Roaring bitmaps in chunks.
//!
//! A chunk holds the ids that agree in all but their low 16 bits. Presence and substring keys
//! always have postings, equality and approximate keys once they have very many holders.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;

use roaring::{RoaringBitmap, RoaringTreemap};

use crate::error::Error;
use crate::id::EntryId;
use crate::index::keys::HashedKey;
use crate::lmdb::{Put, Table, Transaction, WriteTransaction};

/// Holders up to which a bucket is shorter and faster than a posting: 12 bytes each, 48 KiB.
pub(crate) const HOLDERS_MAX: u32 = 4096;

/// The version byte of a chunk.
const VERSION: u8 = 1;
/// Bytes of version and cardinality.
const HEADER_BYTES: usize = 3;
/// Bytes of a key up to the chunk number.
pub(crate) const PREFIX_BYTES: usize = 11;
/// Bytes of a chunk's key.
pub(crate) const KEY_BYTES: usize = PREFIX_BYTES + 4;

/// The key of a chunk.
pub(crate) type ChunkKey = [u8; KEY_BYTES];

/// The first bytes of the keys of all chunks of an index key.
pub(crate) fn prefix(key: &HashedKey) -> [u8; PREFIX_BYTES] {
    let [high, low] = key.base.to_be_bytes();
    prefix_of([key.kind as u8, high, low], key.hash)
}

/// The first bytes of the keys of all chunks, from kind and attribute number as they stand in keys,
/// and a hash.
pub(crate) fn prefix_of(owner: [u8; 3], hash: u64) -> [u8; PREFIX_BYTES] {
    let mut bytes = [0; PREFIX_BYTES];
    bytes[..3].copy_from_slice(&owner);
    bytes[3..].copy_from_slice(&hash.to_be_bytes());
    bytes
}

/// The key of the chunk that an id falls into.
pub(crate) fn chunk_key(key: &HashedKey, id: EntryId) -> ChunkKey {
    chunk_key_of(prefix(key), (id.0 >> 16) as u32)
}

pub(crate) fn chunk_key_of(prefix: [u8; PREFIX_BYTES], chunk: u32) -> ChunkKey {
    let mut bytes = [0; KEY_BYTES];
    bytes[..PREFIX_BYTES].copy_from_slice(&prefix);
    bytes[PREFIX_BYTES..].copy_from_slice(&chunk.to_be_bytes());
    bytes
}

pub(crate) fn chunk_of(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(
        key.get(PREFIX_BYTES..)?.try_into().ok()?,
    ))
}

/// Writes a chunk's value. The bitmap holds the low 32 bits of the ids, so that chunks can be
/// joined without touching their values. `bitmap` must not be empty.
pub(crate) fn encode(bitmap: &mut RoaringBitmap, out: &mut Vec<u8>) {
    bitmap.optimize();
    let cardinality = bitmap.len();
    assert!(
        (1..=65_536).contains(&cardinality),
        "a chunk holds 1 to 65,536 ids"
    );
    out.clear();
    out.push(VERSION);
    out.extend_from_slice(&((cardinality - 1) as u16).to_le_bytes());
    bitmap
        .serialize_into(out)
        .expect("writing into memory does not fail");
}

/// Number of ids of a chunk, read without decoding it.
pub(crate) fn cardinality(value: &[u8]) -> Result<u64, Error> {
    match value {
        [VERSION, low, high, ..] => Ok(u64::from(u16::from_le_bytes([*low, *high])) + 1),
        [found, ..] if *found != VERSION => Err(Error::Format {
            what: "a posting",
            found: (*found).into(),
            expected: VERSION.into(),
        }),
        _ => Err(Error::corrupt("posting", "a chunk is too short")),
    }
}

pub(crate) fn decode(value: &[u8]) -> Result<RoaringBitmap, Error> {
    cardinality(value)?;
    RoaringBitmap::deserialize_from(&value[HEADER_BYTES..])
        .map_err(|error| Error::corrupt("posting", format!("a chunk cannot be read: {error}")))
}

/// Chunks that a batch has changed and not written yet. Many writes of a batch change the same
/// chunks (new entries have consecutive ids), which are then encoded once.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// An empty bitmap stands for a chunk to delete.
    chunks: BTreeMap<ChunkKey, RoaringBitmap>,
}

/// Chunks kept in memory at most, of up to 8 KiB each.
const PENDING_MAX: usize = 4096;

impl Pending {
    /// Returns the chunk of an id, to be changed.
    pub fn chunk(
        &mut self,
        transaction: &mut WriteTransaction,
        table: Table,
        key: &HashedKey,
        id: EntryId,
    ) -> Result<&mut RoaringBitmap, Error> {
        if self.chunks.len() >= PENDING_MAX {
            self.flush(transaction, table)?;
        }
        match self.chunks.entry(chunk_key(key, id)) {
            MapEntry::Occupied(present) => Ok(present.into_mut()),
            MapEntry::Vacant(vacant) => {
                let stored = transaction
                    .get(table, vacant.key())?
                    .map(decode)
                    .transpose()?;
                Ok(vacant.insert(stored.unwrap_or_default()))
            }
        }
    }

    /// Writes all pending chunks.
    pub fn flush(&mut self, transaction: &mut WriteTransaction, table: Table) -> Result<(), Error> {
        let mut value = Vec::new();
        for (key, mut bitmap) in std::mem::take(&mut self.chunks) {
            if bitmap.is_empty() {
                transaction.delete(table, &key)?;
            } else {
                encode(&mut bitmap, &mut value);
                transaction.put(table, &key, &value, Put::Upsert)?;
            }
        }
        Ok(())
    }

    fn of(&self, prefix: [u8; PREFIX_BYTES]) -> impl Iterator<Item = (&ChunkKey, &RoaringBitmap)> {
        let range = chunk_key_of(prefix, 0)..=chunk_key_of(prefix, u32::MAX);
        self.chunks.range(range)
    }
}

/// All ids of a posting, with the `pending` chunks of a batch in place of stored ones.
pub(crate) fn ids(
    transaction: &Transaction,
    table: Table,
    pending: Option<&Pending>,
    key: &HashedKey,
) -> Result<RoaringTreemap, Error> {
    let prefix = prefix(key);
    let mut high_parts: Vec<(u32, RoaringBitmap)> = Vec::new();
    let mut cursor = transaction.cursor(table)?;
    let mut row = cursor.seek(&prefix)?;
    while let Some((key, value)) = row.filter(|(key, _)| key.starts_with(&prefix)) {
        if !pending.is_some_and(|it| it.chunks.contains_key(key)) {
            let chunk = chunk_of(key).ok_or_else(|| Error::corrupt("posting", "odd key"))?;
            join(&mut high_parts, chunk, decode(value)?);
        }
        row = cursor.next()?;
    }
    for (key, bitmap) in pending.into_iter().flat_map(|it| it.of(prefix)) {
        if let Some(chunk) = chunk_of(key).filter(|_| !bitmap.is_empty()) {
            join(&mut high_parts, chunk, bitmap.clone());
        }
    }
    Ok(RoaringTreemap::from_bitmaps(high_parts))
}

fn join(parts: &mut Vec<(u32, RoaringBitmap)>, chunk: u32, bitmap: RoaringBitmap) {
    let high = chunk >> 16;
    match parts.iter_mut().rev().find(|(it, _)| *it == high) {
        Some((_, joined)) => *joined |= bitmap,
        None => parts.push((high, bitmap)),
    }
}

/// Number of chunks whose cardinality an estimate reads at most.
const ESTIMATE_CHUNKS_MAX: u32 = 64;

/// Approximate number of ids of a posting: exact for up to 64 chunks (4 million entries), otherwise
/// extrapolated from the first ones.
pub(crate) fn estimate(
    transaction: &Transaction,
    table: Table,
    pending: Option<&Pending>,
    key: &HashedKey,
) -> Result<u64, Error> {
    let prefix = prefix(key);
    let (mut sum, mut chunks, mut first) = (0, 0, None);
    let mut cursor = transaction.cursor(table)?;
    let mut row = cursor.seek(&prefix)?;
    while let Some((key, value)) = row.filter(|(key, _)| key.starts_with(&prefix)) {
        sum += cardinality(value)?;
        chunks += 1;
        let last = chunk_of(key).unwrap_or_default();
        first.get_or_insert(last);
        if chunks == ESTIMATE_CHUNKS_MAX {
            let end = last_chunk(transaction, table, prefix)?.unwrap_or(last);
            let seen = u64::from(last - first.unwrap_or(last)) + 1;
            let all = u64::from(end.saturating_sub(first.unwrap_or(last))) + 1;
            return Ok(sum.saturating_mul(all) / seen);
        }
        row = cursor.next()?;
    }
    // Adds chunks that the batch made and the table lacks; for others the stored number is near
    // enough.
    let of_batch = pending.into_iter().flat_map(|it| it.of(prefix));
    let new: u64 = if chunks == 0 {
        of_batch.map(|(_, it)| it.len()).sum()
    } else {
        0
    };
    Ok(sum + new)
}

fn last_chunk(
    transaction: &Transaction,
    table: Table,
    prefix: [u8; PREFIX_BYTES],
) -> Result<Option<u32>, Error> {
    let mut cursor = transaction.cursor(table)?;
    let row = match cursor.seek(&chunk_key_of(prefix, u32::MAX))? {
        Some((key, _)) if key.starts_with(&prefix) => return Ok(Some(u32::MAX)),
        Some(_) => cursor.previous()?,
        None => cursor.last()?,
    };
    Ok(row
        .filter(|(key, _)| key.starts_with(&prefix))
        .and_then(|(key, _)| chunk_of(key)))
}
