//! Bulk load: a whole database written in the order of its trees.
//!
//! Entries are appended as they come, in the order of ids. Everything else (names, index keys) is
//! collected in memory, sorted at the end and appended tree by tree, which fills pages completely
//! and costs a fraction of inserting in random order. What is more than the memory allows is
//! sorted and written to files meanwhile, which are merged at the end. Until
//! [`BulkLoader::finish`] has returned, the folder is not a database anyone should open.
//!
//! Memory up to the limit: some 80 bytes for each name and 16 for each value of an equality index,
//! 2 for each trigram of a value, 8 for each link. Beside it come the members of the group at hand,
//! 8 bytes each, and texts that are members and name no entry.

mod checkpoint;
mod collect;
mod flush;
mod groups;
mod links;
mod prepare;
mod runs;
mod write;

pub use prepare::{Prepared, Preparer};

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schema::DictionaryRow;

use crate::bulk::collect::Group;
use crate::bulk::flush::Flusher;
use crate::entry::{EntryView, HEADER_BYTES, state_term, with_parent};
use crate::entry_store::EntryTree;
use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::{IndexKind, IndexSet, IndexState};
use crate::lmdb::{Put, ReadTransaction, WriteTransaction};
use crate::state::{State, encode_index, index_key, value_key};
use crate::store::{DATABASE_FILE, Store, StoreOptions};
use crate::tables::{NameKey, name_value};

/// Bytes of entries written in one transaction: few enough that its dirty pages stay in the cache
/// of the machine, many enough that commits cost nothing.
const TRANSACTION_BYTES: usize = 4 << 20;

/// Where sorted runs are, in the new database's folder.
const RUNS_FOLDER: &str = "sorting";

/// Where an entry of a bulk load goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its id, greater than that of every entry appended before.
    pub id: EntryId,
    /// Its parent; [`EntryId::ROOT`] for a naming context.
    pub parent: EntryId,
}

/// What a bulk load wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    /// Entries.
    pub entries: u64,
    /// The digest of the state.
    pub digest: u128,
    /// Bytes of the database file.
    pub bytes: u64,
}

/// A database that a bulk load has written and still has open. Whatever is changed in it now, the
/// load can go on from a checkpoint in force.
#[derive(Debug)]
pub struct Finished {
    /// What was written.
    pub loaded: Loaded,
    /// What a checkpoint in force needs; before `store`, whose environment they are of.
    _pins: Vec<ReadTransaction>,
    store: Store,
}

impl Finished {
    /// The database. Commits to it are durable after a [`Store::sync`].
    pub fn store(&self) -> &Store {
        &self.store
    }
}

/// Writes a new database.
#[derive(Debug)]
pub struct BulkLoader {
    /// Before `store`, whose environment it keeps open.
    transaction: Option<WriteTransaction>,
    /// Bytes of entries in the transaction.
    uncommitted: usize,
    names: write::Keys,
    ordered: write::Keys,
    /// By attribute number and kind, see [`group_slot`].
    groups: Vec<Option<Box<Group>>>,
    links: links::Links,
    state: State,
    last: EntryId,
    /// Bytes of collected keys from which on they go to files, and where those are.
    memory: usize,
    temporary: PathBuf,
    spilled: bool,
    flusher: Option<Flusher>,
    /// Set by whoever wants no more of it.
    stop: Arc<AtomicBool>,
    /// States that a checkpoint needs, before `store` as well.
    pins: Vec<ReadTransaction>,
    store: Store,
}

impl BulkLoader {
    /// Begins a database in a new folder, with all indexes of the set complete. The caller renames
    /// the folder into place when [`BulkLoader::finish`] has returned.
    ///
    /// # Errors
    /// As [`crate::Store::create`].
    pub fn create(folder: &Path, indexes: &IndexSet) -> Result<BulkLoader, Error> {
        let options = StoreOptions {
            no_sync: true,
            ..StoreOptions::default()
        };
        BulkLoader::create_with(folder, indexes, &options)
    }

