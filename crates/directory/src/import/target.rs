//! Where an import writes: into a new database beside the old one, or into the old one by one
//! transaction. Nothing of either is visible before the end, and after a crash nothing of it was.

use super::table::NameTable;
use schema::{AttributeNumber, DictionaryRow};
use state::history;
use state::stop::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Batch, BulkLoader, EntryId, Finished, Place, Prepared};

/// A database being written.
pub(super) enum Target<'s> {
    New(Box<BulkLoader>),
    Old(Box<Batch<'s>>),
}

/// A database with all entries, and what only the end of an import knows is still missing.
pub(super) enum Written<'s> {
    /// Not in its place yet.
    New(Finished),
    /// Not committed yet.
    Old(Box<Batch<'s>>),
}

impl<'s> Target<'s> {
    /// Appends prepared entries, as [`BulkLoader::append`] does.
    pub fn append(
        &mut self,
        prepared: &Prepared,
        places: &[Option<Place>],
    ) -> Result<(), store::Error> {
        match self {
            Target::New(loader) => loader.append(prepared, places),
            Target::Old(batch) => batch.append(prepared, places),
        }
    }

    /// The row of an entry.
    pub fn entry(&mut self, id: EntryId) -> Result<Option<Vec<u8>>, store::Error> {
        match self {
            Target::New(loader) => loader.entry(id),
            Target::Old(batch) => {
                let row = batch.snapshot().entry(id)?;
                Ok(row.map(|it| it.bytes().to_vec()))
            }
        }
    }

    /// Gives an entry the set of an attribute; its members are in no order.
    pub fn add_links(
        &mut self,
        id: EntryId,
        number: AttributeNumber,
        members: &mut Vec<EntryId>,
    ) -> Result<(), store::Error> {
        match self {
            Target::New(loader) => loader.add_links(id, number, members),
            Target::Old(batch) => {
                let changes: Vec<_> = members.iter().map(|it| (*it, true)).collect();
                batch.change_links(id, number, &changes)
            }
        }
    }

    /// The id of a text that names no entry, as a member. Each text is asked for once.
    pub fn add_text(&mut self, text: &[u8], normal: &[u8]) -> Result<EntryId, store::Error> {
        match self {
            Target::New(loader) => Ok(loader.add_text(text, normal)),
            Target::Old(batch) => batch.text_member(text, normal),
        }
    }

    /// Makes entries members where their names were members as texts before the import.
    pub fn take_places(
        &mut self,
        texts: &[(u128, EntryId)],
        names: &NameTable,
    ) -> Result<(), store::Error> {
        let Target::Old(batch) = self else {
            return Ok(());
        };
        for (name, text) in texts {
            if let Some(entry) = names.get(*name) {
                batch.replace_member(*text, Some(entry), usize::MAX)?;
            }
        }
        Ok(())
    }

    /// Stores dictionary rows: all that entries have used.
    pub fn put_dictionary(&mut self, rows: &[DictionaryRow]) -> Result<(), store::Error> {
        match self {
            Target::New(loader) => loader.put_dictionary(rows),
            Target::Old(batch) => batch.put_dictionary(rows),
        }
    }

    /// Stores a small named value.
    pub fn put_meta(&mut self, key: &[u8], value: &[u8]) -> Result<(), store::Error> {
        match self {
            Target::New(loader) => loader.put_meta(key, value),
            Target::Old(batch) => batch.put_meta(key, value),
        }
    }

    /// Sets the position of the state, unless `cancelled` is set. Who follows the directory cannot
    /// be told of an import change by change: the history begins anew.
    pub fn end(self, position: u64, cancelled: Arc<AtomicBool>) -> Result<Written<'s>, Failure> {
        match self {
            Target::New(mut loader) => {
                loader.set_position(position);
                Ok(Written::New(loader.finish_unless(cancelled)?))
            }
            Target::Old(mut batch) => {
                if cancelled.load(Ordering::Relaxed) {
                    return Err(Failure::Cancelled);
                }
                batch.set_position(position);
                history::forget(&mut batch)?;
                Ok(Written::Old(batch))
            }
        }
    }

    /// Makes everything outlive the process; what the target has to be given to go on.
    pub fn checkpoint(&mut self) -> Result<Vec<u8>, store::Error> {
        match self {
            Target::New(loader) => loader.checkpoint(),
            Target::Old(_) => Err(store::Error::Conflict {
                detail: "an import into a database that stays makes no checkpoints".to_owned(),
            }),
        }
    }

    /// A checkpoint is in force.
    pub fn checkpoint_kept(&mut self) {
        if let Target::New(loader) = self {
            loader.checkpoint_kept();
        }
    }
}
