//! Entries that an export with `salvage` could not read.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use store::{EntryId, Snapshot};

/// The entries with the reasons.
#[derive(Debug, Default)]
pub(crate) struct Losses(Mutex<BTreeMap<EntryId, String>>);

impl Losses {
    /// Adds an entry that could not be read.
    pub fn add(&self, id: EntryId, error: &store::Error) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(id, error.to_string());
    }

    /// A line for each entry, by id: its name, if the names table has it, and the reason.
    pub fn lines(&self, snapshot: &Snapshot<'_>) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names = BTreeMap::new();
        // An unreadable row ends the walk; the remaining entries are listed without names.
        let _ = snapshot.walk_names(&mut |parent, id, rdn| {
            if all.contains_key(&id) {
                names.insert(id, name_of(snapshot, parent, rdn));
            }
        });
        let line = |(id, reason): (&EntryId, &String)| match names.get(id) {
            Some(name) => format!("{name}: {reason}"),
            None => reason.clone(),
        };
        all.iter().map(line).collect()
    }
}

/// The name below a superior, which may be unreadable.
fn name_of(snapshot: &Snapshot<'_>, parent: EntryId, rdn: &[u8]) -> String {
    let mut name = rdn.to_vec();
    match snapshot.stored_entry(parent) {
        Ok(Some(superior)) => {
            name.push(b',');
            // As much of the name as can be read.
            let _ = snapshot.write_name(&superior, &mut name);
        }
        Ok(None) => {}
        Err(_) => name.extend_from_slice(format!(",(entry {parent})").as_bytes()),
    }
    String::from_utf8_lossy(&name).replace('\u{2}', ",")
}
