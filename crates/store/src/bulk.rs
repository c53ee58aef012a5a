//! Bulk load: a whole database written in the order of its trees.

use std::path::Path;

use schema::DictionaryRow;

use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::IndexSet;

/// Where an entry of a bulk load goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its id, greater than that of every entry appended before.
    pub id: EntryId,
    /// Its parent; [`EntryId::ROOT`] for a naming context.
    pub parent: EntryId,
}

/// Entries with their index keys, made by one worker thread.
#[derive(Debug, Default)]
pub struct Prepared {}

impl Prepared {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Computes index keys, one for each worker thread.
#[derive(Debug)]
pub struct Preparer {}

impl Preparer {
    /// A preparer for these indexes.
    pub fn new(indexes: &IndexSet) -> Preparer {
        let _ = indexes;
        Preparer {}
    }

    /// Goes on with another schema, in which more attributes have numbers.
    pub fn set_indexes(&mut self, indexes: &IndexSet) {
        let _ = indexes;
    }

    /// Adds an entry. The parent in its row is of no account: the place says it.
    ///
    /// # Errors
    /// A row that cannot be read.
    pub fn add(&mut self, rdn_normal: &[u8], entry: &[u8]) -> Result<(), Error> {
        let _ = (rdn_normal, entry);
        Ok(())
    }

    /// How many entries were added since [`Preparer::take`].
    pub fn len(&self) -> usize {
        0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was added.
    pub fn take(&mut self) -> Prepared {
        Prepared::default()
    }
}

/// Writes a new database.
#[derive(Debug)]
pub struct BulkLoader {}

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

impl BulkLoader {
    /// Begins a database in a new folder, with all indexes of the set complete. The caller renames
    /// the folder into place when [`BulkLoader::finish`] has returned.
    ///
    /// # Errors
    /// As [`crate::Store::create`].
    pub fn create(folder: &Path, indexes: &IndexSet) -> Result<BulkLoader, Error> {
        let _ = (folder, indexes);
        Ok(BulkLoader {})
    }

    /// Appends prepared entries; those without a place are left out. A parent comes before its
    /// children, and no two children of a parent have the same normalised RDN.
    ///
    /// # Errors
    /// [`Error::Full`], or [`Error::Conflict`] for ids out of order.
    pub fn append(&mut self, prepared: &Prepared, places: &[Option<Place>]) -> Result<(), Error> {
        let _ = (prepared, places);
        Ok(())
    }

    /// Stores dictionary rows: all that entries have used.
    ///
    /// # Errors
    /// [`Error::Full`] or what LMDB says.
    pub fn put_dictionary(&mut self, rows: &[DictionaryRow]) -> Result<(), Error> {
        let _ = rows;
        Ok(())
    }

    /// Stores a small named value.
    ///
    /// # Errors
    /// [`Error::Full`] or what LMDB says.
    pub fn put_meta(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let _ = (key, value);
        Ok(())
    }

    /// Sets the log position of the state.
    pub fn set_position(&mut self, position: u64) {
        let _ = position;
    }

    /// Sorts and writes all other tables and syncs.
    ///
    /// # Errors
    /// [`Error::Full`], or [`Error::Conflict`] when two entries have the same name.
    pub fn finish(self) -> Result<Loaded, Error> {
        Ok(Loaded {
            entries: 0,
            digest: 0,
            bytes: 0,
        })
    }
}
