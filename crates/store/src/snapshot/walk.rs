//! Walks over a state: the children of an entry by name, and entries by id.

use super::Snapshot;
use crate::entry::EntryView;
use crate::entry_store::TreeScan;
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::Cursor;
use crate::tables::{NameKey, id_of_name, parent_of_name_key};

/// See [`Snapshot::children`].
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
    /// Shows `take` every row of the table of names: the superior, the entry, and its normalised
    /// RDN (of a naming context the whole name, its RDNs joined by `00 02`).
    ///
    /// # Errors
    /// What LMDB says; [`Error::Corrupt`] for a row that cannot be read, and ends the walk.
    pub fn walk_names(&self, take: &mut dyn FnMut(EntryId, EntryId, &[u8])) -> Result<(), Error> {
        let mut cursor = self.transaction.cursor(self.tables.name)?;
        while let Some((key, value)) = cursor.next()? {
            if let (Some(parent), Some(rdn)) = (parent_of_name_key(key), key.get(8..)) {
                take(parent, id_of_name(key, value)?, rdn);
            }
        }
        Ok(())
    }

    /// Shows `take` the children of an entry with the keys of their names, behind one of these that
    /// need not be there any more, until it has enough; without one from the first on.
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

/// Which entries a walk shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Those that are not detached.
    Visible,
    /// All of them.
    Stored,
}

/// See [`Snapshot::entries_range`].
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
        // Without detached entries there is no difference, and rows need not be asked.
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
