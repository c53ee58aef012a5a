//! Appending entries to a bulk load.

use super::collect::{self, Group};
use super::loader::{BulkLoader, TRANSACTION_BYTES, group_slot};
use super::prepare::Prepared;
use super::spill::spill;
use crate::entry::{EntryView, HEADER_BYTES, state_term, with_parent};
use crate::entry_store::EntryTree;
use crate::error::Error;
use crate::id::EntryId;
use crate::lmdb::Put;
use crate::tables::{NameKey, name_value};

/// Id and parent of an entry in a bulk load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The id of the entry, greater than that of every entry appended before.
    pub id: EntryId,
    /// The parent of the entry; [`EntryId::ROOT`] for a naming context.
    pub parent: EntryId,
}

impl BulkLoader {
    /// Appends prepared entries, one for each place; entries without a place are left out. A parent
    /// comes before its children, and no two children of a parent have the same normalised RDN.
    ///
    /// # Errors
    /// [`Error::Full`], or [`Error::Conflict`] for ids out of order.
    pub fn append(&mut self, prepared: &Prepared, places: &[Option<Place>]) -> Result<(), Error> {
        if places.len() != prepared.len() {
            return Err(Error::conflict(
                "there is not one place for each prepared entry",
            ));
        }
        for (at, place) in places.iter().enumerate() {
            if let Some(place) = place {
                self.append_entry(place, prepared.name(at), prepared.entry(at))?;
            }
        }
        let id_of = |ordinal: u32| {
            places
                .get(ordinal as usize)
                .copied()
                .flatten()
                .map(|it| it.id)
        };
        let before = self.state.entries < collect::SAMPLE_ENTRIES;
        for key in prepared.keys() {
            if let Some(id) = id_of(key.ordinal) {
                let slot = group_slot(key.kind, key.base);
                if slot >= self.groups.len() {
                    self.groups.resize_with(slot + 1, || None);
                }
                let group = self.groups[slot].get_or_insert_with(|| Group::boxed(key.kind));
                group.add(key.hash, id, before);
            }
        }
        for (ordinal, key) in prepared.ordered() {
            if let Some(id) = id_of(ordinal) {
                let rank = key
                    .iter()
                    .take(3)
                    .fold(0, |rank, byte| rank << 8 | u64::from(*byte));
                let id = id.packed();
                self.ordered
                    .0
                    .add(rank, &[key, &id], key.len() + id.len(), 3);
            }
        }
        if !before {
            self.groups
                .iter_mut()
                .flatten()
                .for_each(|group| group.settle());
        }
        if self.collected() > self.memory {
            spill(self)?;
        }
        Ok(())
    }

    fn append_entry(&mut self, place: &Place, name: &[u8], entry: &[u8]) -> Result<(), Error> {
        let Place { id, parent } = *place;
        if id <= self.last || id > EntryId::MAX {
            return Err(Error::conflict(format!(
                "id {id} does not follow {}",
                self.last
            )));
        }
        let digest = EntryView::new(entry)?.digest();
        let Some((header, rest)) = entry.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Error::corrupt("entry", "a row is too short"));
        };
        let mut header = *header;
        with_parent(&mut header, parent);
        let entries = EntryTree(self.store.shared.tables.entry);
        entries.put(self.transaction()?, id, &[&header, rest], Put::Append)?;
        let key = NameKey::new(parent, name);
        let key = key.bytes();
        self.names
            .0
            .add(parent.0, &[key, &name_value(key, id)], key.len(), 8);
        self.last = id;
        self.state.entries += 1;
        self.state.next_id = id.0 + 1;
        self.state.digest = self
            .state
            .digest
            .wrapping_add(state_term(id, parent, digest));
        self.uncommitted += entry.len();
        if self.uncommitted > TRANSACTION_BYTES {
            self.commit()?;
        }
        Ok(())
    }
}
