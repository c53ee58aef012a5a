//! Reading links.

use schema::AttributeNumber;
use smallvec::SmallVec;

use super::chunk::Chunk;
use super::{Holder, LinkedSet, SetId, rows};
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::{Cursor, Row};
use crate::snapshot::Snapshot;

impl<'a> Snapshot<'a> {
    /// Returns the sets of an entry, by attribute number. An entry whose row lacks the flag has
    /// none.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] for a row that cannot be read.
    pub fn linked_sets(&self, id: EntryId) -> Result<SmallVec<[LinkedSet; 2]>, Error> {
        let prefix = rows::owned_prefix(id);
        let mut sets = SmallVec::new();
        let mut cursor = self.transaction.cursor(self.tables.linkset)?;
        let mut row = cursor.seek(&prefix)?;
        while let Some((key, value)) = row.filter(|(key, _)| key.starts_with(&prefix)) {
            sets.extend(rows::of_owned(key, value)?.map(|(_, set)| set));
            row = cursor.next()?;
        }
        Ok(sets)
    }

    /// Returns the set of one attribute of an entry, if it has one.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn linked_set(
        &self,
        id: EntryId,
        number: AttributeNumber,
    ) -> Result<Option<LinkedSet>, Error> {
        let key = rows::owned_key(id, number);
        let row = self.transaction.get(self.tables.linkset, &key)?;
        let set = row.map(|value| rows::of_owned(&key, value)).transpose()?;
        Ok(set.flatten().map(|(_, set)| set))
    }

    /// Returns whether a set has a member.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn has_member(&self, set: SetId, member: EntryId) -> Result<bool, Error> {
        let key = rows::chunk_key(set, member);
        match self.transaction.get(self.tables.link, &key)? {
            Some(bytes) => Ok(Chunk::parse(bytes)?.contains(rows::low(member))),
            None => Ok(false),
        }
    }

    /// Iterates over the members of a set with ids greater than `after`, ascending, texts and
    /// detached entries included.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn members_after(&self, set: SetId, after: EntryId) -> Result<Members<'a>, Error> {
        let from = EntryId(after.0.saturating_add(1));
        let mut members = Members {
            cursor: self.transaction.cursor(self.tables.link)?,
            set,
            high: EntryId::ROOT,
            lows: Vec::new(),
            at: 0,
            ended: false,
        };
        let row = members.cursor.seek(&rows::chunk_key(set, from))?;
        members.load(row, from)?;
        Ok(members)
    }

    /// Iterates over the members with ids greater than `after` of an attribute of an entry; without
    /// a set there are none.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub(crate) fn members_of(
        &self,
        owner: EntryId,
        number: AttributeNumber,
        after: EntryId,
    ) -> Result<impl Iterator<Item = Result<EntryId, Error>> + use<'a>, Error> {
        let set = self.linked_set(owner, number)?;
        let members = set
            .map(|it| self.members_after(it.set, after))
            .transpose()?;
        Ok(members.into_iter().flatten())
    }

    /// Iterates over the members of a set, ascending, without the first `skip`. Skipping reads the
    /// length of each chunk left out: a fraction of a millisecond for ten million members.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn members_from(&self, set: SetId, mut skip: u64) -> Result<Members<'a>, Error> {
        let mut members = Members {
            cursor: self.transaction.cursor(self.tables.link)?,
            set,
            high: EntryId::ROOT,
            lows: Vec::new(),
            at: 0,
            ended: false,
        };
        let prefix = set.0.packed();
        let mut row = (members.cursor).seek(&rows::chunk_key(set, EntryId::ROOT))?;
        while let Some((key, value)) = row
            && key.starts_with(&prefix)
        {
            let length = Chunk::parse(value)?.len() as u64;
            if skip < length {
                break;
            }
            skip -= length;
            row = members.cursor.next()?;
        }
        members.load(row, EntryId::ROOT)?;
        members.at = members.lows.len().min(skip as usize);
        Ok(members)
    }

    /// Returns the holders of links to a member. Detached sets are left out.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn holders_of(&self, member: EntryId) -> Result<Vec<Holder>, Error> {
        let (holders, _) = self.holders_after(member, SetId(EntryId::ROOT), usize::MAX)?;
        Ok(holders)
    }

    /// Returns the holders of links to a member, in the order of sets after `after`, for at most
    /// `most` sets; and the last of these sets if there may be more.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn holders_after(
        &self,
        member: EntryId,
        after: SetId,
        most: usize,
    ) -> Result<(Vec<Holder>, Option<SetId>), Error> {
        let mut holders = Vec::new();
        let sets = self.sets_after(member, after, most)?;
        for set in &sets {
            let owner = (self.transaction).get(self.tables.linkset, &rows::owner_key(*set))?;
            let owner = owner.ok_or_else(|| rows::damaged("a set without an owner"))?;
            holders.extend(rows::of_owner(*set, owner)?);
        }
        let last = sets.last().filter(|_| sets.len() == most);
        Ok((holders, last.copied()))
    }

    /// Returns the sets that have a member.
    pub(crate) fn sets_of(&self, member: EntryId) -> Result<Vec<SetId>, Error> {
        self.sets_after(member, SetId(EntryId::ROOT), usize::MAX)
    }

    /// Returns the sets with ids greater than `after` that have a member, at most `most`.
    pub(crate) fn sets_after(
        &self,
        member: EntryId,
        after: SetId,
        most: usize,
    ) -> Result<Vec<SetId>, Error> {
        let bucket = rows::bucket(member);
        let first = rows::item(member, SetId(EntryId(after.0.0 + 1)));
        let mut sets = Vec::new();
        let mut cursor = self.transaction.cursor(self.tables.linked)?;
        let mut item = cursor.seek_item(&bucket, &first)?;
        while let Some((found, set)) = item.and_then(|it| rows::of_item(&bucket, it))
            && found == member
            && sets.len() < most
        {
            sets.push(set);
            item = cursor.next_duplicate()?.map(|(_, item)| item);
        }
        Ok(sets)
    }

    /// Returns the id of the text with this normal form, if there is one.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn text_id(&self, normal: &[u8]) -> Result<Option<EntryId>, Error> {
        let prefix = rows::hash_prefix(normal);
        let mut cursor = self.transaction.cursor(self.tables.linkset)?;
        let mut row = cursor.seek(&prefix)?;
        while let Some((key, _)) = row.filter(|(key, _)| key.starts_with(&prefix)) {
            let id = rows::of_hash_key(key).ok_or_else(|| rows::damaged("the hash of a text"))?;
            if self.stored_text(id)?.is_some_and(|(_, it)| it == normal) {
                return Ok(Some(id));
            }
            row = cursor.next()?;
        }
        Ok(None)
    }

    /// Returns a text as it was given.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn text(&self, id: EntryId) -> Result<Option<&'a [u8]>, Error> {
        Ok(self.stored_text(id)?.map(|(text, _)| text))
    }

    /// Returns a text and its normal form.
    pub(crate) fn stored_text(&self, id: EntryId) -> Result<Option<rows::Text<'a>>, Error> {
        let row = (self.transaction).get(self.tables.linkset, &rows::text_key(id))?;
        row.map(rows::of_text).transpose()
    }

    /// Returns the first detached set, if there is one.
    ///
    /// # Errors
    /// The errors of [`Snapshot::linked_sets`].
    pub fn detached_set(&self) -> Result<Option<SetId>, Error> {
        let prefix = rows::detached_prefix();
        let mut cursor = self.transaction.cursor(self.tables.linkset)?;
        let row = cursor.seek(&prefix)?;
        Ok(row.and_then(|(key, _)| rows::of_detached(key)))
    }
}

