//! A bulk load in progress: the new database, and the keys collected for its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schema::DictionaryRow;

use super::collect::Group;
use super::flush::Flusher;
use super::keys::Keys;
use super::links::Links;
use crate::data_folder::DATABASE_FILE;
use crate::entry_store::EntryTree;
use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::{IndexKind, IndexSet, IndexState};
use crate::lmdb::{Put, ReadTransaction, WriteTransaction};
use crate::state::{State, encode_index, index_key, value_key};
use crate::store::{Store, StoreOptions};

/// Rows written in one transaction.
const TRANSACTION_ROWS: usize = 200_000;

/// Bytes of entries written in one transaction: few enough that its dirty pages stay in the
/// processor's cache, many enough that commits cost little.
pub(super) const TRANSACTION_BYTES: usize = 4 << 20;

/// Name of the folder of sorted files, below the new database's folder.
pub(super) const RUNS_FOLDER: &str = "sorting";

/// Writes a new database.
#[derive(Debug)]
pub struct BulkLoader {
    /// The open transaction. It stands before `store`, whose environment it keeps open.
    pub(super) transaction: Option<WriteTransaction>,
    /// Bytes of entries in the open transaction.
    pub(super) uncommitted: usize,
    /// Rows of the name table.
    pub(super) names: Keys,
    /// Keys of the order table.
    pub(super) ordered: Keys,
    /// Keys of indexes, by attribute number and kind: see [`group_slot`].
    pub(super) groups: Vec<Option<Box<Group>>>,
    /// Links between entries.
    pub(super) links: Links,
    /// The state after the last entry appended.
    pub(super) state: State,
    /// The greatest id in use, of an entry, a set or a text.
    pub(super) last: EntryId,
    /// Bytes of collected keys above which they go to files.
    pub(super) memory: usize,
    /// The folder of the files with collected keys.
    pub(super) temporary: PathBuf,
    /// Whether keys have gone to files.
    pub(super) spilled: bool,
    /// Writes the database file back while it grows; `None` at the end of the load.
    pub(super) flusher: Option<Flusher>,
    /// Flag that another thread sets to cancel the load.
    pub(super) stop: Arc<AtomicBool>,
    /// Read transactions that hold the pages of checkpoints; they stand before `store` as well.
    pub(super) pins: Vec<ReadTransaction>,
    pub(super) store: Store,
}

impl BulkLoader {
    /// Begins a database in a new folder, with all indexes of the set complete. When
    /// [`BulkLoader::finish`] has returned, the caller renames the folder into place.
    ///
    /// # Errors
    /// The errors of [`crate::Store::create`].
    pub fn create(folder: &Path, indexes: &IndexSet) -> Result<BulkLoader, Error> {
        let options = StoreOptions {
            no_sync: true,
            ..StoreOptions::default()
        };
        BulkLoader::create_with(folder, indexes, &options)
    }

    /// Begins a database as [`BulkLoader::create`] does, with settings.
    ///
    /// # Errors
    /// The errors of [`crate::Store::create`].
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
            names: Keys::default(),
            ordered: Keys::default(),
            groups: Vec::new(),
            links: Links::default(),
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

    /// Keeps about `bytes` bytes of collected keys in memory, and the rest in files of `folder`,
    /// which nothing else uses; without `folder`, in a folder below that of the database.
    pub fn limit_memory(&mut self, bytes: usize, folder: Option<&Path>) {
        self.memory = bytes;
        if let Some(folder) = folder {
            self.temporary = folder.to_owned();
        }
    }

    /// Bytes of memory that collected keys take, without links.
    pub(super) fn collected(&self) -> usize {
        let groups = self.groups.iter().flatten().map(|it| it.memory());
        self.names.0.memory() + self.ordered.0.memory() + groups.sum::<usize>()
    }

    /// Returns the row of an appended entry; `None` if there is none.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn entry(&mut self, id: EntryId) -> Result<Option<Vec<u8>>, Error> {
        let entries = EntryTree(self.store.shared.tables.entry);
        let row = entries.get(self.transaction()?, id)?;
        Ok(row.map(<[u8]>::to_vec))
    }

    /// Stores dictionary rows: those of all attributes that entries use.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB.
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
    /// [`Error::Full`] or an error of LMDB.
    pub fn put_meta(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let table = self.store.shared.tables.meta;
        self.transaction()?
            .put(table, &value_key(key), value, Put::Upsert)
    }

    /// Sets the log position of the state.
    pub fn set_position(&mut self, position: u64) {
        self.state.position = position;
    }

    /// Returns the open transaction, or begins one.
    #[inline]
    pub(super) fn transaction(&mut self) -> Result<&mut WriteTransaction, Error> {
        match &mut self.transaction {
            Some(transaction) => Ok(transaction),
            closed => {
                let in_use = self.store.shared.current.get();
                Ok(closed.insert(self.store.shared.begin(&in_use)?))
            }
        }
    }

    /// Commits the open transaction, if any.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the load is cancelled, or an error of LMDB.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
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

    /// Commits after every [`TRANSACTION_ROWS`] rows of a table, of which `rows` are written.
    #[inline]
    pub(super) fn commit_after(&mut self, rows: usize) -> Result<(), Error> {
        if !rows.is_multiple_of(TRANSACTION_ROWS) {
            return Ok(());
        }
        // Approximate bytes of an index row.
        self.uncommitted = TRANSACTION_ROWS * 32;
        self.commit()
    }
}

/// Index in [`BulkLoader::groups`] of the keys of a kind and an attribute.
#[inline]
pub(super) fn group_slot(kind: IndexKind, base: u16) -> usize {
    usize::from(base) * 8 + kind as usize
}
