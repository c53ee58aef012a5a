//! Appending entries prepared by worker threads to a database that already has entries.

use std::collections::BTreeMap;

use crate::batch::Batch;
use crate::bulk::{Place, Prepared};
use crate::entry::{EntryView, HEADER_BYTES, state_term, with_parent};
use crate::entry_store::EntryTree;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::keys::HashedKey;
use crate::lmdb::Put;
use crate::tables::{NameKey, name_value};

impl Batch<'_> {
    /// Adds prepared entries, one for each place; entries without a place are left out. A parent
    /// comes before its children. Index keys are those the entries were prepared with; rows are
    /// written index by index.
    ///
    /// # Errors
    /// [`Error::Conflict`] for ids out of order or a name that is taken: the batch can only be
    /// dropped then. [`Error::Full`] or an error of LMDB.
    pub fn append(&mut self, prepared: &Prepared, places: &[Option<Place>]) -> Result<(), Error> {
        if places.len() != prepared.len() {
            return Err(Error::conflict(
                "there is not one place for each prepared entry",
            ));
        }
        let mut children: BTreeMap<EntryId, i64> = BTreeMap::new();
        for (at, place) in places.iter().enumerate() {
            if let Some(place) = place {
                self.append_entry(place, prepared.name(at), prepared.entry(at))?;
                *children.entry(place.parent).or_default() += 1;
            }
        }
        for (parent, count) in children {
            self.change_count(parent, count)?;
        }
        let id_of = |ordinal: u32| {
            let place = places.get(ordinal as usize).copied().flatten();
            place.map(|it| it.id)
        };
        let keys = prepared.keys().iter().filter_map(|it| {
            let key = HashedKey {
                kind: it.kind,
                base: it.base,
                hash: it.hash,
            };
            Some((key, id_of(it.ordinal)?))
        });
        let mut keys: Vec<(HashedKey, EntryId)> = keys.collect();
        keys.sort_unstable();
        for (key, id) in keys {
            self.add_holder(&key, id)?;
        }
        let ordered = prepared
            .ordered()
            .filter_map(|(ordinal, key)| Some([key, &id_of(ordinal)?.packed()].concat()));
        let mut ordered: Vec<Vec<u8>> = ordered.collect();
        ordered.sort_unstable();
        for key in ordered {
            self.transaction
                .put(self.tables.order, &key, &[], Put::Upsert)?;
        }
        Ok(())
    }

    fn append_entry(&mut self, place: &Place, name: &[u8], entry: &[u8]) -> Result<(), Error> {
        let Place { id, parent } = *place;
        if id.0 < self.pending.state.next_id || id > EntryId::MAX {
            return Err(Error::conflict(format!(
                "id {id} was given before, or is out of range"
            )));
        }
        let digest = EntryView::new(entry)?.digest();
        let Some((header, rest)) = entry.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Error::corrupt("entry", "a row is too short"));
        };
        let mut header = *header;
        with_parent(&mut header, parent);
        let key = NameKey::new(parent, name);
        let key = key.bytes();
        if !self
            .transaction
            .put_new(self.tables.name, key, &name_value(key, id))?
        {
            return Err(Error::conflict("the name is taken"));
        }
        let entries = EntryTree(self.tables.entry);
        entries.put(&mut self.transaction, id, &[&header, rest], Put::Append)?;
        let state = &mut self.pending.state;
        state.entries += 1;
        state.next_id = id.0 + 1;
        state.digest = state.digest.wrapping_add(state_term(id, parent, digest));
        Ok(())
    }
}
