//! The write transaction: changes to entries, with the index rows, counts and digest that follow.
//!
//! Invariants:
//! - after each operation that returned `Ok`, all tables agree, pending changes in memory included;
//! - an operation that returned [`Error::Conflict`] has changed nothing, and the batch goes on;
//!   after any other error the batch can only be dropped;
//! - readers see nothing before `commit` returns, and then all of it, durably.

mod announce;
mod append;
mod history;
mod rows;

pub(crate) use rows::keeps_buckets;

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use schema::{AttributeNumber, DictionaryRow, Schema};

use crate::containers::Containers;
use crate::entry::{EntryView, state_term};
use crate::entry_store::EntryTree;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::keys::{Keys, changed_bases};
use crate::index::posting;
use crate::index_set::{IndexKinds, IndexSet, IndexState, WritePlan};
use crate::lmdb::{Put, WriteTransaction};
use crate::open_database::OpenDatabase;
use crate::snapshot::{Pending, Snapshot};
use crate::state::{STATE_KEY, State, encode_index, index_key, value_key};
use crate::tables::{NameKey, Tables, count_of_value, id_key, id_of_name, name_value};

/// One write transaction. Dropping it changes nothing.
#[derive(Debug)]
pub struct Batch<'s> {
    pub(crate) transaction: WriteTransaction,
    pub(crate) tables: Tables,
    pub(crate) indexes: IndexSet,
    /// Indexes by attribute number; built at first use, since numbers may be added to the
    /// dictionary one by one and the plan is as long as the dictionary.
    plan: OnceCell<WritePlan>,
    pub(crate) pending: Pending,
    /// The state row as the batch read it: commit compares, to learn whether an entry or a counter
    /// changed.
    before: State,
    containers: RefCell<Containers>,
    /// Number of holders of a value above which they move to the posting table.
    pub(crate) holders_max: u64,
    pub(crate) scratch: Scratch,
    /// Offset of the environment in use, added to LMDB's transaction ids to give versions.
    versions_from: u64,
    store: &'s OpenDatabase,
}

/// The state of a batch at a [`Batch::save`]; LMDB keeps the changes of tables.
#[derive(Debug)]
pub struct Savepoint {
    state: State,
    indexes: IndexSet,
}

/// Buffers that each operation uses again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    value: Vec<u8>,
    old: Keys,
    new: Keys,
    bases: Vec<AttributeNumber>,
}

