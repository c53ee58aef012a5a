//! Collecting keys in compact form until they are sorted: in memory and, beyond a limit, in sorted
//! runs.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::path::Path;

use roaring::RoaringBitmap;

use crate::batch::keeps_buckets;
use crate::bulk::runs::{RunWriter, Runs};
use crate::containers::Spread;
use crate::error::Error;
use crate::fields::{FieldReader, Fields};
use crate::id::EntryId;
use crate::index::posting;
use crate::index_set::IndexKind;

/// Number of entries in which values with very many holders are looked for.
pub(super) const SAMPLE_ENTRIES: u64 = 8192;
/// A value becomes hot, collected as a posting at once, when one entry in so many holds it.
const HOT_SHARE: u64 = 64;
/// Hot values of one index at most; each key is compared with all of them.
const HOT_MAX: usize = 16;

/// Approximate bytes of a key of a posting kind, without its ids.
const KEY_BYTES: usize = 96;

/// The keys of one kind of one attribute.
#[derive(Debug)]
pub(super) struct Group {
    /// Keys of the kinds that keep buckets: hash and id as one number, in the order of the rows.
    pub items: Vec<u128>,
    /// Hot values, which many entries hold: 2 bytes for each entry instead of 16, and no sorting.
    /// Their first holders are in `items`.
    pub hot: Vec<(u64, Chunks)>,
    /// Keys of the other kinds, with the ids of each.
    pub postings: HashMap<u64, Chunks, BuildHasherDefault<Spread>>,
    /// Items moved to files.
    pub item_runs: Runs,
    /// Chunks of hot values or of postings moved to files. A chunk that was incomplete then has
    /// parts in several runs.
    pub chunk_runs: Runs,
    keeps_buckets: bool,
    /// Approximate bytes of hot values and postings in memory.
    chunk_bytes: usize,
    settled: bool,
}

impl Group {
    pub fn boxed(kind: IndexKind) -> Box<Group> {
        Box::new(Group {
            items: Vec::new(),
            hot: Vec::new(),
            postings: HashMap::default(),
            item_runs: Runs::default(),
            chunk_runs: Runs::default(),
            keeps_buckets: keeps_buckets(kind),
            chunk_bytes: 0,
            settled: false,
        })
    }

    /// Adds a holder; ids come in ascending order.
    #[inline]
    pub fn add(&mut self, hash: u64, id: EntryId, sampling: bool) {
        if !self.keeps_buckets {
            let chunks = self.postings.entry(hash).or_default();
            self.chunk_bytes += if chunks.len() == 0 { KEY_BYTES } else { 2 };
            chunks.push(id);
            return;
        }
        if !sampling && let Some((_, chunks)) = self.hot.iter_mut().find(|(it, _)| *it == hash) {
            self.chunk_bytes += 2;
            chunks.push(id);
            return;
        }
        self.items.push(item(hash, id));
    }

    /// Ends the sample: values that very many of the sampled entries hold become hot.
    pub fn settle(&mut self) {
        if self.settled || !self.keeps_buckets {
            return;
        }
        self.settled = true;
        let mut hashes: Vec<u64> = self.items.iter().map(|it| hash_of(*it)).collect();
        hashes.sort_unstable();
        for run in hashes.chunk_by(|a, b| a == b) {
            if run.len() as u64 > SAMPLE_ENTRIES / HOT_SHARE && self.hot.len() < HOT_MAX {
                self.hot.push((run[0], Chunks::default()));
            }
        }
    }
}

impl Group {
    /// Returns whether the holders of a value stand in buckets until they are very many.
    pub fn keeps_buckets(&self) -> bool {
        self.keeps_buckets
    }

    /// Appends a group without keys in memory to `fields`: its hot values and its run files.
    pub fn keep(&mut self, fields: &mut Fields) -> Result<(), Error> {
        fields.number(u64::from(self.settled));
        fields.number(self.hot.len() as u64);
        self.hot.iter().for_each(|(hash, _)| fields.number(*hash));
        self.item_runs.keep(fields)?;
        self.chunk_runs.keep(fields)
    }

