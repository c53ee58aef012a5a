//! The end of a bulk load: sorting, and appending every tree in its order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::collect::ByteKeys;
use super::groups::append_group;
use super::keys::{Keys, each};
use super::links::load::write_links;
use super::loader::{BulkLoader, group_slot};
use super::runs::Runs;
use super::spill::{sort, spill};
use crate::data_folder::DATABASE_FILE;
use crate::error::Error;
use crate::index_set::IndexKind;
use crate::lmdb::{Put, ReadTransaction};
use crate::state::STATE_KEY;
use crate::store::Store;
use crate::tables::id_of_name;

/// Figures of a database that a bulk load wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    /// Number of entries.
    pub entries: u64,
    /// Digest of the state.
    pub digest: u128,
    /// Bytes of the database file.
    pub bytes: u64,
}

/// A database that a bulk load has written and still has open. Later changes to it do not destroy a
/// checkpoint in force: the load can still resume from it.
#[derive(Debug)]
pub struct Finished {
    /// Figures of the load.
    pub loaded: Loaded,
    /// Read transactions that hold the checkpoint's pages; they stand before `store`, whose
    /// environment they use.
    _pins: Vec<ReadTransaction>,
    store: Store,
}

impl Finished {
    /// Returns the database. Commits to it are durable after a [`Store::sync`].
    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl BulkLoader {
    /// Sorts and writes all other tables, and syncs.
    ///
    /// # Errors
    /// [`Error::Full`], or [`Error::Conflict`] when two entries have the same name.
    pub fn finish(self) -> Result<Loaded, Error> {
        Ok(write_rest(self)?.loaded)
    }

    /// Finishes the load as [`BulkLoader::finish`] does, unless another thread sets `stop` first;
    /// the database stays open.
    ///
    /// # Errors
    /// The errors of [`BulkLoader::finish`]; [`Error::Cancelled`] when `stop` is set.
    pub fn finish_unless(mut self, stop: Arc<AtomicBool>) -> Result<Finished, Error> {
        self.stop = stop;
        write_rest(self)
    }
}

fn write_rest(mut loader: BulkLoader) -> Result<Finished, Error> {
    loader.commit()?;
    match loader.spilled {
        true => spill(&mut loader)?,
        false => sort(&mut loader),
    }
    // Pages that every search reads stay in the page cache until a server starts.
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
    write_links(&mut loader)?;
    let state = loader.state;
    let meta = loader.store.shared.tables.meta;
    loader
        .transaction()?
        .put(meta, STATE_KEY, &state.encode(), Put::Upsert)?;
    loader.commit()?;
    loader.flusher = None;
    loader.store.sync()?;
    crate::data_folder::sync_folder(loader.store.folder())?;
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

fn take(keys: &mut Keys) -> Keys {
    std::mem::take(keys)
}

/// Appends the name rows, which are in the order of parents, and each parent's number of children.
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

/// Appends the rows of the order table, which consist of keys only.
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
