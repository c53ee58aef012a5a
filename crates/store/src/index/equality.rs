//! Equality buckets: the holders of a value, found by its hash.
//!
//! The key of a bucket is kind, attribute number and the first 16 bits of the hash; its items are
//! the other 48 bits and an id. Different values may share a hash, so holders are always verified
//! on the entry. A value with very many holders has one item with id 0, which says that its holders
//! stand in the posting table: a look-up learns that without another search.

use crate::error::Error;
use crate::id::{EntryId, ID_BYTES};
use crate::index::keys::HashedKey;
use crate::index_set::IndexKind;
use crate::lmdb::{RowValues, Table, Transaction};
use schema::AttributeNumber;

/// Bytes of a bucket's key.
pub(crate) const BUCKET_BYTES: usize = 5;
/// Bytes of the hash in an item.
const REST_BYTES: usize = 6;
/// The greatest value of the hash part in an item.
const REST_MAX: u64 = (1 << (8 * REST_BYTES)) - 1;
/// Bytes of an item.
pub(crate) const ITEM_BYTES: usize = REST_BYTES + ID_BYTES;

/// Returns the key of the bucket that an index key falls into.
#[inline]
pub(crate) fn bucket(key: &HashedKey) -> [u8; BUCKET_BYTES] {
    let [base_high, base_low] = key.base.to_be_bytes();
    let [first, second, ..] = key.hash.to_be_bytes();
    [key.kind as u8, base_high, base_low, first, second]
}

/// The first bytes of the buckets and of the postings of an attribute.
pub(crate) fn prefix(kind: IndexKind, base: AttributeNumber) -> [u8; 3] {
    let [high, low] = base.0.to_be_bytes();
    [kind as u8, high, low]
}

/// Encodes the item of a holder; with [`EntryId::ROOT`], the mark that stands before all holders.
#[inline]
pub(crate) fn item(hash: u64, id: EntryId) -> [u8; ITEM_BYTES] {
    let mut item = [0; ITEM_BYTES];
    item[..REST_BYTES].copy_from_slice(&hash.to_be_bytes()[2..]);
    item[REST_BYTES..].copy_from_slice(&id.packed());
    item
}

/// Returns the id in an item, if the item has this hash.
#[inline]
pub(crate) fn holder(item: &[u8], hash: u64) -> Option<EntryId> {
    let (rest, id) = item.split_at_checked(REST_BYTES)?;
    (*rest == hash.to_be_bytes()[2..]).then(|| EntryId::unpack(id))?
}

/// The holders of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holders {
    /// No entry.
    Nobody,
    /// One entry, the usual case, found without allocating.
    One(EntryId),
    /// Several entries, by id.
    Few(Vec<EntryId>),
    /// More than were asked for: at most this many.
    Many(u64),
    /// Holders in the posting table.
    Posted,
}

/// Looks up the holders of a key; beyond `most`, a bound of their number.
#[inline]
pub(crate) fn holders(
    transaction: &Transaction,
    table: Table,
    key: &HashedKey,
    most: usize,
) -> Result<Holders, Error> {
    let bucket = bucket(key);
    match transaction.find(table, &bucket) {
        Some(RowValues::Nothing) => return Ok(Holders::Nobody),
        Some(RowValues::Value(items) | RowValues::Items(items)) => {
            return Ok(holders_among(items, key.hash, most));
        }
        // The bucket has a tree of its own, or a batch reads its own writes.
        Some(RowValues::Tree) | None => {}
    }
    let mut cursor = transaction.cursor(table)?;
    let first = cursor.seek_item(&bucket, &item(key.hash, EntryId::ROOT))?;
    let Some(first) = first.and_then(|item| holder(item, key.hash)) else {
        return Ok(Holders::Nobody);
    };
    if first.is_root() {
        return Ok(Holders::Posted);
    }
    let mut several = Vec::new();
    while let Some((_, item)) = cursor.next_duplicate()? {
        let Some(id) = holder(item, key.hash) else {
            break;
        };
        if several.is_empty() {
            several.push(first);
        } else if several.len() == most {
            return Ok(Holders::Many(cursor.item_count()?));
        }
        several.push(id);
    }
    Ok(if several.is_empty() {
        Holders::One(first)
    } else {
        Holders::Few(several)
    })
}

/// Looks up the holders of a hash in the items of a whole bucket.
#[inline]
fn holders_among(items: &[u8], hash: u64, most: usize) -> Holders {
    let (items, _) = items.as_chunks::<ITEM_BYTES>();
    let rest = hash & REST_MAX;
    // Hashes are spread evenly, so the place of a hash can be guessed.
    let mut at = ((u128::from(rest) * items.len() as u128) >> (8 * REST_BYTES)) as usize;
    while at > 0 && rest_of(&items[at - 1]) >= rest {
        at -= 1;
    }
    while at < items.len() && rest_of(&items[at]) < rest {
        at += 1;
    }
    let own = || items[at..].iter().take_while(|it| rest_of(it) == rest);
    let ids = || own().filter_map(|it| holder(it, hash));
    match (ids().next(), own().count()) {
        (None, _) => Holders::Nobody,
        (Some(first), _) if first.is_root() => Holders::Posted,
        (Some(first), 1) => Holders::One(first),
        (Some(_), count) if count > most => Holders::Many(items.len() as u64),
        _ => Holders::Few(ids().collect()),
    }
}

/// The part of the hash in an item, without the bits that select the bucket.
#[inline]
fn rest_of(item: &[u8; ITEM_BYTES]) -> u64 {
    let [a, b, c, d, e, f, ..] = *item;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}
