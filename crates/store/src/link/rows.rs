//! Keys and values of the link tables. Numbers in keys are big-endian.

use schema::AttributeNumber;
use xxhash_rust::xxh3::xxh3_64;

use super::chunk;
use super::{Holder, LinkedSet, SetId};
use crate::error::Error;
use crate::id::{EntryId, ID_BYTES};

/// Bytes of a chunk's key: set and chunk number.
pub(crate) const CHUNK_KEY_BYTES: usize = ID_BYTES + 5;
/// Number of low bits of an id that the items of one key of `linked` distinguish.
const BUCKET_BITS: u32 = 14;
/// Bytes of an item of `linked`: the low bits and a set id.
pub(crate) const ITEM_BYTES: usize = 2 + ID_BYTES;

/// First byte of the keys of `linkset`, by kind of row.
const OWNED: u8 = 0;
const OWNER: u8 = 1;
const TEXT: u8 = 2;
const TEXT_HASH: u8 = 3;
const DETACHED: u8 = 4;

/// The key of the chunk of a set that a member falls into.
pub(crate) fn chunk_key(set: SetId, member: EntryId) -> [u8; CHUNK_KEY_BYTES] {
    let mut key = [0; CHUNK_KEY_BYTES];
    key[..ID_BYTES].copy_from_slice(&set.0.packed());
    key[ID_BYTES..].copy_from_slice(&(member.0 >> chunk::BITS).to_be_bytes()[3..]);
    key
}

/// Decodes set and first id from the key of a chunk.
pub(crate) fn of_chunk_key(key: &[u8]) -> Option<(SetId, EntryId)> {
    let (set, number) = key.split_at_checked(ID_BYTES)?;
    let [a, b, c, d, e]: [u8; 5] = number.try_into().ok()?;
    let number = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
    Some((SetId(EntryId::unpack(set)?), EntryId(number << chunk::BITS)))
}

/// The low bits of an id, which stand in its chunk.
pub(crate) fn low(member: EntryId) -> u16 {
    (member.0 & ((1 << chunk::BITS) - 1)) as u16
}

/// Returns the key of `linked` that a member falls into.
pub(crate) fn bucket(member: EntryId) -> [u8; 5] {
    let [_, _, _, bucket @ ..] = (member.0 >> BUCKET_BITS).to_be_bytes();
    bucket
}

/// Encodes the item of a member and a set; with set 0, the bound before all sets of the member.
pub(crate) fn item(member: EntryId, set: SetId) -> [u8; ITEM_BYTES] {
    let low = (member.0 & ((1 << BUCKET_BITS) - 1)) as u16;
    let mut item = [0; ITEM_BYTES];
    item[..2].copy_from_slice(&low.to_be_bytes());
    item[2..].copy_from_slice(&set.0.packed());
    item
}

/// Decodes member and set from an item.
pub(crate) fn of_item(bucket: &[u8], item: &[u8]) -> Option<(EntryId, SetId)> {
    let [a, b, c, d, e]: [u8; 5] = bucket.try_into().ok()?;
    let (low, set) = item.split_at_checked(2)?;
    let low = u16::from_be_bytes(low.try_into().ok()?);
    let high = u64::from_be_bytes([0, 0, 0, a, b, c, d, e]) << BUCKET_BITS;
    let sound = low < 1 << BUCKET_BITS;
    sound.then_some((EntryId(high | u64::from(low)), SetId(EntryId::unpack(set)?)))
}

/// The first bytes of the keys of the sets of an entry.
pub(crate) fn owned_prefix(id: EntryId) -> [u8; 1 + ID_BYTES] {
    with_id(OWNED, id)
}

/// Returns the key of the set of an attribute of an entry.
pub(crate) fn owned_key(id: EntryId, number: AttributeNumber) -> [u8; 3 + ID_BYTES] {
    let mut key = [0; 3 + ID_BYTES];
    key[..1 + ID_BYTES].copy_from_slice(&owned_prefix(id));
    key[1 + ID_BYTES..].copy_from_slice(&number.0.to_be_bytes());
    key
}

pub(crate) fn owned_value(set: SetId, count: u64) -> [u8; ID_BYTES + 8] {
    let mut value = [0; ID_BYTES + 8];
    value[..ID_BYTES].copy_from_slice(&set.0.packed());
    value[ID_BYTES..].copy_from_slice(&count.to_le_bytes());
    value
}

/// Decodes entry and set from a row of an owned set; `None` for rows of other kinds.
pub(crate) fn of_owned(key: &[u8], value: &[u8]) -> Result<Option<(EntryId, LinkedSet)>, Error> {
    if key.first() != Some(&OWNED) {
        return Ok(None);
    }
    let read = || {
        let (id, number) = key[1..].split_at_checked(ID_BYTES)?;
        let (set, count) = value.split_at_checked(ID_BYTES)?;
        let set = LinkedSet {
            number: AttributeNumber(u16::from_be_bytes(number.try_into().ok()?)),
            set: SetId(EntryId::unpack(set)?),
            count: u64::from_le_bytes(count.try_into().ok()?),
        };
        Some((EntryId::unpack(id)?, set))
    };
    read()
        .map(Some)
        .ok_or_else(|| damaged("the set of an entry"))
}

