//! Appending the buckets and postings of one index kind of one attribute.

use std::collections::BTreeMap;

use super::collect::{Chunks, Group, chunk_of_run, hash_of, id_of, item_of_run};
use super::loader::BulkLoader;
use super::runs::Runs;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::equality::{BUCKET_BYTES, bucket, item};
use crate::index::keys::HashedKey;
use crate::index::posting;
use crate::index_set::IndexKind;
use crate::lmdb::Put;

/// Appends all keys of a group, in memory and in files.
pub(super) fn append_group(
    loader: &mut BulkLoader,
    kind: IndexKind,
    base: u16,
    group: Group,
) -> Result<(), Error> {
    if group.keeps_buckets() {
        let postings = append_buckets(loader, kind, base, group)?;
        append_postings(loader, kind, base, postings)
    } else if group.chunk_runs.is_empty() {
        append_postings(loader, kind, base, group.postings.into_iter().collect())
    } else {
        append_runs(loader, kind, base, group.chunk_runs)
    }
}

/// Appends the buckets; returns the values with very many holders, which go to postings.
fn append_buckets(
    loader: &mut BulkLoader,
    kind: IndexKind,
    base: u16,
    group: Group,
) -> Result<BTreeMap<u64, Chunks>, Error> {
    let mut hot: BTreeMap<u64, Chunks> = group.hot.into_iter().collect();
    if !group.chunk_runs.is_empty() {
        each_chunk(group.chunk_runs, &mut |hash, chunk, value| {
            hot.entry(hash).or_default().push_chunk(chunk, value)
        })?;
    }
    let mut buckets = Buckets {
        kind,
        base,
        hot,
        last: None,
        rows: 0,
        hash: 0,
        first: Vec::new(),
        more: None,
        postings: BTreeMap::new(),
    };
    if group.item_runs.is_empty() {
        for item in &group.items {
            buckets.add(loader, *item)?;
        }
    } else {
        let add = &mut |key: &[u8], _: &[u8]| buckets.add(loader, item_of_run(key)?);
        group.item_runs.merge(add)?;
    }
    buckets.flush(loader)?;
    loader.commit()?;
    Ok(buckets.postings)
}

fn append_postings(
    loader: &mut BulkLoader,
    kind: IndexKind,
    base: u16,
    postings: BTreeMap<u64, Chunks>,
) -> Result<(), Error> {
    let mut rows = 0;
    for (hash, chunks) in postings {
        for (chunk, value) in chunks.finish() {
            put_chunk(loader, &HashedKey { kind, base, hash }, chunk, &value)?;
            rows += 1;
            loader.commit_after(rows)?;
        }
    }
    loader.commit()
}

fn append_runs(
    loader: &mut BulkLoader,
    kind: IndexKind,
    base: u16,
    runs: Runs,
) -> Result<(), Error> {
    let mut rows = 0;
    each_chunk(runs, &mut |hash, chunk, value| {
        put_chunk(loader, &HashedKey { kind, base, hash }, chunk, value)?;
        rows += 1;
        loader.commit_after(rows)
    })?;
    loader.commit()
}

fn put_chunk(
    loader: &mut BulkLoader,
    key: &HashedKey,
    chunk: u32,
    value: &[u8],
) -> Result<(), Error> {
    let key = posting::chunk_key_of(posting::prefix(key), chunk);
    let table = loader.store.shared.tables.posting;
    loader.transaction()?.put(table, &key, value, Put::Append)
}

/// Callback that takes hash, chunk number and bytes of a chunk.
type TakeChunk<'t> = dyn FnMut(u64, u32, &[u8]) -> Result<(), Error> + 't;

/// Calls `act` with all chunks of the runs in order; parts of one chunk are joined.
fn each_chunk(runs: Runs, act: &mut TakeChunk<'_>) -> Result<(), Error> {
    let mut last: Option<(u64, u32)> = None;
    let mut joined: Vec<u8> = Vec::new();
    runs.merge(&mut |key, value| {
        let at = chunk_of_run(key)?;
        if last == Some(at) {
            let mut both = posting::decode(&joined)? | posting::decode(value)?;
            posting::encode(&mut both, &mut joined);
            return Ok(());
        }
        if let Some((hash, chunk)) = last.replace(at) {
            act(hash, chunk, &joined)?;
        }
        joined.clear();
        joined.extend_from_slice(value);
        Ok(())
    })?;
    match last {
        Some((hash, chunk)) => act(hash, chunk, &joined),
        None => Ok(()),
    }
}

/// Writes the holders of one value after another, in the order of hashes and ids.
struct Buckets {
    kind: IndexKind,
    base: u16,
    /// Later holders of values with very many holders.
    hot: BTreeMap<u64, Chunks>,
    /// The key of the row written last.
    last: Option<[u8; BUCKET_BYTES]>,
    rows: usize,
    /// Hash of the current value.
    hash: u64,
    first: Vec<EntryId>,
    /// All holders of the current value, once they are too many for a bucket.
    more: Option<Chunks>,
    postings: BTreeMap<u64, Chunks>,
}

impl Buckets {
    fn add(&mut self, loader: &mut BulkLoader, item: u128) -> Result<(), Error> {
        let (hash, id) = (hash_of(item), id_of(item));
        if hash != self.hash {
            self.flush(loader)?;
            self.hash = hash;
        }
        if let Some(more) = &mut self.more {
            more.push(id);
            return Ok(());
        }
        self.first.push(id);
        if self.first.len() as u64 > loader.store.shared.holders_max {
            let mut more = Chunks::default();
            self.first.drain(..).for_each(|id| more.push(id));
            self.more = Some(more);
        }
        Ok(())
    }

    /// Writes the holders of the current value.
    fn flush(&mut self, loader: &mut BulkLoader) -> Result<(), Error> {
        if self.first.is_empty() && self.more.is_none() {
            return Ok(());
        }
        let hash = self.hash;
        let hot = self.hot.remove(&hash).unwrap_or_default();
        let mut first = std::mem::take(&mut self.first);
        let total = first.len() as u64 + hot.len();
        if self.more.is_some() || total > loader.store.shared.holders_max {
            let mut all = self.more.take().unwrap_or_default();
            first.drain(..).for_each(|id| all.push(id));
            ids(hot)?.into_iter().for_each(|id| all.push(id));
            self.put(loader, hash, EntryId::ROOT)?;
            self.postings.insert(hash, all);
        } else {
            first.extend(ids(hot)?);
            for id in first.drain(..) {
                self.put(loader, hash, id)?;
            }
        }
        self.first = first;
        Ok(())
    }

    fn put(&mut self, loader: &mut BulkLoader, hash: u64, id: EntryId) -> Result<(), Error> {
        let key = bucket(&HashedKey {
            kind: self.kind,
            base: self.base,
            hash,
        });
        let put = if self.last == Some(key) {
            Put::AppendDuplicate
        } else {
            Put::Append
        };
        self.last = Some(key);
        let table = loader.store.shared.tables.index;
        loader
            .transaction()?
            .put(table, &key, &item(hash, id), put)?;
        self.rows += 1;
        loader.commit_after(self.rows)
    }
}

fn ids(chunks: Chunks) -> Result<Vec<EntryId>, Error> {
    let mut ids = Vec::with_capacity(chunks.len() as usize);
    for (chunk, value) in chunks.finish() {
        let high = u64::from(chunk >> 16) << 32;
        let low = posting::decode(&value)?;
        ids.extend(low.iter().map(|low| EntryId(high | u64::from(low))));
    }
    Ok(ids)
}
