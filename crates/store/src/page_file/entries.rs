//! The entries of a file whose pages are damaged: what can be reached is compared with its
//! checksums.

use super::{PageFile, PageProblems, Walk};
use crate::entry::EntryView;
use crate::entry_store::verified;
use crate::error::Error;
use crate::id::EntryId;
use crate::state::{STATE_KEY, State};
use crate::tables::id_of_key;

/// Entries met on a walk over pages.
#[derive(Debug, Default)]
pub(super) struct Entries {
    sound: u64,
    /// Of those whose checksum or digest does not fit; `None` where the id cannot be read.
    damaged: Vec<Option<EntryId>>,
}

impl Entries {
    /// Looks at a row.
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

/// Compares the entries that can be reached, and adds what is wrong with them.
pub(super) fn compare(file: &PageFile, problems: &mut PageProblems) -> Result<(), Error> {
    let mut walk = Walk::new(file);
    walk.entries = Some(Entries::default());
    // The problems of pages are told already.
    walk.tables()?;
    let entries = walk.entries.unwrap_or_default();
    for damaged in &entries.damaged {
        problems.add(|| match damaged {
            Some(id) => format!("entry {id} is damaged: its checksum does not fit what is stored"),
            None => "an entry is damaged: its id cannot be read".to_owned(),
        });
    }
    problems.entries = entries.sound;
    let state = file.value("meta", STATE_KEY);
    let Some(Ok(state)) = state.map(|it| State::decode(&it)) else {
        problems.add(|| "the number of entries cannot be read".to_owned());
        return Ok(());
    };
    let met = entries.sound + entries.damaged.len() as u64;
    if met != state.entries {
        let counted = state.entries;
        problems.add(|| format!("the state counts {counted} entries, {met} can be reached"));
    }
    Ok(())
}