/// Returns the key of a set's owner.
pub(crate) fn owner_key(set: SetId) -> [u8; 1 + ID_BYTES] {
    with_id(OWNER, set.0)
}

/// Encodes the owner of a set; id 0 for a detached set.
pub(crate) fn owner_value(id: EntryId, number: AttributeNumber) -> [u8; ID_BYTES + 2] {
    let mut value = [0; ID_BYTES + 2];
    value[..ID_BYTES].copy_from_slice(&id.packed());
    value[ID_BYTES..].copy_from_slice(&number.0.to_be_bytes());
    value
}

/// Decodes the owner of a set; `None` for a detached set.
pub(crate) fn of_owner(set: SetId, value: &[u8]) -> Result<Option<Holder>, Error> {
    let read = || {
        let (id, number) = value.split_at_checked(ID_BYTES)?;
        Some(Holder {
            id: EntryId::unpack(id)?,
            number: AttributeNumber(u16::from_be_bytes(number.try_into().ok()?)),
            set,
        })
    };
    let holder = read().ok_or_else(|| damaged("the owner of a set"))?;
    Ok((!holder.id.is_root()).then_some(holder))
}

/// Returns the key that marks a set as detached.
pub(crate) fn detached_key(set: SetId) -> [u8; 1 + ID_BYTES] {
    with_id(DETACHED, set.0)
}

/// The first bytes of the keys of detached sets.
pub(crate) fn detached_prefix() -> [u8; 1] {
    [DETACHED]
}

/// Decodes the set from the key of a detached set.
pub(crate) fn of_detached(key: &[u8]) -> Option<SetId> {
    let rest = key.strip_prefix(&[DETACHED])?;
    Some(SetId(EntryId::unpack(rest)?))
}

/// Returns the key of a text.
pub(crate) fn text_key(id: EntryId) -> [u8; 1 + ID_BYTES] {
    with_id(TEXT, id)
}

/// The first bytes of the keys of texts.
pub(crate) fn text_prefix() -> [u8; 1] {
    [TEXT]
}

/// Decodes the id from the key of a text.
pub(crate) fn of_text_key(key: &[u8]) -> Option<EntryId> {
    EntryId::unpack(key.strip_prefix(&[TEXT])?)
}

/// Encodes a text with its normal form.
pub(crate) fn text_value(text: &[u8], normal: &[u8]) -> Vec<u8> {
    let length = (normal.len() as u32).to_le_bytes();
    [&length, normal, text].concat()
}

/// A text as given, and its normal form.
pub(crate) type Text<'a> = (&'a [u8], &'a [u8]);

/// Decodes a text and its normal form.
pub(crate) fn of_text(value: &[u8]) -> Result<Text<'_>, Error> {
    let read = || {
        let (length, rest) = value.split_first_chunk::<4>()?;
        let (normal, text) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some((text, normal))
    };
    read().ok_or_else(|| damaged("a text"))
}

/// The first bytes of the hash keys of texts with this normal form.
pub(crate) fn hash_prefix(normal: &[u8]) -> [u8; 9] {
    let mut key = [TEXT_HASH; 9];
    key[1..].copy_from_slice(&xxh3_64(normal).to_be_bytes());
    key
}

/// A key that leads from the hash of a normal form to a text.
pub(crate) type HashKey = [u8; 9 + ID_BYTES];

/// Returns the key that leads from a normal form to a text.
pub(crate) fn hash_key(normal: &[u8], id: EntryId) -> HashKey {
    let mut key = [0; 9 + ID_BYTES];
    key[..9].copy_from_slice(&hash_prefix(normal));
    key[9..].copy_from_slice(&id.packed());
    key
}

/// Decodes the id of the text from a hash key.
pub(crate) fn of_hash_key(key: &[u8]) -> Option<EntryId> {
    key.first().filter(|it| **it == TEXT_HASH)?;
    EntryId::unpack(key.get(9..)?)
}

/// The kind of a row of `linkset`, for the checks that count rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Owned,
    Owner,
    Text,
    TextHash,
    Detached,
}

pub(crate) fn kind(key: &[u8]) -> Option<Kind> {
    Some(match *key.first()? {
        OWNED => Kind::Owned,
        OWNER => Kind::Owner,
        TEXT => Kind::Text,
        TEXT_HASH => Kind::TextHash,
        DETACHED => Kind::Detached,
        _ => return None,
    })
}

fn with_id(kind: u8, id: EntryId) -> [u8; 1 + ID_BYTES] {
    let mut key = [kind; 1 + ID_BYTES];
    key[1..].copy_from_slice(&id.packed());
    key
}

pub(crate) fn damaged(what: &'static str) -> Error {
    Error::corrupt("linkset", format!("{what} cannot be read"))
}
