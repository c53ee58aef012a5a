//! The digest by which nodes of a cluster find out whether they are equal: over everything that
//! the execution of a next record can read.
//!
//! Invariant: nodes that executed the same records have the same digest, however the records were
//! cut into transactions, and whatever a node keeps for itself, such as the progress of its
//! indexes.

use state::lanes::Lanes;
use state::meta::{META_CONFIGURATION, META_LANE, META_PLACE};
use state::stop::Failure;
use store::Snapshot;
use xxhash_rust::xxh3::Xxh3;

/// Keys of rows that `lanes` is newer than, and of the place, which also moves between records.
const LATER: [&[u8]; 3] = [META_CONFIGURATION, META_LANE, META_PLACE];

/// The digest of a state, right after a record that changed it. `lanes` are those after the record.
///
/// Entries and links are in by their running digest, the texts that are members by the sum that the
/// database keeps from format level 2 on: none of them is read again.
///
/// # Errors
/// The store cannot be read.
pub fn digest(snapshot: &Snapshot<'_>, lanes: &Lanes) -> Result<u128, Failure> {
    let mut hash = Xxh3::new();
    hash.update(&snapshot.digest()?.to_le_bytes());
    for number in [
        snapshot.last_id()?.0,
        snapshot.entry_count()?,
        snapshot.position()?,
        snapshot.rename_counter()?,
        lanes.configuration,
    ] {
        hash.update(&number.to_le_bytes());
    }
    for row in snapshot.dictionary()? {
        hash.update(&row.number.0.to_le_bytes());
        update(&mut hash, row.text.as_bytes());
    }
    for (key, value) in snapshot.metas(&[])? {
        if !LATER.iter().any(|it| key.starts_with(it)) {
            update(&mut hash, key);
            update(&mut hash, value);
        }
    }
    lanes.each(|bytes| hash.update(bytes));
    Ok(hash.digest128())
}

/// Adds bytes with their number, so that neighbours cannot be mistaken for each other.
fn update(hash: &mut Xxh3, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}
