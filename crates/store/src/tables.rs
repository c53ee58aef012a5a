//! The tables of the database, and the encoding of simple keys and values.
//!
//! The layout of every key and value stands in docs/formats/database.md.

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use crate::error::Error;
use crate::id::{EntryId, ID_BYTES};
use crate::lmdb::{Table, TableOptions};

/// The handles of all tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tables {
    pub entry: Table,
    pub name: Table,
    pub index: Table,
    pub posting: Table,
    pub order: Table,
    pub count: Table,
    pub dictionary: Table,
    pub history: Table,
    pub link: Table,
    pub linked: Table,
    pub linkset: Table,
    pub meta: Table,
}

/// Number of tables for which an environment reserves handles.
pub(crate) const TABLES_MAX: u32 = 16;

impl Tables {
    /// Opens all tables with the function given.
    pub fn open(
        open: &mut dyn FnMut(&'static str, TableOptions) -> Result<Table, Error>,
    ) -> Result<Tables, Error> {
        let mut plain = |name| open(name, TableOptions::Plain);
        Ok(Tables {
            entry: plain("entry")?,
            name: plain("name")?,
            posting: plain("posting")?,
            order: plain("order")?,
            count: plain("count")?,
            dictionary: plain("dictionary")?,
            history: plain("history")?,
            link: plain("link")?,
            linkset: plain("linkset")?,
            meta: plain("meta")?,
            index: open("index", TableOptions::FixedDuplicates)?,
            linked: open("linked", TableOptions::FixedDuplicates)?,
        })
    }
}

impl Tables {
    /// The tables with their names.
    pub fn all(&self) -> [(&'static str, Table); 12] {
        [
            ("entry", self.entry),
            ("name", self.name),
            ("index", self.index),
            ("posting", self.posting),
            ("order", self.order),
            ("count", self.count),
            ("dictionary", self.dictionary),
            ("history", self.history),
            ("link", self.link),
            ("linked", self.linked),
            ("linkset", self.linkset),
            ("meta", self.meta),
        ]
    }
}

/// Bytes of a normalised RDN up to which a name key holds it whole.
const RDN_BYTES_MAX: usize = 480;
/// Bytes of a longer RDN in its name key, before the hash: together one byte more than any whole
/// RDN, so that the two kinds never collide.
const RDN_PREFIX_BYTES: usize = RDN_BYTES_MAX + 1 - 16;
const _: () = assert!(8 + RDN_BYTES_MAX < 511, "LMDB's keys end at 511 bytes");

/// A key of the name table, built without allocation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameKey {
    bytes: [u8; 8 + RDN_BYTES_MAX + 1],
    length: usize,
}

impl NameKey {
    /// The key of an RDN (for a naming context: of the whole name) below `parent`.
    #[inline]
    pub fn new(parent: EntryId, rdn: &[u8]) -> NameKey {
        let mut key = NameKey {
            bytes: [0; 8 + RDN_BYTES_MAX + 1],
            length: 8 + rdn.len(),
        };
        key.bytes[..8].copy_from_slice(&parent.0.to_be_bytes());
        if rdn.len() <= RDN_BYTES_MAX {
            key.bytes[8..8 + rdn.len()].copy_from_slice(rdn);
        } else {
            let hash_at = 8 + RDN_PREFIX_BYTES;
            key.bytes[8..hash_at].copy_from_slice(&rdn[..RDN_PREFIX_BYTES]);
            key.bytes[hash_at..].copy_from_slice(&xxh3_128(rdn).to_be_bytes());
            key.length = key.bytes.len();
        }
        key
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Decodes the parent from a name key.
pub(crate) fn parent_of_name_key(key: &[u8]) -> Option<EntryId> {
    Some(EntryId(u64::from_be_bytes(key.get(..8)?.try_into().ok()?)))
}

/// Encodes an eight-byte key: of an entry, or of a container's child count.
#[inline]
pub(crate) fn id_key(id: EntryId) -> [u8; 8] {
    id.0.to_be_bytes()
}

pub(crate) fn id_of_key(key: &[u8], table: &'static str) -> Result<EntryId, Error> {
    let bytes = key
        .try_into()
        .map_err(|_| Error::corrupt(table, "a key is not eight bytes"))?;
    Ok(EntryId(u64::from_be_bytes(bytes)))
}

/// Bytes of the value of a name row.
const NAME_VALUE_BYTES: usize = ID_BYTES + 4;

/// Encodes the value of a name row: the id, and a checksum of key and id.
pub(crate) fn name_value(key: &[u8], id: EntryId) -> [u8; NAME_VALUE_BYTES] {
    let mut value = [0; NAME_VALUE_BYTES];
    value[..ID_BYTES].copy_from_slice(&id.packed());
    value[ID_BYTES..].copy_from_slice(&name_checksum(key, id).to_le_bytes());
    value
}

/// Decodes the id from the value of a name row, after comparing its checksum. Rows written before
/// checksums existed have none.
#[inline]
pub(crate) fn id_of_name(key: &[u8], value: &[u8]) -> Result<EntryId, Error> {
    let (id, checksum) = value.split_at(value.len().min(ID_BYTES));
    let unreadable = || Error::corrupt("name", "a value is not an id with a checksum");
    let id = EntryId::unpack(id).ok_or_else(unreadable)?;
    if checksum.is_empty() || checksum == name_checksum(key, id).to_le_bytes() {
        return Ok(id);
    }
    Err(Error::corrupt("name", "a checksum does not fit its row"))
}

fn name_checksum(key: &[u8], id: EntryId) -> u32 {
    (xxh3_64_with_seed(key, id.0) >> 32) as u32
}

/// Decodes a child count.
pub(crate) fn count_of_value(value: &[u8]) -> Result<u64, Error> {
    let bytes = value
        .try_into()
        .map_err(|_| Error::corrupt("count", "a value is not eight bytes"))?;
    Ok(u64::from_le_bytes(bytes))
}
