//! The end of a bulk load: sorting, and appending every tree in its order.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::collect::{ByteKeys, Chunks, Group, hash_of, id_of};
use super::{BulkLoader, Loaded, group_slot};
use crate::error::Error;
use crate::id::EntryId;
use crate::index::equality::{bucket, item};
use crate::index::keys::HashedKey;
use crate::index::posting;
use crate::index_set::IndexKind;
use crate::lmdb::{Put, Table};
use crate::state::STATE_KEY;
use crate::store::DATABASE_FILE;

/// Rows written in one transaction.
const TRANSACTION_ROWS: usize = 200_000;

/// Threads that sort.
const SORTERS: usize = 2;

pub(super) fn finish(mut loader: BulkLoader) -> Result<Loaded, Error> {
    loader.commit()?;
    sort(&mut loader);
    let tables = loader.store.shared.tables;
    let names = std::mem::take(&mut loader.names);
    check_distinct(&names)?;
    append_keys(&mut loader, tables.name, &names)?;
    drop(names);
    let counts: BTreeMap<u64, u64> = std::mem::take(&mut loader.counts).into_iter().collect();
    for (parent, count) in counts {
        let (key, value) = (parent.to_be_bytes(), count.to_le_bytes());
        loader
            .transaction()?
            .put(tables.count, &key, &value, Put::Append)?;
    }
    let ordered = std::mem::take(&mut loader.ordered);
    append_keys(&mut loader, tables.order, &ordered)?;
    drop(ordered);
    let mut groups = std::mem::take(&mut loader.groups);
    for kind in IndexKind::ALL {
        for (slot, group) in groups.iter_mut().enumerate() {
            let base = (slot / 8) as u16;
            if slot == group_slot(kind, base)
                && let Some(group) = group.take()
            {
                append_group(&mut loader, kind, base, *group)?;
            }
        }
    }
    let state = loader.state;
    loader
        .transaction()?
        .put(tables.meta, STATE_KEY, &state.encode(), Put::Upsert)?;
    loader.commit()?;
    loader.store.sync()?;
    crate::store::sync_folder(loader.store.folder())?;
    let file = loader.store.folder().join(DATABASE_FILE);
    let bytes = std::fs::metadata(file)
        .map_err(Error::system("reading a file's size"))?
        .len();
    Ok(Loaded {
        entries: state.entries,
        digest: state.digest,
        bytes,
    })
}

/// Sorts everything, the longest first, on a few threads.
fn sort(loader: &mut BulkLoader) {
    let mut tasks: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
    for group in loader.groups.iter_mut().flatten() {
        tasks.push(Box::new(|| group.items.sort_unstable()));
    }
    tasks.push(Box::new(|| loader.ordered.sort()));
    tasks.push(Box::new(|| loader.names.sort()));
    let tasks = Mutex::new(tasks);
    std::thread::scope(|scope| {
        for _ in 0..SORTERS {
            scope.spawn(|| {
                loop {
                    let task = tasks.lock().map(|mut tasks| tasks.pop());
                    match task {
                        Ok(Some(task)) => task(),
                        _ => return,
                    }
                }
            });
        }
    });
}

fn check_distinct(names: &ByteKeys) -> Result<(), Error> {
    let mut before: Option<(&[u8], &[u8])> = None;
    for row in names.rows() {
        if before.is_some_and(|it| it.0 == row.0) {
            let id = EntryId::unpack(row.1).unwrap_or_default();
            return Err(Error::conflict(format!(
                "entry {id} has the name of another entry"
            )));
        }
        before = Some(row);
    }
    Ok(())
}

/// Appends sorted rows. What follows the key in a row is the value; an order row has none.
fn append_keys(loader: &mut BulkLoader, table: Table, keys: &ByteKeys) -> Result<(), Error> {
    for (at, (key, value)) in keys.rows().enumerate() {
        loader.transaction()?.put(table, key, value, Put::Append)?;
        if at % TRANSACTION_ROWS == TRANSACTION_ROWS - 1 {
            loader.commit()?;
        }
    }
    loader.commit()
}

/// Appends the buckets and postings of one kind of one attribute.
fn append_group(
    loader: &mut BulkLoader,
    kind: IndexKind,
    base: u16,
    group: Group,
) -> Result<(), Error> {
    let Group {
        items,
        hot,
        postings,
        ..
    } = group;
    let mut postings: BTreeMap<u64, Chunks> = postings.into_iter().collect();
    let mut hot: BTreeMap<u64, Chunks> = hot.into_iter().collect();
    let mut rows = Bucket {
        kind,
        base,
        last: None,
        rows: 0,
    };
    let holders_max = loader.store.shared.holders_max;
    for run in items.chunk_by(|a, b| hash_of(*a) == hash_of(*b)) {
        let hash = hash_of(run[0]);
        let more = hot.remove(&hash).unwrap_or_default();
        if run.len() as u64 + more.len() > holders_max {
            rows.put(loader, hash, EntryId::ROOT)?;
            postings.insert(hash, join(run, more)?);
            continue;
        }
        for item in run {
            rows.put(loader, hash, id_of(*item))?;
        }
        for id in ids(more)? {
            rows.put(loader, hash, id)?;
        }
    }
    for (at, (hash, chunks)) in postings.into_iter().enumerate() {
        let prefix = posting::prefix(&HashedKey { kind, base, hash });
        for (chunk, value) in chunks.finish() {
            let key = posting::chunk_key_of(prefix, chunk);
            let table = loader.store.shared.tables.posting;
            loader
                .transaction()?
                .put(table, &key, &value, Put::Append)?;
        }
        if at % TRANSACTION_ROWS == TRANSACTION_ROWS - 1 {
            loader.commit()?;
        }
    }
    loader.commit()
}

/// Writes items, in their order.
struct Bucket {
    kind: IndexKind,
    base: u16,
    last: Option<[u8; crate::index::equality::BUCKET_BYTES]>,
    rows: usize,
}

impl Bucket {
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
        if self.rows.is_multiple_of(TRANSACTION_ROWS) {
            loader.commit()?;
        }
        Ok(())
    }
}

/// The first holders of a value and those that came after it was noticed.
fn join(first: &[u128], more: Chunks) -> Result<Chunks, Error> {
    let mut joined = Chunks::default();
    first.iter().for_each(|item| joined.push(id_of(*item)));
    ids(more)?.into_iter().for_each(|id| joined.push(id));
    Ok(joined)
}

fn ids(chunks: Chunks) -> Result<Vec<EntryId>, Error> {
    let mut ids = Vec::with_capacity(chunks.len() as usize);
    for (chunk, value) in chunks.finish() {
        let high = u64::from(chunk >> 16) << 32;
        ids.extend(
            posting::decode(&value)?
                .iter()
                .map(|low| EntryId(high | u64::from(low))),
        );
    }
    Ok(ids)
}