    /// As [`BulkLoader::create`], with settings.
    ///
    /// # Errors
    /// As [`crate::Store::create`].
    pub fn create_with(
        folder: &Path,
        indexes: &IndexSet,
        options: &StoreOptions,
    ) -> Result<BulkLoader, Error> {
        let store = Store::create_with(
            folder,
            &StoreOptions {
                no_sync: true,
                ..*options
            },
        )?;
        let mut loader = BulkLoader {
            transaction: None,
            uncommitted: 0,
            names: write::Keys::default(),
            ordered: write::Keys::default(),
            groups: Vec::new(),
            links: links::Links::default(),
            state: State::EMPTY,
            last: EntryId::ROOT,
            memory: usize::MAX,
            temporary: folder.join(RUNS_FOLDER),
            spilled: false,
            flusher: Some(Flusher::new(&folder.join(DATABASE_FILE))?),
            stop: Arc::default(),
            pins: Vec::new(),
            store,
        };
        for definition in &indexes.definitions {
            let mut state = IndexState::none(&definition.attribute);
            state.ready = indexes.maintained(definition.type_id);
            let (key, row) = (index_key(&state.attribute), encode_index(&state));
            let meta = loader.store.shared.tables.meta;
            loader.transaction()?.put(meta, &key, &row, Put::Upsert)?;
        }
        Ok(loader)
    }

    /// Keeps what is collected in about so many bytes of memory, and the rest in files of this
    /// folder, which nobody else uses; in a folder beside the database without one.
    pub fn limit_memory(&mut self, bytes: usize, folder: Option<&Path>) {
        self.memory = bytes;
        if let Some(folder) = folder {
            self.temporary = folder.to_owned();
        }
    }

    /// Appends prepared entries, one for each place; those without a place are left out. A parent
    /// comes before its children, and no two children of a parent have the same normalised RDN.
    ///
    /// # Errors
    /// [`Error::Full`], or [`Error::Conflict`] for ids out of order.
    pub fn append(&mut self, prepared: &Prepared, places: &[Option<Place>]) -> Result<(), Error> {
        if places.len() != prepared.len() {
            return Err(Error::conflict(
                "there is not one place for each prepared entry",
            ));
        }
        for (at, place) in places.iter().enumerate() {
            if let Some(place) = place {
                self.append_entry(place, prepared.name(at), prepared.entry(at))?;
            }
        }
        let id_of = |ordinal: u32| {
            places
                .get(ordinal as usize)
                .copied()
                .flatten()
                .map(|it| it.id)
        };
        let before = self.state.entries < collect::SAMPLE_ENTRIES;
        for key in prepared.keys() {
            if let Some(id) = id_of(key.ordinal) {
                let slot = group_slot(key.kind, key.base);
                if slot >= self.groups.len() {
                    self.groups.resize_with(slot + 1, || None);
                }
                let group = self.groups[slot].get_or_insert_with(|| Group::boxed(key.kind));
                group.add(key.hash, id, before);
            }
        }
        for (ordinal, key) in prepared.ordered() {
            if let Some(id) = id_of(ordinal) {
                let rank = key
                    .iter()
                    .take(3)
                    .fold(0, |rank, byte| rank << 8 | u64::from(*byte));
                let id = id.packed();
                self.ordered
                    .0
                    .add(rank, &[key, &id], key.len() + id.len(), 3);
            }
        }
        if !before {
            self.groups
                .iter_mut()
                .flatten()
                .for_each(|group| group.settle());
        }
        if self.collected() > self.memory {
            write::spill(self)?;
        }
        Ok(())
    }

    /// Bytes of memory that collected keys take.
    fn collected(&self) -> usize {
        let groups = self.groups.iter().flatten().map(|it| it.memory());
        self.names.0.memory() + self.ordered.0.memory() + groups.sum::<usize>()
    }