    /// Restores a group from the fields that [`Group::keep`] wrote.
    pub fn kept(kind: IndexKind, fields: &mut FieldReader<'_>) -> Result<Box<Group>, Error> {
        let mut group = Group::boxed(kind);
        group.settled = fields.number()? != 0;
        group.hot = fields.many(|fields| Ok((fields.number()?, Chunks::default())))?;
        group.item_runs = Runs::kept(fields)?;
        group.chunk_runs = Runs::kept(fields)?;
        Ok(group)
    }

    /// Approximate bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.items.capacity() * size_of::<u128>() + self.chunk_bytes
    }

    /// Moves all keys into files. The items must be sorted.
    pub fn spill(&mut self, folder: &Path, name: &str) -> Result<(), Error> {
        let items = std::mem::take(&mut self.items);
        if !items.is_empty() {
            self.item_runs
                .add(folder, &format!("{name}-items"), |out| {
                    items
                        .iter()
                        .try_for_each(|it| out.put(&it.to_be_bytes()[ITEM_UNUSED..], &[]))
                })?;
        }
        let mut chunks: Vec<(u64, Chunks)> =
            std::mem::take(&mut self.postings).into_iter().collect();
        // Hot values stay hot.
        let hot = self.hot.iter_mut();
        chunks.extend(hot.map(|(hash, chunks)| (*hash, std::mem::take(chunks))));
        chunks.retain(|(_, chunks)| chunks.len() > 0);
        if chunks.is_empty() {
            return Ok(());
        }
        self.chunk_bytes = 0;
        chunks.sort_unstable_by_key(|(hash, _)| *hash);
        self.chunk_runs
            .add(folder, &format!("{name}-chunks"), |out| {
                chunks
                    .into_iter()
                    .try_for_each(|(hash, chunks)| put_chunks(out, hash, chunks))
            })
    }
}

/// Bytes at the beginning of an item as a number that are always zero.
const ITEM_UNUSED: usize = 2;

/// Decodes an item of a run.
pub(super) fn item_of_run(key: &[u8]) -> Result<u128, Error> {
    let mut bytes = [0; 16];
    if key.len() != bytes.len() - ITEM_UNUSED {
        return Err(Error::corrupt("sorted run", "an item has a wrong length"));
    }
    bytes[ITEM_UNUSED..].copy_from_slice(key);
    Ok(u128::from_be_bytes(bytes))
}

fn put_chunks(out: &mut RunWriter, hash: u64, chunks: Chunks) -> Result<(), Error> {
    for (chunk, value) in chunks.finish() {
        let mut key = [0; 12];
        key[..8].copy_from_slice(&hash.to_be_bytes());
        key[8..].copy_from_slice(&chunk.to_be_bytes());
        out.put(&key, &value)?;
    }
    Ok(())
}

/// Decodes hash and chunk number from a key of a run.
pub(super) fn chunk_of_run(key: &[u8]) -> Result<(u64, u32), Error> {
    let split = key.split_first_chunk::<8>();
    let parts = split.and_then(|(hash, chunk)| Some((*hash, *chunk.first_chunk::<4>()?)));
    let (hash, chunk) =
        parts.ok_or_else(|| Error::corrupt("sorted run", "a chunk's key is too short"))?;
    Ok((u64::from_be_bytes(hash), u32::from_be_bytes(chunk)))
}

pub(super) fn item(hash: u64, id: EntryId) -> u128 {
    u128::from(hash) << 48 | u128::from(id.0)
}

pub(super) fn hash_of(item: u128) -> u64 {
    (item >> 48) as u64
}

pub(super) fn id_of(item: u128) -> EntryId {
    EntryId(item as u64 & EntryId::MAX.0)
}

/// The chunks of a posting, collected from ascending ids.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    finished: Vec<(u32, Box<[u8]>)>,
    chunk: u32,
    low: Vec<u16>,
    count: u64,
}

