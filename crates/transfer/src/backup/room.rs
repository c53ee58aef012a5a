//! Estimates the room for a restore: the database, and its growth by executing changes.

use super::Manifest;
use super::copying::file;
use replica::changes;
use state::stop::Failure;
use std::path::Path;

/// Bytes that a byte of a record adds to the database permanently, approximately: the entry with
/// its name, index keys, the row of history, and free space in their pages.
const GROWTH: u64 = 4;
/// Bytes that a byte of a record adds in pages that are reused after the next checkpoint: some 20
/// pages for a change of 300 bytes.
const CHURN: u64 = 256;
/// Maximum of bytes in reused pages between two checkpoints.
const CHURN_BYTES_MAX: u64 = 256 << 20;
/// Approximate compression ratio of changes, for increments of earlier builds without a length.
const RATIO: u64 = 8;

/// Approximate maximum number of bytes for a restore of a backup and its increments, and of the
/// changes kept in the folder `kept`.
///
/// # Errors
/// The folder cannot be read.
pub fn bytes_to_restore(manifest: &Manifest, kept: Option<&Path>) -> Result<u64, Failure> {
    let lengths = manifest.increments.iter().map(|it| {
        let guessed = it.stored.bytes.saturating_mul(RATIO);
        it.bytes.unwrap_or(guessed)
    });
    let mut changes = lengths.fold(0, u64::saturating_add);
    if let Some(kept) = kept {
        let bytes = changes::bytes_after(kept, manifest.last_position()).map_err(file(kept))?;
        changes = changes.saturating_add(bytes);
    }
    let growth = changes.saturating_mul(GROWTH);
    let churn = changes.saturating_mul(CHURN).min(CHURN_BYTES_MAX);
    let all = manifest.database.bytes.saturating_add(growth);
    Ok(all.saturating_add(churn))
}

#[cfg(test)]
mod tests {
    use super::super::Increment;
    use super::super::hashing::Hashed;
    use super::*;

    #[test]
    fn changes_take_room_as_well() {
        let hashed = |bytes| Hashed { bytes, xxh3: 0 };
        let mut manifest = Manifest {
            pando: String::new(),
            made: String::new(),
            position: 10,
            digest: None,
            database: hashed(1 << 30),
            stored: hashed(1 << 28),
            settings: None,
            increments: Vec::new(),
        };
        let needed = |manifest: &Manifest, kept| bytes_to_restore(manifest, kept).unwrap();
        assert_eq!(needed(&manifest, None), 1 << 30);
        let increment = |bytes| Increment {
            file: String::new(),
            after: 10,
            position: 20,
            digest: None,
            made: String::new(),
            bytes,
            stored: hashed(10 << 20),
        };
        manifest.increments = vec![increment(Some(100 << 20)), increment(None)];
        let with_increments = needed(&manifest, None);
        assert!(with_increments >= (1 << 30) + GROWTH * (180 << 20));
        let kept = tempfile::TempDir::new().unwrap();
        std::fs::write(kept.path().join("1.changes"), vec![0; 1 << 20]).unwrap();
        assert_eq!(
            needed(&manifest, Some(kept.path())),
            with_increments + (GROWTH << 20)
        );
    }
}