    fn append_entry(&mut self, place: &Place, name: &[u8], entry: &[u8]) -> Result<(), Error> {
        let Place { id, parent } = *place;
        if id <= self.last || id > EntryId::MAX {
            return Err(Error::conflict(format!(
                "id {id} does not follow {}",
                self.last
            )));
        }
        let digest = EntryView::new(entry)?.digest();
        let Some((header, rest)) = entry.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Error::corrupt("entry", "a row is too short"));
        };
        let mut header = *header;
        with_parent(&mut header, parent);
        let entries = EntryTree(self.store.shared.tables.entry);
        entries.put(self.transaction()?, id, &[&header, rest], Put::Append)?;
        let key = NameKey::new(parent, name);
        let key = key.bytes();
        self.names
            .0
            .add(parent.0, &[key, &name_value(key, id)], key.len(), 8);
        self.last = id;
        self.state.entries += 1;
        self.state.next_id = id.0 + 1;
        self.state.digest = self
            .state
            .digest
            .wrapping_add(state_term(id, parent, digest));
        self.uncommitted += entry.len();
        if self.uncommitted > TRANSACTION_BYTES {
            self.commit()?;
        }
        Ok(())
    }

    /// The row of an entry that was appended.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn entry(&mut self, id: EntryId) -> Result<Option<Vec<u8>>, Error> {
        let entries = EntryTree(self.store.shared.tables.entry);
        let row = entries.get(self.transaction()?, id)?;
        Ok(row.map(<[u8]>::to_vec))
    }

    /// Stores dictionary rows: all that entries have used.
    ///
    /// # Errors
    /// [`Error::Full`] or what LMDB says.
    pub fn put_dictionary(&mut self, rows: &[DictionaryRow]) -> Result<(), Error> {
        let table = self.store.shared.tables.dictionary;
        for row in rows {
            let (key, text) = (row.number.0.to_be_bytes(), row.text.as_bytes());
            self.transaction()?.put(table, &key, text, Put::Upsert)?;
        }
        Ok(())
    }

    /// Stores a small named value.
    ///
    /// # Errors
    /// [`Error::Full`] or what LMDB says.
    pub fn put_meta(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let table = self.store.shared.tables.meta;
        self.transaction()?
            .put(table, &value_key(key), value, Put::Upsert)
    }

    /// Sets the log position of the state.
    pub fn set_position(&mut self, position: u64) {
        self.state.position = position;
    }

    /// Sorts and writes all other tables and syncs.
    ///
    /// # Errors
    /// [`Error::Full`], or [`Error::Conflict`] when two entries have the same name.
    pub fn finish(self) -> Result<Loaded, Error> {
        Ok(write::finish(self)?.loaded)
    }

    /// As [`BulkLoader::finish`], unless somebody sets `stop` before it is done; the database stays
    /// open.
    ///
    /// # Errors
    /// As [`BulkLoader::finish`]; [`Error::Cancelled`] when `stop` is set.
    pub fn finish_unless(mut self, stop: Arc<AtomicBool>) -> Result<Finished, Error> {
        self.stop = stop;
        write::finish(self)
    }

    /// The open transaction, or a new one.
    fn transaction(&mut self) -> Result<&mut WriteTransaction, Error> {
        match &mut self.transaction {
            Some(transaction) => Ok(transaction),
            closed => {
                let in_use = self.store.shared.current.get();
                Ok(closed.insert(self.store.shared.begin(&in_use)?))
            }
        }
    }

    fn commit(&mut self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if let Some(flusher) = &mut self.flusher {
            flusher.add(self.uncommitted);
        }
        self.uncommitted = 0;
        self.transaction
            .take()
            .map_or(Ok(()), WriteTransaction::commit)
    }

    /// Commits when this many rows of a table make a transaction full.
    fn commit_after(&mut self, rows: usize) -> Result<(), Error> {
        if !rows.is_multiple_of(write::TRANSACTION_ROWS) {
            return Ok(());
        }
        // About what an index row takes.
        self.uncommitted = write::TRANSACTION_ROWS * 32;
        self.commit()
    }
}

/// Where the keys of a kind and an attribute are collected.
fn group_slot(kind: IndexKind, base: u16) -> usize {
    usize::from(base) * 8 + kind as usize
}
