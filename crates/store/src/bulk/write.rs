//! The end of a bulk load: sorting, and appending every tree in its order.

use crate::private;
use std::sync::Mutex;

use super::collect::ByteKeys;
use super::groups::append_group;
use super::runs::{Runs, TakeRow};
use super::{BulkLoader, Finished, Loaded, group_slot};
use crate::error::Error;
use crate::index_set::IndexKind;
use crate::lmdb::Put;
use crate::state::STATE_KEY;
use crate::store::DATABASE_FILE;
use crate::tables::id_of_name;

/// Rows written in one transaction.
pub(super) const TRANSACTION_ROWS: usize = 200_000;

/// Threads that sort.
const SORTERS: usize = 2;

pub(super) fn finish(mut loader: BulkLoader) -> Result<Finished, Error> {
    loader.commit()?;
    match loader.spilled {
        true => spill(&mut loader)?,
        false => sort(&mut loader),
    }
    // What every search begins with is in memory when a server starts.
    if let Some(flusher) = &mut loader.flusher {
        flusher.keep();
    }
    let (names, runs) = take(&mut loader.names);
    append_names(&mut loader, names, runs)?;
    let (ordered, runs) = take(&mut loader.ordered);
    append_ordered(&mut loader, ordered, runs)?;
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
    super::links::finish(&mut loader)?;
    let state = loader.state;
    let meta = loader.store.shared.tables.meta;
    loader
        .transaction()?
        .put(meta, STATE_KEY, &state.encode(), Put::Upsert)?;
    loader.commit()?;
    loader.flusher = None;
    loader.store.sync()?;
    crate::store::sync_folder(loader.store.folder())?;
    let file = loader.store.folder().join(DATABASE_FILE);
    let bytes = std::fs::metadata(file)
        .map_err(Error::system("reading a file's size"))?
        .len();
    let loaded = Loaded {
        entries: state.entries,
        digest: state.digest,
        bytes,
    };
    let BulkLoader { pins, store, .. } = loader;
    Ok(Finished {
        loaded,
        _pins: pins,
        store,
    })
}

/// Byte keys in memory and in files.
pub(super) type Keys = (ByteKeys, Runs);

fn take(keys: &mut Keys) -> Keys {
    std::mem::take(keys)
}

/// Moves everything that is collected into sorted files.
pub(super) fn spill(loader: &mut BulkLoader) -> Result<(), Error> {
    loader.spilled = true;
    sort(loader);
    let folder = &loader.temporary;
    private::create_folders(folder).map_err(Error::system("making a folder for sorting"))?;
    let (names, runs) = &mut loader.names;
    names.spill(runs, folder, "names")?;
    let (ordered, runs) = &mut loader.ordered;
    ordered.spill(runs, folder, "ordered")?;
    for (slot, group) in loader.groups.iter_mut().enumerate() {
        if let Some(group) = group {
            group.spill(folder, &format!("group-{slot}"))?;
        }
    }
    Ok(())
}

/// Sorts everything, the longest first, on a few threads.
fn sort(loader: &mut BulkLoader) {
    let mut tasks: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
    for group in loader.groups.iter_mut().flatten() {
        tasks.push(Box::new(|| group.items.sort_unstable()));
    }
    tasks.push(Box::new(|| loader.ordered.0.sort()));
    tasks.push(Box::new(|| loader.names.0.sort()));
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

/// All keys with their values, in order.
pub(super) fn each(keys: &ByteKeys, runs: Runs, act: &mut TakeRow<'_>) -> Result<(), Error> {
    if !runs.is_empty() {
        return runs.merge(act);
    }
    keys.rows().try_for_each(|(key, value)| act(key, value))
}

/// Appends the names, which stand by parent, and with them how many children each parent has.
fn append_names(loader: &mut BulkLoader, names: ByteKeys, runs: Runs) -> Result<(), Error> {
    let tables = loader.store.shared.tables;
    let mut last: Vec<u8> = Vec::new();
    let mut children: Option<([u8; 8], u64)> = None;
    let mut rows = 0;
    let mut put = |key: &[u8], value: &[u8]| {
        if last == key {
            let id = id_of_name(key, value)?;
            return Err(Error::conflict(format!(
                "entry {id} has the name of another entry"
            )));
        }
        last.clear();
        last.extend_from_slice(key);
        let transaction = loader.transaction()?;
        transaction.put(tables.name, key, value, Put::Append)?;
        let parent = *key
            .first_chunk::<8>()
            .ok_or_else(|| Error::corrupt("name", "a key is too short"))?;
        match &mut children {
            Some((before, count)) if *before == parent => *count += 1,
            other => {
                if let Some((parent, count)) = other.replace((parent, 1)) {
                    transaction.put(tables.count, &parent, &count.to_le_bytes(), Put::Append)?;
                }
            }
        }
        rows += 1;
        loader.commit_after(rows)
    };
    each(&names, runs, &mut put)?;
    if let Some((parent, count)) = children {
        let transaction = loader.transaction()?;
        transaction.put(tables.count, &parent, &count.to_le_bytes(), Put::Append)?;
    }
    loader.commit()
}

/// Appends the rows of the order table, which are keys only.
fn append_ordered(loader: &mut BulkLoader, keys: ByteKeys, runs: Runs) -> Result<(), Error> {
    let table = loader.store.shared.tables.order;
    let mut rows = 0;
    let mut put = |key: &[u8], value: &[u8]| {
        loader.transaction()?.put(table, key, value, Put::Append)?;
        rows += 1;
        loader.commit_after(rows)
    };
    each(&keys, runs, &mut put)?;
    loader.commit()
}
