//! Changing links.

use schema::AttributeNumber;

use super::chunk::{self, Chunk, Draft};
use super::{Holder, LinkedSet, SetId, rows, term};
use crate::batch::Batch;
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::Put;

/// Number of members up to which a detached set is cleared away at once.
const AT_ONCE_MAX: u64 = 1000;

impl Batch<'_> {
    /// Adds members to the set of an attribute of an entry (`true`) and removes others (`false`).
    /// The set is made with its first member and removed with its last. The entry's row must have
    /// the flag while there is a set. Adding a present member or removing a missing one changes
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB; [`Error::Corrupt`] for a row that cannot be read.
    pub fn change_links(
        &mut self,
        id: EntryId,
        number: AttributeNumber,
        changes: &[(EntryId, bool)],
    ) -> Result<(), Error> {
        let mut changes: Vec<(EntryId, bool)> = changes.to_vec();
        changes.sort_unstable();
        let table = self.tables.linkset;
        let key = rows::owned_key(id, number);
        let row = self.transaction.get(table, &key)?;
        let known = row.map(|value| rows::of_owned(&key, value)).transpose()?;
        let (set, mut count) = match known.flatten() {
            Some((_, it)) => (it.set, it.count),
            None => (self.new_set(id, number)?, 0),
        };
        for part in changes.chunk_by(|a, b| a.0.0 >> chunk::BITS == b.0.0 >> chunk::BITS) {
            let difference = self.change_chunk(set, part)?;
            count = count.saturating_add_signed(difference);
        }
        if count == 0 {
            self.transaction.delete(table, &key)?;
            self.transaction.delete(table, &rows::owner_key(set))?;
            return Ok(());
        }
        let value = rows::owned_value(set, count);
        self.transaction.put(table, &key, &value, Put::Upsert)
    }

    fn new_set(&mut self, id: EntryId, number: AttributeNumber) -> Result<SetId, Error> {
        let set = SetId(self.next_id());
        let (key, value) = (rows::owner_key(set), rows::owner_value(id, number));
        self.transaction
            .put(self.tables.linkset, &key, &value, Put::Upsert)?;
        Ok(set)
    }

    /// Changes members that fall into one chunk; returns the change of their number.
    fn change_chunk(&mut self, set: SetId, changes: &[(EntryId, bool)]) -> Result<i64, Error> {
        let Some((first, _)) = changes.first() else {
            return Ok(0);
        };
        let key = rows::chunk_key(set, *first);
        let stored = self.transaction.get(self.tables.link, &key)?;
        let mut draft = Draft::of(stored.map(Chunk::parse).transpose()?);
        let before = draft.len();
        let mut changed: Vec<(EntryId, bool)> = Vec::with_capacity(changes.len());
        for (member, add) in changes {
            if draft.set(rows::low(*member), *add) {
                changed.push((*member, *add));
            }
        }
        if changed.is_empty() {
            return Ok(0);
        }
        let left = draft.len();
        if left == 0 {
            self.transaction.delete(self.tables.link, &key)?;
        } else {
            let mut value = Vec::new();
            draft.encode(&mut value);
            self.transaction
                .put(self.tables.link, &key, &value, Put::Upsert)?;
        }
        for (member, add) in changed {
            self.change_reverse(set, member, add)?;
        }
        Ok(left as i64 - before as i64)
    }

    fn change_reverse(&mut self, set: SetId, member: EntryId, add: bool) -> Result<(), Error> {
        let table = self.tables.linked;
        let (bucket, item) = (rows::bucket(member), rows::item(member, set));
        let digest = &mut self.pending.state.digest;
        if add {
            *digest = digest.wrapping_add(term(set, member));
            return self.transaction.put(table, &bucket, &item, Put::Upsert);
        }
        *digest = digest.wrapping_sub(term(set, member));
        self.transaction.delete_item(table, &bucket, &item)?;
        self.forget_text_if_unused(member)
    }

    /// Detaches the set of an attribute from its entry. It has no owner then;
    /// [`Batch::clear_small`] or [`Batch::reclaim_links`] removes its members, after the caller has
    /// added the set that replaces it: a text is removed with the last set that has it.
    ///
    /// # Errors
    /// The errors of [`Batch::change_links`].
    pub fn detach_links(
        &mut self,
        id: EntryId,
        number: AttributeNumber,
    ) -> Result<Option<LinkedSet>, Error> {
        let table = self.tables.linkset;
        let key = rows::owned_key(id, number);
        let row = self.transaction.get(table, &key)?;
        let known = row.map(|value| rows::of_owned(&key, value)).transpose()?;
        let Some((_, it)) = known.flatten() else {
            return Ok(None);
        };
        self.transaction.delete(table, &key)?;
        let nobody = rows::owner_value(EntryId::ROOT, number);
        self.transaction
            .put(table, &rows::owner_key(it.set), &nobody, Put::Upsert)?;
        self.transaction
            .put(table, &rows::detached_key(it.set), &[], Put::Upsert)?;
        Ok(Some(it))
    }

    /// Clears a small detached set; `false` for a larger one, left to [`Batch::reclaim_links`].
    ///
    /// # Errors
    /// The errors of [`Batch::change_links`].
    pub fn clear_small(&mut self, detached: &LinkedSet) -> Result<bool, Error> {
        if detached.count > AT_ONCE_MAX {
            return Ok(false);
        }
        self.clear_set(detached.set, AT_ONCE_MAX)?;
        Ok(true)
    }

    /// Detaches all sets of an entry that is being deleted.
    pub(crate) fn detach_all_links(&mut self, id: EntryId) -> Result<(), Error> {
        for it in self.snapshot().linked_sets(id)? {
            if let Some(detached) = self.detach_links(id, it.number)? {
                self.clear_small(&detached)?;
            }
        }
        Ok(())
    }

    /// Removes about `most` members of a detached set, at least one chunk; returns the number
    /// removed. 0 means that there is no detached set.
    ///
    /// # Errors
    /// The errors of [`Batch::change_links`].
    pub fn reclaim_links(&mut self, most: u64) -> Result<u64, Error> {
        let set = self.snapshot().detached_set()?;
        set.map_or(Ok(0), |set| self.clear_set(set, most))
    }

    fn clear_set(&mut self, set: SetId, most: u64) -> Result<u64, Error> {
        let mut members = Vec::new();
        for member in self.snapshot().members_after(set, EntryId::ROOT)? {
            members.push((member?, false));
            if members.len() as u64 > most {
                break;
            }
        }
        let all = members.len() as u64 <= most;
        for part in members.chunk_by(|a, b| a.0.0 >> chunk::BITS == b.0.0 >> chunk::BITS) {
            self.change_chunk(set, part)?;
        }
        if all {
            let table = self.tables.linkset;
            self.transaction.delete(table, &rows::owner_key(set))?;
            self.transaction.delete(table, &rows::detached_key(set))?;
        }
        // Removing an empty set counts as work done, too.
        Ok((members.len() as u64).max(1))
    }

    /// Returns the member id of a text that names no entry, a new one if the text is new. The
    /// caller makes it a member of a set, or the text stays for good.
    ///
    /// # Errors
    /// The errors of [`Batch::change_links`].
    pub fn text_member(&mut self, text: &[u8], normal: &[u8]) -> Result<EntryId, Error> {
        if let Some(known) = self.snapshot().text_id(normal)? {
            return Ok(known);
        }
        let id = self.next_id();
        let table = self.tables.linkset;
        let value = rows::text_value(text, normal);
        self.transaction
            .put(table, &rows::text_key(id), &value, Put::Upsert)?;
        self.transaction
            .put(table, &rows::hash_key(normal, id), &[], Put::Upsert)?;
        self.count_text(id, &value)?;
        Ok(id)
    }

    fn forget_text_if_unused(&mut self, id: EntryId) -> Result<(), Error> {
        let snapshot = self.snapshot();
        let Some((_, normal)) = snapshot.stored_text(id)? else {
            return Ok(());
        };
        // One set decides it: a text may be in as many sets as there are groups.
        let one = snapshot.sets_after(id, SetId(EntryId::ROOT), 1)?;
        if !one.is_empty() {
            return Ok(());
        }
        let hash_key = rows::hash_key(normal, id);
        self.forget_text(id, &hash_key)
    }

    fn forget_text(&mut self, id: EntryId, hash_key: &rows::HashKey) -> Result<(), Error> {
        self.discount_text(id)?;
        let table = self.tables.linkset;
        self.transaction.delete(table, &rows::text_key(id))?;
        self.transaction.delete(table, hash_key)?;
        Ok(())
    }

    /// Replaces a member by another, or by none, in at most so many of its sets: with `usize::MAX`
    /// in all. Returns the former holders, and whether there may be more sets.
    ///
    /// # Errors
    /// The errors of [`Batch::change_links`].
    pub fn replace_member(
        &mut self,
        old: EntryId,
        new: Option<EntryId>,
        most: usize,
    ) -> Result<(Vec<Holder>, bool), Error> {
        let nothing = SetId(EntryId::ROOT);
        let sets = self.snapshot().sets_after(old, nothing, most)?;
        let (holders, last) = self.snapshot().holders_after(old, nothing, most)?;
        for holder in &holders {
            let mut changes = vec![(old, false)];
            changes.extend(new.map(|new| (new, true)));
            self.change_links(holder.id, holder.number, &changes)?;
        }
        // The other sets are detached. The sets of holders no longer have the member.
        for set in sets {
            self.change_chunk(set, &[(old, false)])?;
        }
        Ok((holders, last.is_some()))
    }

    /// Gives the id of a text to the entry about to be made under the name that is its normal form:
    /// each set with the text then has the entry, and no set is changed. Returns the id, and the
    /// text as it was given; `None` if no set has such a text.
    ///
    /// # Errors
    /// The errors of [`Batch::change_links`].
    pub fn take_text(&mut self, normal: &[u8]) -> Result<Option<(EntryId, Vec<u8>)>, Error> {
        let snapshot = self.snapshot();
        let Some(id) = snapshot.text_id(normal)? else {
            return Ok(None);
        };
        let text = snapshot.text(id)?.unwrap_or_default().to_vec();
        self.forget_text(id, &rows::hash_key(normal, id))?;
        Ok(Some((id, text)))
    }
}