impl<'s> Batch<'s> {
    pub(crate) fn begin(
        shared: &'s Arc<OpenDatabase>,
        indexes: &IndexSet,
    ) -> Result<Batch<'s>, Error> {
        let in_use = shared.current.get();
        let transaction = shared.begin(&in_use)?;
        let row = transaction.get(shared.tables.meta, STATE_KEY)?;
        let state = State::decode(row.ok_or_else(|| Error::corrupt("meta", "no state row"))?)?;
        Ok(Batch {
            transaction,
            tables: shared.tables,
            plan: OnceCell::new(),
            indexes: indexes.clone(),
            pending: Pending {
                state,
                postings: posting::Pending::default(),
            },
            before: state,
            containers: RefCell::new(Containers::default()),
            holders_max: shared.holders_max,
            scratch: Scratch::default(),
            versions_from: in_use.versions_from,
            store: shared,
        })
    }

    /// A snapshot of the state with the changes of this batch.
    pub fn snapshot(&self) -> Snapshot<'_> {
        let version = self.versions_from + self.transaction.id();
        let pending = Some(&self.pending);
        Snapshot::new(
            &self.transaction,
            &self.tables,
            &self.containers,
            pending,
            version,
        )
    }

    /// Returns a new id; no entry ever had it.
    pub fn next_id(&mut self) -> EntryId {
        let id = EntryId(self.pending.state.next_id);
        self.pending.state.next_id += 1;
        id
    }

    /// Adds an entry below `parent`, which must exist or be [`EntryId::ROOT`] for a naming
    /// context; then `rdn_normal` is its whole normalised name.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the name is taken or `entry` has another parent.
    pub fn insert(
        &mut self,
        id: EntryId,
        parent: EntryId,
        rdn_normal: &[u8],
        entry: &[u8],
    ) -> Result<(), Error> {
        let view = EntryView::new(entry)?;
        if view.parent() != parent {
            return Err(Error::conflict("the entry row names another parent"));
        }
        if id.is_root() || id > EntryId::MAX {
            return Err(Error::conflict(format!(
                "{id} cannot be the id of an entry"
            )));
        }
        let key = NameKey::new(parent, rdn_normal);
        if !self
            .transaction
            .put_new(self.tables.name, key.bytes(), &name_value(key.bytes(), id))?
        {
            return Err(Error::conflict("the name is taken"));
        }
        self.put_entry(id, entry)?;
        self.add_to_count(parent, 1)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let schema = &self.indexes.schema;
        scratch
            .new
            .of_entry(schema, self.plan(), &view, &mut scratch.value);
        scratch.old.clear();
        let written = self.write_keys(id, &scratch.old, &scratch.new);
        self.scratch = scratch;
        written?;
        let state = &mut self.pending.state;
        state.entries += 1;
        state.next_id = state.next_id.max(id.0 + 1);
        state.digest = state
            .digest
            .wrapping_add(state_term(id, parent, view.digest()));
        Ok(())
    }

    /// Replaces an entry; its parent and its normalised name stay.
    ///
    /// # Errors
    /// [`Error::Conflict`] when there is no such entry or `entry` has another parent.
    pub fn update(&mut self, id: EntryId, entry: &[u8]) -> Result<(), Error> {
        let parent = EntryView::new(entry)?.parent();
        self.replace(id, parent, entry)
    }

    /// Replaces an entry and its name. Its subordinates move with it, at no cost.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the old name is not the entry's, the new one is taken, the new
    /// parent lies below the entry, or `entry` has another parent than the new one.
    pub fn rename(
        &mut self,
        id: EntryId,
        old: (EntryId, &[u8]),
        new: (EntryId, &[u8]),
        entry: &[u8],
    ) -> Result<(), Error> {
        let (old_key, new_key) = (NameKey::new(old.0, old.1), NameKey::new(new.0, new.1));
        self.check_name(id, old_key.bytes())?;
        if EntryView::new(entry)?.parent() != new.0 {
            return Err(Error::conflict("the entry row names another parent"));
        }
        let has_children = self.snapshot().child_count(id)? > 0;
        let moved = old.0 != new.0;
        if moved && new.0 == id {
            return Err(Error::conflict("an entry cannot move below itself"));
        }
        if moved && has_children && new.0.is_entry() && self.snapshot().is_at_or_below(new.0, id)? {
            return Err(Error::conflict("an entry cannot move below itself"));
        }
        if old_key.bytes() != new_key.bytes() {
            if !self.transaction.put_new(
                self.tables.name,
                new_key.bytes(),
                &name_value(new_key.bytes(), id),
            )? {
                return Err(Error::conflict("the name is taken"));
            }
            self.transaction.delete(self.tables.name, old_key.bytes())?;
        }
        self.replace(id, old.0, entry)?;
        if moved {
            self.add_to_count(old.0, -1)?;
            self.add_to_count(new.0, 1)?;
        }
        if has_children {
            self.pending.state.rename_counter += 1;
        }
        Ok(())
    }

    /// Deletes an entry without children.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the name is not the entry's or it has children.
    pub fn delete(&mut self, id: EntryId, name: (EntryId, &[u8])) -> Result<(), Error> {
        let key = NameKey::new(name.0, name.1);
        self.check_name(id, key.bytes())?;
        self.remove(id, key.bytes())?;
        self.add_to_count(name.0, -1)
    }

    /// Removes an entry without children and its name row; the child count of its parent stays.
    pub(crate) fn remove(&mut self, id: EntryId, name_key: &[u8]) -> Result<(), Error> {
        if self.snapshot().child_count(id)? > 0 {
            return Err(Error::conflict("the entry has children"));
        }
        let stored = self.snapshot().stored_entry(id)?;
        if stored.is_some_and(|view| view.has_links()) {
            self.detach_all_links(id)?;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let term = self.old_keys(id, None, &mut scratch);
        scratch.new.clear();
        let result = term.and_then(|term| {
            self.write_keys(id, &scratch.old, &scratch.new)?;
            self.pending.state.digest = self.pending.state.digest.wrapping_sub(term);
            Ok(())
        });
        self.scratch = scratch;
        result?;
        self.transaction.delete(self.tables.name, name_key)?;
        EntryTree(self.tables.entry).delete(&mut self.transaction, id)?;
        self.pending.state.entries -= 1;
        Ok(())
    }

    pub(crate) fn plan(&self) -> &WritePlan {
        self.plan.get_or_init(|| self.indexes.plan())
    }

    /// Uses `schema` for index keys from now on; `schema` extends the schema before.
    pub fn set_schema(&mut self, schema: Schema) {
        self.indexes.schema = schema;
        self.plan = OnceCell::new();
    }

    /// Stores dictionary rows; [`Batch::set_schema`] with a schema that has these rows must follow.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB.
    pub fn put_dictionary(&mut self, rows: &[DictionaryRow]) -> Result<(), Error> {
        for row in rows {
            let (key, text) = (row.number.0.to_be_bytes(), row.text.as_bytes());
            self.transaction
                .put(self.tables.dictionary, &key, text, Put::Upsert)?;
        }
        Ok(())
    }

    /// Sets the log position of this batch.
    pub fn set_position(&mut self, position: u64) {
        self.pending.state.position = position;
    }

    /// Stores a small named value for the crates above.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB.
    pub fn put_meta(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.transaction
            .put(self.tables.meta, &value_key(key), value, Put::Upsert)
    }

    /// Removes a small named value; without such a value nothing changes.
    ///
    /// # Errors
    /// The errors of [`Batch::put_meta`].
    pub fn delete_meta(&mut self, key: &[u8]) -> Result<(), Error> {
        let key = value_key(key);
        if self.transaction.get(self.tables.meta, &key)?.is_some() {
            self.transaction.delete(self.tables.meta, &key)?;
        }
        Ok(())
    }

    /// Sets the kinds of index on an attribute type, named canonically. [`Batch::build_indexes`]
    /// builds new kinds and removes kinds not listed; writes maintain the new ones from now on. The
    /// caller makes its [`IndexSet`] anew from [`Snapshot::index_states`].
    ///
    /// # Errors
    /// [`Error::Conflict`] for an attribute type that the schema does not have.
    pub fn set_index(&mut self, attribute: &str, kinds: IndexKinds) -> Result<(), Error> {
        if self.indexes.schema.attribute_type(attribute).is_none() {
            return Err(Error::conflict(format!(
                "there is no attribute type {attribute}"
            )));
        }
        let states = self.snapshot().index_states()?;
        let mut state = states
            .into_iter()
            .find(|it| it.attribute == attribute)
            .unwrap_or_else(|| IndexState::none(attribute));
        state.want(kinds, self.pending.state.entries == 0);
        self.put_index_state(&state)
    }

    /// Removes all indexes on an attribute type; [`Batch::build_indexes`] removes their rows.
    ///
    /// # Errors
    /// The errors of [`Batch::set_index`].
    pub fn drop_index(&mut self, attribute: &str) -> Result<(), Error> {
        self.set_index(attribute, IndexKinds::NONE)
    }

    /// Marks the indexes on an attribute type to be built anew by [`Batch::build_indexes`], which
    /// adds every missing entry. Searches use the indexes meanwhile.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB.
    pub fn rebuild_index(&mut self, attribute: &str) -> Result<(), Error> {
        let states = self.snapshot().index_states()?;
        let Some(mut state) = states.into_iter().find(|it| it.attribute == attribute) else {
            return Ok(());
        };
        state.rebuild();
        self.put_index_state(&state)
    }

    /// Sets a savepoint: changes from here on can be rolled back while earlier ones stay.
    /// Savepoints end by [`Batch::release`] or [`Batch::roll_back`], the newest first.
    ///
    /// A batch without savepoints pays nothing; with one, pages changed since it are copied once
    /// more, and pending postings are written.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB.
    pub fn save(&mut self) -> Result<Savepoint, Error> {
        self.flush_postings()?;
        self.transaction.save()?;
        Ok(Savepoint {
            state: self.pending.state,
            indexes: self.indexes.clone(),
        })
    }

    /// Ends a savepoint and keeps the changes made since.
    ///
    /// # Errors
    /// [`Error::Full`] or an error of LMDB.
    pub fn release(&mut self, _: Savepoint) -> Result<(), Error> {
        self.transaction.release()
    }

    /// Takes back all changes since a savepoint.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn roll_back(&mut self, savepoint: Savepoint) -> Result<(), Error> {
        self.transaction.roll_back()?;
        self.pending = Pending {
            state: savepoint.state,
            postings: posting::Pending::default(),
        };
        self.plan = OnceCell::new();
        self.indexes = savepoint.indexes;
        // Names cached in between may be given to other entries under the same rename counter.
        self.containers = RefCell::default();
        Ok(())
    }

    /// Commits. When it returns, readers see all changes, and they are durable: by a sync here, or
    /// by the record that a [`crate::Journal`] has synced.
    ///
    /// # Errors
    /// [`Error::Full`] when there is no room, or an error of LMDB; nothing has changed then.
    pub fn commit(mut self) -> Result<(), Error> {
        self.flush_postings()?;
        if self.pending.state != self.before {
            let row = self.pending.state.encode();
            self.transaction
                .put(self.tables.meta, STATE_KEY, &row, Put::Upsert)?;
        }
        self.transaction
            .commit()
            .map_err(|error| self.store.explain(error))
    }

    fn flush_postings(&mut self) -> Result<(), Error> {
        let postings = &mut self.pending.postings;
        postings.flush(&mut self.transaction, self.tables.posting)
    }

    /// Stores the state of an index; this batch applies it from now on.
    pub(crate) fn put_index_state(&mut self, state: &IndexState) -> Result<(), Error> {
        let key = index_key(&state.attribute);
        if state.is_none() {
            self.transaction.delete(self.tables.meta, &key)?;
        } else {
            let row = encode_index(state);
            self.transaction
                .put(self.tables.meta, &key, &row, Put::Upsert)?;
        }
        let states = self.snapshot().index_states()?;
        self.indexes = IndexSet::from_states(self.indexes.schema.clone(), &states);
        self.plan = OnceCell::new();
        Ok(())
    }

    /// Replaces the row of an entry whose parent is `old_parent`, with its index keys and its part
    /// of the digest.
    fn replace(&mut self, id: EntryId, old_parent: EntryId, entry: &[u8]) -> Result<(), Error> {
        let view = EntryView::new(entry)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self
            .old_keys(id, Some((old_parent, &view)), &mut scratch)
            .and_then(|term| {
                let Scratch {
                    value, new, bases, ..
                } = &mut scratch;
                let schema = &self.indexes.schema;
                new.of_bases(schema, self.plan(), &view, bases, value);
                self.write_keys(id, &scratch.old, &scratch.new)?;
                let digest = self.pending.state.digest.wrapping_sub(term);
                let term = state_term(id, view.parent(), view.digest());
                self.pending.state.digest = digest.wrapping_add(term);
                self.put_entry(id, entry)
            });
        self.scratch = scratch;
        result
    }

    /// Puts the keys of a stored entry into `scratch.old` and returns the entry's term in the
    /// state's digest. With a successor given, only keys of attributes that differ, whose bases are
    /// put into `scratch.bases`.
    fn old_keys(
        &self,
        id: EntryId,
        successor: Option<(EntryId, &EntryView<'_>)>,
        scratch: &mut Scratch,
    ) -> Result<u128, Error> {
        let stored = self.snapshot().stored_entry(id)?;
        let stored = stored.ok_or_else(|| Error::conflict(format!("there is no entry {id}")))?;
        let schema = &self.indexes.schema;
        let Scratch {
            value, old, bases, ..
        } = scratch;
        match successor {
            Some((parent, _)) if stored.parent() != parent => {
                return Err(Error::conflict("the entry row names another parent"));
            }
            Some((_, view)) => {
                changed_bases(self.plan(), &stored, view, bases);
                old.of_bases(schema, self.plan(), &stored, bases, value);
            }
            None => old.of_entry(schema, self.plan(), &stored, value),
        }
        Ok(state_term(id, stored.parent(), stored.digest()))
    }

    fn put_entry(&mut self, id: EntryId, entry: &[u8]) -> Result<(), Error> {
        let entries = EntryTree(self.tables.entry);
        entries.put(&mut self.transaction, id, &[entry], Put::Upsert)
    }

    /// Checks that a name row leads to this entry.
    pub(crate) fn check_name(&self, id: EntryId, key: &[u8]) -> Result<(), Error> {
        let row = self.transaction.get(self.tables.name, key)?;
        match row.map(|value| id_of_name(key, value)).transpose()? {
            Some(found) if found == id => Ok(()),
            _ => Err(Error::conflict(format!(
                "entry {id} does not have this name"
            ))),
        }
    }

    /// Changes the number of children of an entry by one.
    fn add_to_count(&mut self, parent: EntryId, difference: i64) -> Result<(), Error> {
        if self.change_count(parent, difference)? == 0 {
            // Without children the entry can be deleted, so readers must forget it.
            self.pending.state.rename_counter += 1;
        }
        Ok(())
    }

    /// Changes the number of children of an entry by `difference` and returns the new number,
    /// without raising the rename counter.
    pub(crate) fn change_count(&mut self, parent: EntryId, difference: i64) -> Result<u64, Error> {
        let key = id_key(parent);
        let stored = self.transaction.get(self.tables.count, &key)?;
        let count = stored
            .map_or(Ok(0), count_of_value)?
            .checked_add_signed(difference);
        let count = count.ok_or_else(|| Error::corrupt("count", "fewer than no children"))?;
        if count > 0 {
            let value = count.to_le_bytes();
            self.transaction
                .put(self.tables.count, &key, &value, Put::Upsert)?;
        } else {
            self.transaction.delete(self.tables.count, &key)?;
        }
        Ok(count)
    }
}
