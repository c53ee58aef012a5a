//! The entries of a file with damaged pages: those that can be reached are compared with their
//! checksums.

use crate::entry::EntryView;
use crate::entry_store::verified;
use crate::id::EntryId;
use crate::tables::id_of_key;

/// Entries met in a walk over pages.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Number of sound entries.
    pub sound: u64,
    /// Ids of entries whose checksum or digest is wrong; `None` where the id cannot be read.
    pub damaged: Vec<Option<EntryId>>,
}

impl Entries {
    /// Counts the entry of a row as sound or damaged.
    pub fn meet(&mut self, key: &[u8], row: &[u8]) {
        let id = id_of_key(key, "entry").ok();
        let is_sound = id.is_some_and(|id| {
            let view = verified(id, row).and_then(EntryView::new);
            view.is_ok_and(|it| it.computed_digest() == it.digest())
        });
        match is_sound {
            true => self.sound += 1,
            false => self.damaged.push(id),
        }
    }
}
