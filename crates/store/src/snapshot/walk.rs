//! Walks over a snapshot: the children of an entry by name, and entries by id.

use super::Snapshot;
use crate::entry::EntryView;
use crate::entry_store::TreeScan;
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::Cursor;
use crate::tables::{NameKey, id_of_name, parent_of_name_key};

/// The iterator of [`Snapshot::children`].
pub(super) struct Children<'a> {
    snapshot: Snapshot<'a>,
    parent: EntryId,
    cursor: Option<Cursor<'a>>,
    ended: bool,
}

impl<'a> Children<'a> {
    pub(super) fn new(snapshot: Snapshot<'a>, parent: EntryId) -> Children<'a> {
        Children {
            snapshot,
            parent,
            cursor: None,
            ended: false,
        }
    }

    fn step(&mut self) -> Result<Option<EntryId>, Error> {
        let row = match &mut self.cursor {
            Some(cursor) => cursor.next()?,
            None => {
                let cursor = self
                    .snapshot
                    .transaction
                    .cursor(self.snapshot.tables.name)?;
                self.cursor
                    .insert(cursor)
                    .seek(NameKey::new(self.parent, &[]).bytes())?
            }
        };
        let row = row.filter(|(key, _)| parent_of_name_key(key) == Some(self.parent));
        row.map(|(key, value)| id_of_name(key, value)).transpose()
    }
}

impl Iterator for Children<'_> {
    type Item = Result<EntryId, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.step().transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

impl Snapshot<'_> {
    /// Passes every row of the name table to `take`: the superior, the entry, and its normalised
    /// RDN (for a naming context the whole name, its RDNs joined by `00 02`).
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] for a row that cannot be read, which ends the walk.
    pub fn walk_names(&self, take: &mut dyn FnMut(EntryId, EntryId, &[u8])) -> Result<(), Error> {
        let mut cursor = self.transaction.cursor(self.tables.name)?;
        while let Some((key, value)) = cursor.next()? {
            if let (Some(parent), Some(rdn)) = (parent_of_name_key(key), key.get(8..)) {
                take(parent, id_of_name(key, value)?, rdn);
            }
        }
        Ok(())
    }

    /// Passes the children of an entry with their name keys to `take`, until it returns false. The
    /// walk begins behind the key `behind`, whose row may be gone, or at the first child.
    pub(crate) fn walk_children(
        &self,
        parent: EntryId,
        behind: &[u8],
        mut take: impl FnMut(&[u8], EntryId) -> bool,
    ) -> Result<(), Error> {
        let mut cursor = self.transaction.cursor(self.tables.name)?;
        let mut row = match behind.is_empty() {
            true => cursor.seek(NameKey::new(parent, &[]).bytes())?,
            false => cursor.seek_behind(behind)?,
        };
        while let Some((key, value)) = row
            && parent_of_name_key(key) == Some(parent)
        {
            if !take(key, id_of_name(key, value)?) {
                break;
            }
            row = cursor.next()?;
        }
        Ok(())
    }
}

/// The entries that a walk shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Entries that are not detached.
    Visible,
    /// All entries.
    Stored,
}

/// The iterator of [`Snapshot::entries_range`].
pub(super) struct Entries<'a> {
    snapshot: Snapshot<'a>,
    from: EntryId,
    to: EntryId,
    sight: Sight,
    scan: Option<TreeScan<'a>>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(
        snapshot: Snapshot<'a>,
        from: EntryId,
        to: EntryId,
        sight: Sight,
    ) -> Entries<'a> {
        Entries {
            snapshot,
            from,
            to,
            sight,
            scan: None,
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        let snapshot = &self.snapshot;
        // Without detached entries all entries are visible, and rows need not be tested.
        if self.sight == Sight::Visible && !snapshot.validate()? {
            self.sight = Sight::Stored;
        }
        let scan = snapshot.entries().scan(snapshot.transaction, self.from)?;
        self.scan = Some(scan);
        Ok(())
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(EntryId, EntryView<'a>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.scan.is_none()
            && let Err(error) = self.begin()
        {
            return Some(Err(error));
        }
        loop {
            let row = self.scan.as_mut()?.next()?;
            let (id, view) = match row.and_then(|(id, bytes)| Ok((id, EntryView::new(bytes)?))) {
                Ok((id, _)) if id > self.to => return None,
                Ok(row) => row,
                Err(error) => return Some(Err(error)),
            };
            if self.sight == Sight::Stored {
                return Some(Ok((id, view)));
            }
            match self.snapshot.is_detached(&view) {
                Ok(false) => return Some(Ok((id, view))),
                Ok(true) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
