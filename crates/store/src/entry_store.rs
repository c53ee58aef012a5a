//! Where entry rows are kept: the seam behind which another layout can take the place of the tree.

use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::{Cursor, Put, Table, Transaction, WriteTransaction};
use crate::tables::{id_key, id_of_key};

/// Keeps entry rows by id. Everything happens in the transaction that is passed in.
pub(crate) trait EntryStore {
    /// Rows in the order of ids.
    type Scan<'t>: Iterator<Item = Result<(EntryId, &'t [u8]), Error>>;

    /// The row of an entry.
    fn get<'t>(&self, transaction: &'t Transaction, id: EntryId)
    -> Result<Option<&'t [u8]>, Error>;

    /// Writes a row, given in parts; with [`Put::Append`] one behind all others.
    fn put(
        &self,
        transaction: &mut WriteTransaction,
        id: EntryId,
        parts: &[&[u8]],
        put: Put,
    ) -> Result<(), Error>;

    /// Deletes a row; `false` if there was none.
    fn delete(&self, transaction: &mut WriteTransaction, id: EntryId) -> Result<bool, Error>;

    /// Rows from this id on.
    fn scan<'t>(
        &self,
        transaction: &'t Transaction,
        from: EntryId,
    ) -> Result<Self::Scan<'t>, Error>;
}

/// Entry rows in an LMDB tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryTree(pub Table);

impl EntryStore for EntryTree {
    type Scan<'t> = TreeScan<'t>;

    #[inline]
    fn get<'t>(
        &self,
        transaction: &'t Transaction,
        id: EntryId,
    ) -> Result<Option<&'t [u8]>, Error> {
        transaction.get(self.0, &id_key(id))
    }

    fn put(
        &self,
        transaction: &mut WriteTransaction,
        id: EntryId,
        parts: &[&[u8]],
        put: Put,
    ) -> Result<(), Error> {
        transaction.put_parts(self.0, &id_key(id), parts, put)
    }

    fn delete(&self, transaction: &mut WriteTransaction, id: EntryId) -> Result<bool, Error> {
        transaction.delete(self.0, &id_key(id))
    }

    fn scan<'t>(&self, transaction: &'t Transaction, from: EntryId) -> Result<TreeScan<'t>, Error> {
        Ok(TreeScan {
            cursor: transaction.cursor(self.0)?,
            from: Some(from),
        })
    }
}

/// A walk along the tree's leaves.
#[derive(Debug)]
pub(crate) struct TreeScan<'t> {
    cursor: Cursor<'t>,
    /// Where to begin; `None` once begun.
    from: Option<EntryId>,
}

impl<'t> Iterator for TreeScan<'t> {
    type Item = Result<(EntryId, &'t [u8]), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match self.from.take() {
            Some(from) => self.cursor.seek(&id_key(from)),
            None => self.cursor.next(),
        };
        let (key, value) = match row {
            Ok(row) => row?,
            Err(error) => return Some(Err(error)),
        };
        Some(id_of_key(key, "entry").map(|id| (id, value)))
    }
}
