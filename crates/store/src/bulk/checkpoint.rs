//! Checkpoints of a bulk load: states from which the load can resume after any end of the process.
//!
//! Collected keys go to sorted runs, which are synced, and so is the database file. LMDB's meta
//! record of that moment leads to the entries appended so far; a read transaction keeps LMDB from
//! reusing their pages until the next checkpoint is in force. Resuming puts that meta record back,
//! as recovery from the log does.

use std::path::Path;
use std::sync::Arc;

use super::collect::{ByteKeys, Group};
use super::flush::Flusher;
use super::links::Links;
use super::loader::{BulkLoader, RUNS_FOLDER, group_slot};
use super::runs::Runs;
use super::spill::spill;
use crate::data_folder::{DATABASE_FILE, sync_folder};
use crate::error::Error;
use crate::fields::{FieldReader, Fields};
use crate::id::EntryId;
use crate::index_set::IndexKind;
use crate::journal::checkpoint::{meta_of, put_meta_back};
use crate::lmdb::ReadTransaction;
use crate::page_layout::META_BYTES;
use crate::state::State;
use crate::store::{Store, StoreOptions};

impl BulkLoader {
    /// Makes everything appended so far durable and returns the bytes that [`BulkLoader::resume`]
    /// needs. The checkpoint is in force once the caller has stored these bytes durably and called
    /// [`BulkLoader::checkpoint_kept`].
    ///
    /// # Errors
    /// [`Error::Full`] or an error of the operating system.
    pub fn checkpoint(&mut self) -> Result<Vec<u8>, Error> {
        self.commit()?;
        spill(self)?;
        let mut fields = Fields::default();
        fields.string(&self.state.encode());
        fields.number(self.last.0);
        self.names.1.keep(&mut fields)?;
        self.ordered.1.keep(&mut fields)?;
        let groups = self.groups.iter_mut().enumerate();
        let groups: Vec<_> = groups
            .filter_map(|(slot, it)| Some((slot, it.as_mut()?)))
            .collect();
        fields.number(groups.len() as u64);
        for (slot, group) in groups {
            fields.number(slot as u64);
            group.keep(&mut fields)?;
        }
        sync_folder(&self.temporary)?;
        self.store.sync()?;
        let pin = ReadTransaction::begin(&self.store.shared.environment())?;
        let transaction = pin.id();
        self.pins.push(pin);
        fields.string(&meta_of(self.store.folder(), transaction)?);
        Ok(fields.into_bytes())
    }

    /// Notes that the newest checkpoint is in force: pages that only the previous one needed become
    /// free.
    pub fn checkpoint_kept(&mut self) {
        let before = self.pins.len().saturating_sub(1);
        self.pins.drain(..before);
    }

    /// Resumes a load in this folder from a checkpoint. No process has the folder open.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are no checkpoint, or an error of [`Store::open`].
    pub fn resume(folder: &Path, checkpoint: &[u8]) -> Result<BulkLoader, Error> {
        let mut fields = FieldReader::new(checkpoint);
        let state = State::decode(fields.string()?)?;
        let last = EntryId(fields.number()?);
        let names = (ByteKeys::default(), Runs::kept(&mut fields)?);
        let ordered = (ByteKeys::default(), Runs::kept(&mut fields)?);
        let groups = fields.many(|fields| {
            let slot = fields.number()?;
            let kind = IndexKind::ALL.into_iter().find(|it| *it as u64 == slot % 8);
            let base = u16::try_from(slot / 8).ok();
            let (kind, base) = kind.zip(base).ok_or_else(unknown)?;
            Ok((group_slot(kind, base), Group::kept(kind, fields)?))
        })?;
        let meta: [u8; META_BYTES] = fields.string()?.try_into().map_err(|_| unknown())?;
        put_meta_back(folder, &meta)?;
        let options = StoreOptions {
            no_sync: true,
            ..StoreOptions::default()
        };
        let (store, pin) = Store::open_with_pin(folder, &options)?;
        let mut slots = Vec::new();
        for (slot, group) in groups {
            if slot >= slots.len() {
                slots.resize_with(slot + 1, || None);
            }
            slots[slot] = Some(group);
        }
        Ok(BulkLoader {
            transaction: None,
            uncommitted: 0,
            names,
            ordered,
            groups: slots,
            // Links are added when all entries are there, after the last checkpoint.
            links: Links::default(),
            state,
            last,
            memory: usize::MAX,
            temporary: folder.join(RUNS_FOLDER),
            spilled: true,
            flusher: Some(Flusher::new(&folder.join(DATABASE_FILE))?),
            stop: Arc::default(),
            pins: vec![pin],
            store,
        })
    }
}

fn unknown() -> Error {
    Error::corrupt("checkpoint", "a field has an unknown value")
}
