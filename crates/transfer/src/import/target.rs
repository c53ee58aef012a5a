//! Target of an import: a new database beside the old one, or one transaction on the old one. Both
//! are invisible before their end, and a crash leaves no trace of them.

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

/// A database with all entries. Replacements and new naming contexts are still missing.
pub(super) enum Written<'s> {
    /// A new database that has not replaced the old one yet.
    New(Finished),
    /// A transaction that is not committed yet.
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

    /// The row of an entry; `None` if there is none.
    pub fn entry(&mut self, id: EntryId) -> Result<Option<Vec<u8>>, store::Error> {
        match self {
            Target::New(loader) => loader.entry(id),
            Target::Old(batch) => {
                let row = batch.snapshot().entry(id)?;
                Ok(row.map(|it| it.bytes().to_vec()))
            }
        }
    }

    /// Adds the members of an attribute to an entry, in any order.
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

    /// The id of a member that is stored as text. Must be called once for each text.
    pub fn add_text(&mut self, text: &[u8], normal: &[u8]) -> Result<EntryId, store::Error> {
        match self {
            Target::New(loader) => Ok(loader.add_text(text, normal)),
            Target::Old(batch) => batch.text_member(text, normal),
        }
    }

    /// Replaces members that are stored as text by the entries of their names. `texts` has the hash
    /// of the name and the id of each text.
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

    /// Stores the dictionary rows that entries use.
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

    /// Sets the position of the state, unless `cancelled` is set. The history begins again, because
    /// followers cannot get an import change by change.
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

    /// Syncs all files; returns the target's state for resuming.
    pub fn checkpoint(&mut self) -> Result<Vec<u8>, store::Error> {
        match self {
            Target::New(loader) => loader.checkpoint(),
            Target::Old(_) => Err(store::Error::Conflict {
                detail: "an import into a database that stays makes no checkpoints".to_owned(),
            }),
        }
    }

    /// Records that a checkpoint is in force.
    pub fn checkpoint_kept(&mut self) {
        if let Target::New(loader) = self {
            loader.checkpoint_kept();
        }
    }
}
