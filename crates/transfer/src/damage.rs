//! Damaged entries: an export with `salvage` leaves them out and names them, a backup is refused
//! because of them.

use crate::meter::Meter;
use state::stop::Failure;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use store::{EntryId, Error, Snapshot, Store};

/// Maximum number of damaged entries named in a message.
const NAMED_MAX: usize = 20;

/// Entries that could not be read, with the reasons.
#[derive(Debug, Default)]
pub(crate) struct Losses(Mutex<BTreeMap<EntryId, String>>);

impl Losses {
    /// Adds an entry that could not be read.
    pub fn add(&self, id: EntryId, error: &Error) {
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
            // The readable part of the name.
            let _ = snapshot.write_name(&superior, &mut name);
        }
        Ok(None) => {}
        Err(_) => name.extend_from_slice(format!(",(entry {parent})").as_bytes()),
    }
    String::from_utf8_lossy(&name).replace('\u{2}', ",")
}

/// Reads all entries of the newest state and compares their checksums. A backup with damaged
/// entries is refused: in a rotation it would displace an older one that has them undamaged.
///
/// # Errors
/// [`Failure::Input`] that names the damaged entries; the database cannot be read;
/// [`Failure::Cancelled`].
pub(crate) fn require_sound(store: &Store, meter: &Meter) -> Result<(), Failure> {
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let (losses, mut count) = (Losses::default(), 0);
    let (met, counted) = snapshot.read_all(&|| meter.check().is_ok(), &mut |id| {
        count += 1;
        losses.add(id, &Error::DamagedEntry { id });
    })?;
    if count == 0 && met == counted {
        return Ok(());
    }
    let mut lines = losses.lines(&snapshot);
    lines.truncate(NAMED_MAX);
    lines.push(format!(
        "no backup was made: {count} of {counted} entries are damaged, {} cannot be reached; \
         bring an older backup back with `pando restore`, or save the others with `pando export \
         --salvage`",
        counted.saturating_sub(met)
    ));
    Err(Failure::Input(lines.join("\n")))
}
