//! Entries that are not found, and that a damaged page may hide: a second, slower look.
//!
//! A page that is damaged, or that a damaged page leads to instead of another, shows itself beside
//! the missing key: its keys do not rise, or lie outside of its parent's bounds, or the row before
//! or behind the key has a wrong checksum.

use super::Snapshot;
use crate::entry_store::verified;
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::{Row, Table};
use crate::tables::{NameKey, id_key, id_of_key, id_of_name};

impl Snapshot<'_> {
    /// Fails if a damaged page may hide the entry of this name.
    ///
    /// # Errors
    /// [`Error::Corrupt`], or an error of LMDB.
    #[cold]
    pub(super) fn require_no_name(&self, parent: EntryId, rdn: &[u8]) -> Result<(), Error> {
        let key = NameKey::new(parent, rdn);
        let rows = self.rows_beside(self.tables.name, "name", key.bytes())?;
        let mut rows = rows.into_iter().flatten();
        rows.try_for_each(|(key, value)| id_of_name(key, value).map(drop))
    }

    /// Fails if a damaged page may hide the entry with this id; a detached entry is no failure.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::DamagedEntry`] of a neighbouring row, or an error of LMDB.
    #[cold]
    pub(crate) fn require_no_entry(&self, id: EntryId) -> Result<(), Error> {
        if self.stored_entry(id)?.is_some() {
            return Ok(());
        }
        let rows = self.rows_beside(self.tables.entry, "entry", &id_key(id))?;
        let mut rows = rows.into_iter().flatten();
        rows.try_for_each(|(key, row)| verified(id_of_key(key, "entry")?, row).map(drop))
    }

    /// Returns the rows before and behind a key that a table does not have.
    fn rows_beside(
        &self,
        table: Table,
        name: &'static str,
        key: &[u8],
    ) -> Result<[Option<Row<'_>>; 2], Error> {
        let mut cursor = self.transaction.cursor(table)?;
        let behind = cursor.seek(key)?;
        let before = match behind {
            Some(_) => cursor.previous()?,
            None => cursor.last()?,
        };
        let is_between = before.is_none_or(|(before, _)| before < key)
            && behind.is_none_or(|(behind, _)| behind > key);
        match is_between && self.transaction.is_way_sound(table, key) {
            true => Ok([before, behind]),
            false => Err(Error::corrupt(name, "a damaged page may hide a row")),
        }
    }
}