impl Chunks {
    #[inline]
    pub fn push(&mut self, id: EntryId) {
        let chunk = (id.0 >> 16) as u32;
        if chunk != self.chunk {
            self.close();
            self.chunk = chunk;
        }
        self.low.push(id.0 as u16);
        self.count += 1;
    }

    /// Appends a complete chunk, whose number is greater than all before.
    pub fn push_chunk(&mut self, chunk: u32, value: &[u8]) -> Result<(), Error> {
        self.close();
        self.count += posting::cardinality(value)?;
        self.finished.push((chunk, value.into()));
        Ok(())
    }

    /// Number of ids.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Encodes the chunk that is being filled.
    fn close(&mut self) {
        if self.low.is_empty() {
            return;
        }
        let high = self.chunk << 16;
        let ids = self.low.drain(..).map(|low| high | u32::from(low));
        let mut bitmap: RoaringBitmap = ids.collect();
        let mut value = Vec::new();
        posting::encode(&mut bitmap, &mut value);
        self.finished.push((self.chunk, value.into_boxed_slice()));
    }

    /// Returns all chunks with their numbers.
    pub fn finish(mut self) -> Vec<(u32, Box<[u8]>)> {
        self.close();
        self.finished
    }
}

/// Keys of any length with an id each, collected for sorting.
#[derive(Debug, Default)]
pub(super) struct ByteKeys {
    bytes: Vec<u8>,
    rows: Vec<ByteKey>,
}

/// A key's place, and enough of its bytes to compare most keys without a memory access.
#[derive(Debug, Clone, Copy)]
struct ByteKey {
    /// 16 bytes of the key behind the prefix shared by many keys, padded with zeros.
    prefix: u128,
    /// Number that stands for the shared prefix, in the same order.
    rank: u64,
    offset: u64,
    /// Length of the key in bytes.
    key_length: u16,
    /// Length of key and value in bytes.
    length: u16,
}

impl ByteKeys {
    /// Adds the row that `parts` make up, whose first `key_length` bytes are the key. `rank` stands
    /// for the first `common` bytes of the key and is in the same order.
    pub fn add(&mut self, rank: u64, parts: &[&[u8]], key_length: usize, common: usize) {
        let offset = self.bytes.len();
        parts
            .iter()
            .for_each(|part| self.bytes.extend_from_slice(part));
        let key = &self.bytes[offset..offset + key_length];
        let mut prefix = [0; 16];
        let rest = &key[common.min(key_length)..];
        let taken = rest.len().min(prefix.len());
        prefix[..taken].copy_from_slice(&rest[..taken]);
        self.rows.push(ByteKey {
            prefix: u128::from_be_bytes(prefix),
            rank,
            offset: offset as u64,
            key_length: key_length as u16,
            length: (self.bytes.len() - offset) as u16,
        });
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.rows.capacity() * size_of::<ByteKey>()
    }

    pub fn sort(&mut self) {
        let bytes = &self.bytes;
        let whole = |it: &ByteKey| {
            let start = it.offset as usize;
            &bytes[start..start + usize::from(it.key_length)]
        };
        self.rows.sort_unstable_by(|a, b| {
            (a.rank, a.prefix)
                .cmp(&(b.rank, b.prefix))
                .then_with(|| whole(a).cmp(whole(b)))
        });
    }

    /// Moves all rows, which must be sorted, into a file.
    pub fn spill(&mut self, runs: &mut Runs, folder: &Path, name: &str) -> Result<(), Error> {
        let keys = std::mem::take(self);
        if keys.rows.is_empty() {
            return Ok(());
        }
        runs.add(folder, name, |out| {
            let mut rows = keys.rows();
            rows.try_for_each(|(key, value)| out.put(key, value))
        })
    }

    /// Keys and values in their present order.
    pub fn rows(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.rows.iter().map(|it| {
            let start = it.offset as usize;
            let row = &self.bytes[start..start + usize::from(it.length)];
            row.split_at(usize::from(it.key_length))
        })
    }
}
