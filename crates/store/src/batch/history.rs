//! The history table: changes in the order of time, as opaque rows under eight-byte keys.
//!
//! Rows are appended at one end and removed at the other, so a commit touches one page of the
//! table.

use super::Batch;
use crate::error::Error;
use crate::lmdb::{Cursor, Put};
use crate::snapshot::Snapshot;

impl Batch<'_> {
    /// Stores the history row of a time; replaces the row of the same time.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB.
    pub fn put_history(&mut self, time: u64, row: &[u8]) -> Result<(), Error> {
        let key = time.to_be_bytes();
        self.transaction
            .put(self.tables.history, &key, row, Put::Upsert)
    }

    /// Removes the history row of a time; `false` if there is none.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn delete_history(&mut self, time: u64) -> Result<bool, Error> {
        self.transaction
            .delete(self.tables.history, &time.to_be_bytes())
    }
}

impl<'a> Snapshot<'a> {
    /// History rows from a time on, in order, with their times.
    ///
    /// # Errors
    /// Each item: an error of LMDB; [`Error::Corrupt`] for a key that is no time.
    pub fn history_from(
        &self,
        time: u64,
    ) -> impl Iterator<Item = Result<(u64, &'a [u8]), Error>> + use<'a> {
        History {
            snapshot: *self,
            from: time,
            cursor: None,
            ended: false,
        }
    }

    /// The newest history row with its time; `None` for an empty history.
    ///
    /// # Errors
    /// The errors of [`Snapshot::history_from`].
    pub fn last_history(&self) -> Result<Option<(u64, &'a [u8])>, Error> {
        let mut cursor = self.transaction.cursor(self.tables.history)?;
        let row = cursor.last()?;
        row.map(|(key, row)| Ok((time_of(key)?, row))).transpose()
    }
}

/// The iterator of [`Snapshot::history_from`].
struct History<'a> {
    snapshot: Snapshot<'a>,
    from: u64,
    cursor: Option<Cursor<'a>>,
    ended: bool,
}

impl<'a> History<'a> {
    fn step(&mut self) -> Result<Option<(u64, &'a [u8])>, Error> {
        let row = match &mut self.cursor {
            Some(cursor) => cursor.next()?,
            None => {
                let snapshot = &self.snapshot;
                let cursor = snapshot.transaction.cursor(snapshot.tables.history)?;
                self.cursor.insert(cursor).seek(&self.from.to_be_bytes())?
            }
        };
        row.map(|(key, row)| Ok((time_of(key)?, row))).transpose()
    }
}

impl<'a> Iterator for History<'a> {
    type Item = Result<(u64, &'a [u8]), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.step().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

fn time_of(key: &[u8]) -> Result<u64, Error> {
    let key = key
        .try_into()
        .map_err(|_| Error::corrupt("history", "a key is not eight bytes"))?;
    Ok(u64::from_be_bytes(key))
}
