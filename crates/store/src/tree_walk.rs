//! A walk through a subtree that can be interrupted, stored, and continued in a later state.

use crate::entry::EntryView;
use crate::error::Error;
use crate::id::EntryId;
use crate::snapshot::Snapshot;
use crate::tables::{NameKey, id_of_name, parent_of_name_key};

/// A walk through a subtree, detached or not, from the leaves to the top. Entries removed meanwhile
/// are left out; entries renamed meanwhile may be left out, or come twice.
#[derive(Debug, Clone)]
pub struct TreeWalk {
    /// The entries from the top down to the present one, each with the name key of the child
    /// visited last.
    levels: Vec<(EntryId, Vec<u8>)>,
}

impl TreeWalk {
    /// Begins a walk through an entry and all its subordinates.
    pub fn of(top: EntryId) -> TreeWalk {
        TreeWalk {
            levels: vec![(top, NameKey::new(top, &[]).bytes().to_vec())],
        }
    }

    /// Appends the encoded walk: for each level the length of a name key (2 bytes, little-endian)
    /// and the key, which begins with the id of the level's entry.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for (_, last) in &self.levels {
            // A key of LMDB has 511 bytes at most.
            out.extend_from_slice(&(last.len() as u16).to_le_bytes());
            out.extend_from_slice(last);
        }
    }

    /// Decodes a walk; `None` for bytes that are none.
    pub fn decode(mut bytes: &[u8]) -> Option<TreeWalk> {
        let mut levels = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<2>()?;
            let (last, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
            levels.push((parent_of_name_key(last)?, last.to_vec()));
            bytes = rest;
        }
        Some(TreeWalk { levels })
    }

    /// Returns the next entry; `None` at the end.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] for a row that cannot be read.
    pub fn next<'a>(
        &mut self,
        snapshot: &Snapshot<'a>,
    ) -> Result<Option<(EntryId, EntryView<'a>)>, Error> {
        while let Some((parent, last)) = self.levels.last_mut() {
            let mut cursor = snapshot.transaction.cursor(snapshot.tables.name)?;
            let row = match cursor.seek(last)? {
                Some((key, _)) if key == last.as_slice() => cursor.next()?,
                row => row,
            };
            let row = row.filter(|(key, _)| parent_of_name_key(key) == Some(*parent));
            if let Some((key, value)) = row {
                let id = id_of_name(key, value)?;
                *last = key.to_vec();
                self.levels
                    .push((id, NameKey::new(id, &[]).bytes().to_vec()));
                continue;
            }
            let id = *parent;
            self.levels.pop();
            if let Some(view) = snapshot.stored_entry(id)? {
                return Ok(Some((id, view)));
            }
        }
        Ok(None)
    }
}
