//! Refuses to back up damaged entries: in a rotation such a backup would displace an older one that
//! has them undamaged.

use crate::export::salvage::Losses;
use crate::meter::Meter;
use state::stop::Failure;
use store::{Error, Store};

/// Maximum number of damaged entries named in a message.
const NAMED_MAX: usize = 20;

/// Reads all entries of the newest state and compares their checksums.
///
/// # Errors
/// [`Failure::Input`] that names the damaged entries; the database cannot be read;
/// [`Failure::Cancelled`].
pub(super) fn require_sound(store: &Store, meter: &Meter) -> Result<(), Failure> {
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
