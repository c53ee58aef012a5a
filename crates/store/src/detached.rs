//! Deleted subtrees: detached at once, reclaimed bit by bit.
//!
//! To detach a subtree is to move its top below [`EntryId::DETACHED`]: one name and one row,
//! however large the subtree is. From then on no reader finds an entry of it, while its rows and
//! keys still exist. Reclaiming removes them from the leaves up, so that each remaining entry is
//! still known to be detached.
//!
//! Invariants:
//! - the top of a detached subtree has its whole DN as RDN, so that the names of its entries stay
//!   the same;
//! - readers learn from the rename counter that detached entries exist, or that none do any more.

use crate::batch::Batch;
use crate::entry::EntryView;
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::Cursor;
use crate::snapshot::Snapshot;
use crate::tables::{NameKey, id_of_name, parent_of_name_key};

/// A detached entry that is next to be reclaimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detached {
    /// Id of the entry.
    pub id: EntryId,
    /// Id of the top of the subtree that was deleted.
    pub top: EntryId,
    parent: EntryId,
    name_key: Vec<u8>,
}

impl Batch<'_> {
    /// Detaches an entry with all its subordinates in constant time. `entry` is its new row: its
    /// RDN is its whole DN, its parent [`EntryId::DETACHED`].
    ///
    /// # Errors
    /// [`Error::Conflict`] when the name is not the entry's or `entry` has another parent.
    pub fn detach(
        &mut self,
        id: EntryId,
        name: (EntryId, &[u8]),
        entry: &[u8],
    ) -> Result<(), Error> {
        self.rename(id, name, (EntryId::DETACHED, &id.packed()), entry)?;
        // No reader caches a leaf, but the first detached entry must reach readers.
        self.pending.state.rename_counter += 1;
        Ok(())
    }

    /// Removes a detached entry without children.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the name leads to another entry, or the entry has children.
    pub fn reclaim(&mut self, entry: &Detached) -> Result<(), Error> {
        self.check_name(entry.id, &entry.name_key)?;
        self.remove(entry.id, &entry.name_key)?;
        let left = self.change_count(entry.parent, -1)?;
        // No reader looks up a detached superior, so the rename counter stays when it loses its
        // last child.
        if left == 0 && entry.parent == EntryId::DETACHED {
            self.pending.state.rename_counter += 1;
        }
        Ok(())
    }
}

impl<'a> Snapshot<'a> {
    /// Number of detached subtrees.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn detached_count(&self) -> Result<u64, Error> {
        self.child_count(EntryId::DETACHED)
    }

    /// Returns the next detached entries in the order of reclaiming, at most `most`.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn next_detached(&self, most: usize) -> Result<Vec<Detached>, Error> {
        let mut found = Vec::new();
        let mut levels = vec![Level {
            rows: NameRows::below(self, EntryId::DETACHED)?,
            own: None,
        }];
        while found.len() < most
            && let Some(level) = levels.last_mut()
        {
            let Some((key, id)) = level.rows.next()? else {
                // All subordinates are on the list already.
                found.extend(levels.pop().and_then(|it| it.own));
                continue;
            };
            let own = Detached {
                id,
                top: level.own.as_ref().map_or(id, |it| it.top),
                parent: level.rows.parent,
                name_key: key.to_vec(),
            };
            if self.child_count(id)? == 0 {
                found.push(own);
            } else {
                let rows = NameRows::below(self, id)?;
                let own = Some(own);
                levels.push(Level { rows, own });
            }
        }
        Ok(found)
    }

    /// Returns whether some entries are detached.
    ///
    /// # Errors
    /// Errors of LMDB.
    #[inline]
    pub fn hides_some(&self) -> Result<bool, Error> {
        self.validate()
    }

    /// Returns whether an entry is detached.
    ///
    /// # Errors
    /// The errors of [`Snapshot::write_name`].
    pub fn is_detached(&self, view: &EntryView<'_>) -> Result<bool, Error> {
        self.is_at_or_below(view.parent(), EntryId::DETACHED)
    }

    /// Returns the entry unless it is detached.
    #[cold]
    pub(crate) fn unless_detached(
        &self,
        stored: Option<EntryView<'a>>,
    ) -> Result<Option<EntryView<'a>>, Error> {
        match stored {
            Some(view) if self.is_detached(&view)? => Ok(None),
            stored => Ok(stored),
        }
    }
}

/// A level of the tree above the next entries.
struct Level<'a> {
    rows: NameRows<'a>,
    /// The entry whose children this level walks.
    own: Option<Detached>,
}

/// Walk over the name rows below an entry.
struct NameRows<'a> {
    parent: EntryId,
    cursor: Cursor<'a>,
    begun: bool,
}

impl<'a> NameRows<'a> {
    fn below(snapshot: &Snapshot<'a>, parent: EntryId) -> Result<NameRows<'a>, Error> {
        Ok(NameRows {
            parent,
            cursor: snapshot.transaction.cursor(snapshot.tables.name)?,
            begun: false,
        })
    }

    fn next(&mut self) -> Result<Option<(&'a [u8], EntryId)>, Error> {
        let row = match self.begun {
            true => self.cursor.next()?,
            false => self.cursor.seek(NameKey::new(self.parent, &[]).bytes())?,
        };
        self.begun = true;
        let row = row.filter(|(key, _)| parent_of_name_key(key) == Some(self.parent));
        row.map(|(key, value)| Ok((key, id_of_name(key, value)?)))
            .transpose()
    }
}
