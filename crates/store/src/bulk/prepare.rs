//! The part of a bulk load that worker threads do: rows and index keys of entries.

use crate::entry::{EntryBuilder, EntryView};
use crate::error::Error;
use crate::index::keys::Keys;
use crate::index_set::{IndexKind, IndexSet, WritePlan};

/// Entries with their index keys, made by one worker thread. Entries get ids and parents when they
/// are appended.
#[derive(Debug, Default)]
pub struct Prepared {
    rows: Vec<u8>,
    row_ends: Vec<usize>,
    names: Vec<u8>,
    name_ends: Vec<usize>,
    keys: Vec<PreparedKey>,
    /// Keys of the order table without ids, concatenated.
    ordered: Vec<u8>,
    /// Ordinal of the entry that has each key, and the end of the key in `ordered`.
    ordered_ends: Vec<(u32, usize)>,
}

/// An index key of a prepared entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreparedKey {
    pub hash: u64,
    /// Ordinal of the entry among the prepared ones, from 0.
    pub ordinal: u32,
    pub base: u16,
    pub kind: IndexKind,
}

impl Prepared {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.row_ends.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.row_ends.is_empty()
    }

    /// Bytes of the entry rows.
    pub fn bytes(&self) -> usize {
        self.rows.len()
    }

    /// Approximate bytes of memory in use.
    pub fn memory(&self) -> usize {
        let keys = self.keys.capacity() * size_of::<PreparedKey>();
        self.rows.capacity() + self.names.capacity() + self.ordered.capacity() + keys
    }

    /// Returns the row of an entry by its ordinal.
    ///
    /// # Panics
    /// If the ordinal is out of range.
    pub fn entry(&self, at: usize) -> &[u8] {
        part(&self.rows, &self.row_ends, at)
    }

    /// Returns the normalised name of an entry by its ordinal.
    ///
    /// # Panics
    /// If the ordinal is out of range.
    pub fn name(&self, at: usize) -> &[u8] {
        part(&self.names, &self.name_ends, at)
    }

    pub(crate) fn keys(&self) -> &[PreparedKey] {
        &self.keys
    }

    pub(crate) fn ordered(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let mut start = 0;
        self.ordered_ends.iter().map(move |(ordinal, end)| {
            let key = &self.ordered[start..*end];
            start = *end;
            (*ordinal, key)
        })
    }
}

fn part<'p>(bytes: &'p [u8], ends: &[usize], at: usize) -> &'p [u8] {
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &bytes[start..ends[at]]
}

/// Computes rows and index keys of entries; each worker thread has its own.
#[derive(Debug)]
pub struct Preparer {
    indexes: IndexSet,
    plan: WritePlan,
    prepared: Prepared,
    keys: Keys,
    scratch: Vec<u8>,
}

impl Preparer {
    /// Returns a preparer for these indexes.
    pub fn new(indexes: &IndexSet) -> Preparer {
        Preparer {
            plan: indexes.plan(),
            indexes: indexes.clone(),
            prepared: Prepared::default(),
            keys: Keys::default(),
            scratch: Vec::new(),
        }
    }

    /// Replaces the indexes by a set whose schema gives more attributes numbers.
    pub fn set_indexes(&mut self, indexes: &IndexSet) {
        self.plan = indexes.plan();
        self.indexes = indexes.clone();
    }

    /// Adds an entry row. The parent in the row is ignored: the place given at appending has it.
    /// `rdn_normal` is the normalised RDN, for a naming context the whole normalised name.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a row that cannot be read.
    pub fn add(&mut self, rdn_normal: &[u8], entry: &[u8]) -> Result<(), Error> {
        EntryView::new(entry)?;
        self.prepared.rows.extend_from_slice(entry);
        self.added(rdn_normal)
    }

    /// Adds the entry that a builder has composed, without another copy of the row.
    ///
    /// # Errors
    /// The errors of [`Preparer::add`].
    pub fn build(&mut self, rdn_normal: &[u8], entry: &mut EntryBuilder) -> Result<(), Error> {
        entry.finish(&mut self.prepared.rows);
        self.added(rdn_normal)
    }

    fn added(&mut self, rdn_normal: &[u8]) -> Result<(), Error> {
        let prepared = &mut self.prepared;
        let start = prepared.row_ends.last().copied().unwrap_or(0);
        let view = EntryView::new(&prepared.rows[start..])?;
        let schema = &self.indexes.schema;
        self.keys
            .of_entry(schema, &self.plan, &view, &mut self.scratch);
        let ordinal = prepared.row_ends.len() as u32;
        prepared.row_ends.push(prepared.rows.len());
        prepared.names.extend_from_slice(rdn_normal);
        prepared.name_ends.push(prepared.names.len());
        prepared
            .keys
            .extend(self.keys.hashed.iter().map(|key| PreparedKey {
                hash: key.hash,
                ordinal,
                base: key.base,
                kind: key.kind,
            }));
        for range in &self.keys.ordered {
            prepared
                .ordered
                .extend_from_slice(self.keys.ordered_bytes(*range));
            prepared
                .ordered_ends
                .push((ordinal, prepared.ordered.len()));
        }
        Ok(())
    }

    /// Returns the row of the entry added last; empty if there is none.
    pub fn last_entry(&self) -> &[u8] {
        match self.prepared.len() {
            0 => &[],
            count => self.prepared.entry(count - 1),
        }
    }

    /// Number of entries added since [`Preparer::take`].
    pub fn len(&self) -> usize {
        self.prepared.len()
    }

    /// Returns whether no entry was added since [`Preparer::take`].
    pub fn is_empty(&self) -> bool {
        self.prepared.is_empty()
    }

    /// Returns the entries added since the last call, and starts anew.
    pub fn take(&mut self) -> Prepared {
        let next = Prepared {
            rows: Vec::with_capacity(self.prepared.rows.len()),
            ..Prepared::default()
        };
        std::mem::replace(&mut self.prepared, next)
    }
}
