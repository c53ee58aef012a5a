//! The sum of all texts that are members: one row beside the small named values, kept for those who
//! compare databases. A database has the row, and from then on every change of texts keeps it, once
//! [`Batch::sum_texts`] was called.

use super::rows::{self, Kind};
use crate::batch::Batch;
use crate::error::Error;
use crate::id::EntryId;
use crate::snapshot::Snapshot;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Name of the row: the sum, little-endian.
const ROW: &[u8] = b"texts";
/// Seed of the hash of a text, so that it equals no term of an entry or a link.
const SEED: u64 = 2;

impl Snapshot<'_> {
    /// The sum of all texts; `None` for a database that keeps none.
    ///
    /// # Errors
    /// An error of LMDB; [`Error::Corrupt`] for a row that cannot be read.
    pub fn texts_sum(&self) -> Result<Option<u128>, Error> {
        let row = self.meta(ROW)?.map(TryInto::try_into).transpose();
        let row = row.map_err(|_| Error::corrupt("meta", "the sum of texts cannot be read"))?;
        Ok(row.map(u128::from_le_bytes))
    }
}

impl Batch<'_> {
    /// Begins to keep the sum of all texts, or computes it anew. Reads every text.
    ///
    /// # Errors
    /// The errors of [`Batch::change_links`].
    pub fn sum_texts(&mut self) -> Result<(), Error> {
        let sum = {
            let snapshot = self.snapshot();
            let mut sum = 0_u128;
            let mut cursor = snapshot.transaction.cursor(snapshot.tables.linkset)?;
            let mut row = cursor.seek(&rows::text_prefix())?;
            while let Some((key, value)) = row.filter(|it| rows::kind(it.0) == Some(Kind::Text)) {
                let id = rows::of_text_key(key).ok_or_else(|| rows::damaged("a text"))?;
                sum = sum.wrapping_add(term(id, value));
                row = cursor.next()?;
            }
            sum
        };
        self.put_meta(ROW, &sum.to_le_bytes())
    }

    /// Ends keeping the sum.
    ///
    /// # Errors
    /// The errors of [`Batch::change_links`].
    pub fn forget_texts_sum(&mut self) -> Result<(), Error> {
        self.delete_meta(ROW)
    }

    /// Adds a text to the sum if there is one; `value` is its row.
    pub(super) fn count_text(&mut self, id: EntryId, value: &[u8]) -> Result<(), Error> {
        match self.snapshot().texts_sum()? {
            None => Ok(()),
            Some(sum) => self.put_meta(ROW, &sum.wrapping_add(term(id, value)).to_le_bytes()),
        }
    }

    /// Takes a text that is about to be removed out of the sum, if there is one.
    pub(super) fn discount_text(&mut self, id: EntryId) -> Result<(), Error> {
        let Some(sum) = self.snapshot().texts_sum()? else {
            return Ok(());
        };
        let table = self.tables.linkset;
        let Some(value) = self.transaction.get(table, &rows::text_key(id))? else {
            return Ok(());
        };
        let sum = sum.wrapping_sub(term(id, value));
        self.put_meta(ROW, &sum.to_le_bytes())
    }
}

/// The term of a text in the sum; `value` is its row, with the text as given and its normal form.
pub(crate) fn term(id: EntryId, value: &[u8]) -> u128 {
    let text = xxh3_128_with_seed(value, SEED);
    let bytes = [&id.0.to_le_bytes()[..], &text.to_le_bytes()].concat();
    xxh3_128_with_seed(&bytes, SEED)
}