/// The iterator of [`Snapshot::members_after`].
#[derive(Debug)]
pub struct Members<'a> {
    cursor: Cursor<'a>,
    set: SetId,
    /// The first id of the current chunk, and its members still to come.
    high: EntryId,
    lows: Vec<u16>,
    at: usize,
    ended: bool,
}

impl<'a> Members<'a> {
    /// Reads the chunk of a row, from a member on; a row of another set ends the iteration.
    fn load(&mut self, row: Option<Row<'a>>, from: EntryId) -> Result<(), Error> {
        self.lows.clear();
        self.at = 0;
        let set = self.set.0.packed();
        let Some((key, value)) = row.filter(|(key, _)| key.starts_with(&set)) else {
            self.ended = true;
            return Ok(());
        };
        let Some((_, high)) = rows::of_chunk_key(key) else {
            return Err(Error::corrupt("link", "the key of a chunk cannot be read"));
        };
        let first = if from > high { rows::low(from) } else { 0 };
        Chunk::parse(value)?.members_from(first, &mut self.lows);
        self.high = high;
        Ok(())
    }

    fn step(&mut self) -> Result<Option<EntryId>, Error> {
        loop {
            if let Some(low) = self.lows.get(self.at) {
                self.at += 1;
                return Ok(Some(EntryId(self.high.0 | u64::from(*low))));
            }
            if self.ended {
                return Ok(None);
            }
            let row = self.cursor.next()?;
            self.load(row, EntryId::ROOT)?;
        }
    }
}

impl Iterator for Members<'_> {
    type Item = Result<EntryId, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step().transpose();
        self.ended |= !matches!(item, Some(Ok(_)));
        item
    }
}
