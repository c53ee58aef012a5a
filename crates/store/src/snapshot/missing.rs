//! What is not found, and may be hidden by a damaged page: looked at a second time, slowly.
//!
//! A page that is damaged, or that a damaged page leads to in the place of another one, gives
//! itself away beside a key that is looked for: its keys do not rise, or lie outside of the part of
//! the order that is its own, or the row before or behind has a checksum that does not fit.

use super::Snapshot;
use crate::entry_store::verified;
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::{Row, Table};
use crate::tables::{NameKey, id_key, id_of_key, id_of_name};

impl Snapshot<'_> {
    /// Refuses to say that there is no entry of this name where a damaged page may hide it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], or what LMDB says.
    #[cold]
    pub(super) fn require_no_name(&self, parent: EntryId, rdn: &[u8]) -> Result<(), Error> {
        let key = NameKey::new(parent, rdn);
        let rows = self.rows_beside((self.tables.name, "name"), key.bytes())?;
        let mut rows = rows.into_iter().flatten();
        rows.try_for_each(|(key, value)| id_of_name(key, value).map(drop))
    }

    /// The same of an id that leads to no visible entry: the entry may be detached.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::DamagedEntry`] of a row beside it, or what LMDB says.
    #[cold]
    pub(crate) fn require_no_entry(&self, id: EntryId) -> Result<(), Error> {
        if self.stored_entry(id)?.is_some() {
            return Ok(());
        }
        let rows = self.rows_beside((self.tables.entry, "entry"), &id_key(id))?;
        let mut rows = rows.into_iter().flatten();
        rows.try_for_each(|(key, row)| verified(id_of_key(key, "entry")?, row).map(drop))
    }

    /// The rows before and behind a key that a table does not have.
    fn rows_beside(
        &self,
        (table, name): (Table, &'static str),
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
