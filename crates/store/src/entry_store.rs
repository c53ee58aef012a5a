//! Storage of entry rows: all reading and writing of them goes through [`EntryTree`].
//!
//! Invariant: a row read is the row that was written under this id. Rows are stored with a
//! checksum, which every read compares; of rows written before checksums existed, the digest and
//! the layout of the attributes are compared.

use smallvec::SmallVec;
use twox_hash::XxHash3_64;
use xxhash_rust::xxh3::Xxh3;

use crate::entry::{EntryView, VERSION, VERSION_UNSUMMED};
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::{Cursor, Put, Table, Transaction, WriteTransaction};
use crate::tables::{id_key, id_of_key};

/// Entry rows by id, in an LMDB tree. All methods work in the transaction that is passed in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryTree(pub Table);

impl EntryTree {
    /// Returns the row of an entry; `None` if there is none.
    #[inline]
    pub fn get<'t>(
        &self,
        transaction: &'t Transaction,
        id: EntryId,
    ) -> Result<Option<&'t [u8]>, Error> {
        match transaction.get(self.0, &id_key(id))? {
            Some(row) => verified(id, row).map(Some),
            None => Ok(None),
        }
    }

    /// Writes a row, given in parts; with [`Put::Append`] its id is greater than all others.
    pub fn put(
        &self,
        transaction: &mut WriteTransaction,
        id: EntryId,
        parts: &[&[u8]],
        put: Put,
    ) -> Result<(), Error> {
        // Rows copied from older databases may be of the version without a checksum.
        let first = parts.first().and_then(|it| it.get(1..));
        let rest = parts.get(1..).unwrap_or_default();
        let mut hash = Xxh3::new();
        let version = [VERSION];
        let content = [&version[..], first.unwrap_or_default()];
        content
            .iter()
            .chain(rest)
            .for_each(|part| hash.update(part));
        let checksum = (hash.digest() ^ id.0).to_le_bytes();
        let parts = content.iter().chain(rest).copied();
        let all: SmallVec<[&[u8]; 4]> = parts.chain([&checksum[..]]).collect();
        transaction.put_parts(self.0, &id_key(id), &all, put)
    }

    /// Deletes a row; `false` if there was none.
    pub fn delete(&self, transaction: &mut WriteTransaction, id: EntryId) -> Result<bool, Error> {
        transaction.delete(self.0, &id_key(id))
    }

    /// Walks the rows from this id on, in the order of ids.
    pub fn scan<'t>(
        &self,
        transaction: &'t Transaction,
        from: EntryId,
    ) -> Result<TreeScan<'t>, Error> {
        Ok(TreeScan {
            cursor: transaction.cursor(self.0)?,
            from: Some(from),
        })
    }
}

/// A walk along the leaves of the tree.
#[derive(Debug)]
pub(crate) struct TreeScan<'t> {
    cursor: Cursor<'t>,
    /// The first id of the walk; `None` once it has begun.
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
        let id = match id_of_key(key, "entry") {
            Ok(id) => id,
            Err(error) => return Some(Err(error)),
        };
        Some(verified(id, value).map(|row| (id, row)))
    }
}

/// Bytes of the checksum behind a row.
const CHECKSUM_BYTES: usize = 8;

/// Returns the row of an entry without its checksum, after comparing it.
#[inline]
pub(crate) fn verified(id: EntryId, row: &[u8]) -> Result<&[u8], Error> {
    if let Some((content, checksum)) = row.split_last_chunk::<CHECKSUM_BYTES>()
        && content.first() == Some(&VERSION)
        && XxHash3_64::oneshot(content) ^ id.0 == u64::from_le_bytes(*checksum)
    {
        return Ok(content);
    }
    verified_unsummed(id, row)
}

/// Verifies a row written before checksums existed.
#[cold]
fn verified_unsummed(id: EntryId, row: &[u8]) -> Result<&[u8], Error> {
    let sound = |view: &EntryView<'_>| {
        view.computed_digest() == view.digest() && view.directory_covers_attributes()
    };
    match row.first() {
        Some(&VERSION_UNSUMMED) if EntryView::new(row).is_ok_and(|view| sound(&view)) => Ok(row),
        // The version is a later release's or damaged; the two cannot be told apart.
        Some(&found) if found > VERSION => EntryView::new(row).map(|_| row),
        _ => Err(Error::DamagedEntry { id }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::entry::EntryBuilder;

    const ID: EntryId = EntryId(7);

    /// Returns one entry as a row with a checksum and as a row of releases before checksums.
    fn rows() -> (Vec<u8>, Vec<u8>) {
        let mut builder = EntryBuilder::new(EntryId(2), "uid=ada", 9);
        let values = [&b"ada"[..], b"lovelace"];
        builder.user(schema::AttributeNumber(3), "cn", values.into_iter());
        builder.operational(
            schema::AttributeNumber(4),
            "etag",
            std::iter::once(&b"1"[..]),
        );
        let mut row = Vec::new();
        builder.finish(&mut row);
        let mut old = row.clone();
        old[0] = VERSION_UNSUMMED;
        let checksum = XxHash3_64::oneshot(&row) ^ ID.0;
        row.extend_from_slice(&checksum.to_le_bytes());
        (row, old)
    }

    /// Writing and comparing checksums are separate implementations.
    #[test]
    fn checksums_are_written_as_they_are_compared() {
        let bytes: Vec<u8> = (0..3_000_u32).map(|it| (it * 31 % 251) as u8).collect();
        for length in 0..bytes.len() {
            let (first, rest) = bytes[..length].split_at(length / 3);
            let mut written = Xxh3::new();
            written.update(first);
            written.update(rest);
            let compared = XxHash3_64::oneshot(&bytes[..length]);
            assert_eq!(written.digest(), compared, "{length} bytes");
        }
    }

    #[test]
    fn rows_of_both_versions_are_read() {
        let (row, old) = rows();
        assert_eq!(
            verified(ID, &row).unwrap(),
            &row[..row.len() - CHECKSUM_BYTES]
        );
        assert_eq!(verified(ID, &old).unwrap(), old);
        let of_another = verified(EntryId(8), &row);
        assert!(matches!(
            of_another,
            Err(Error::DamagedEntry { id: EntryId(8) })
        ));
        assert!(matches!(verified(ID, &[]), Err(Error::DamagedEntry { .. })));
    }

    proptest! {
        #[test]
        fn no_damaged_row_is_read(
            bytes in proptest::collection::vec((any::<usize>(), 1..=255_u8), 1..4),
        ) {
            let (row, old) = rows();
            let damage = |row: &[u8]| {
                let mut damaged = row.to_vec();
                for (at, bits) in &bytes {
                    damaged[at % row.len()] ^= bits;
                }
                damaged
            };
            let damaged = damage(&row);
            prop_assert!(damaged == row || verified(ID, &damaged).is_err());
            // The digest of an old row covers its name and its attributes.
            let damaged = damage(&old);
            if let Ok(read) = verified(ID, &damaged) {
                let attributes = |row| EntryView::new(row).map(|it| it.all_attributes().to_vec());
                prop_assert_eq!(attributes(read).ok(), attributes(&old).ok());
            }
        }
    }
}
