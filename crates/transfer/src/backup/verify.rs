//! Verifies a backup by restoring it into a temporary folder.
//!
//! The folder contains a file that is locked while the folder is in use, so that folders left by
//! killed processes are recognised even where process ids are reused or invisible (containers, file
//! systems of other machines).

use super::copying::file;
use super::restore::{Restored, restore, restore_stream};
use super::stream::BackupStream;
use crate::meter::Meter;
use replica::check::{CheckReport, check};
use replica::clock::{Clock, SystemClock};
use state::stop::Failure;
use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::path::{Path, PathBuf};
use store::private;

/// Prefix of the temporary folders' names; process id and time follow.
const PREFIX: &str = "pando-verify-";
/// Name of the locked file.
const LOCK_FILE: &str = "in-use";
/// Name of the node in the folder.
const NODE: &str = "node";

/// Restores a backup with its increments into a folder `within`, checks every table, and removes
/// the folder.
///
/// # Errors
/// The errors of [`restore`]; the restored database cannot be read. Damage is no error, it is in
/// the report.
pub fn verify(
    backup: &Path,
    within: &Path,
    meter: &Meter,
) -> Result<(Restored, CheckReport), Failure> {
    verify_by(within, meter, |node| {
        restore(backup, None, None, node, meter)
    })
}

/// Like [`verify`], for a backup of one file that is read from a stream.
///
/// # Errors
/// The errors of [`restore_stream`] and [`verify`].
pub fn verify_stream(
    stream: BackupStream<'_, impl Read>,
    within: &Path,
    meter: &Meter,
) -> Result<(Restored, CheckReport), Failure> {
    verify_by(within, meter, |node| {
        let (restored, _) = restore_stream(stream, None, None, node, meter)?;
        Ok(restored)
    })
}

fn verify_by(
    within: &Path,
    meter: &Meter,
    restore: impl FnOnce(&Path) -> Result<Restored, Failure>,
) -> Result<(Restored, CheckReport), Failure> {
    let time_us = SystemClock.now_us();
    let place = within.join(format!("{PREFIX}{}-{time_us}", std::process::id()));
    private::create_folder(&place).map_err(file(&place))?;
    let verified = verify_in(&place, meter, restore);
    let _ = fs::remove_dir_all(&place);
    verified
}

fn verify_in(
    place: &Path,
    meter: &Meter,
    restore: impl FnOnce(&Path) -> Result<Restored, Failure>,
) -> Result<(Restored, CheckReport), Failure> {
    let path = place.join(LOCK_FILE);
    let in_use = private::create(&path).map_err(file(&path))?;
    // On a file system without locks, the process id says whether the folder is in use.
    let _ = in_use.try_lock();
    let node = place.join(NODE);
    let restored = restore(&node)?;
    meter.finish();
    Ok((restored, check(&node)?))
}

/// Removes the folders that killed verifications left; returns their paths.
pub fn remove_stale_verifications(within: &Path) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    let Ok(entries) = fs::read_dir(within) else {
        return removed;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let process = name.to_str().and_then(|it| it.strip_prefix(PREFIX));
        let Some(process) = process.and_then(first_number) else {
            continue;
        };
        // A folder of another user cannot be removed; it only takes room.
        if !is_in_use(&path, process) && fs::remove_dir_all(&path).is_ok() {
            removed.push(path);
        }
    }
    removed
}

fn first_number(text: &str) -> Option<u32> {
    text.split(|it: char| !it.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

fn is_in_use(place: &Path, process: u32) -> bool {
    let locked = File::options().write(true).open(place.join(LOCK_FILE));
    match locked.map(|it| it.try_lock()) {
        Ok(Ok(())) => false,
        Ok(Err(TryLockError::WouldBlock)) => true,
        // Folders of earlier builds have no such file, and this build creates it a moment after the
        // folder.
        Ok(Err(TryLockError::Error(_))) | Err(_) => {
            process != std::process::id() && Path::new("/proc").join(process.to_string()).exists()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn what_nobody_uses_any_more_is_removed() {
        let within = TempDir::new().unwrap();
        let make = |name: &str| {
            let place = within.path().join(name);
            fs::create_dir_all(place.join(NODE)).unwrap();
            place
        };
        // A process id greater than any possible one, and one that always exists.
        let (nobody, somebody) = ("4194305", "1");
        let lock = |place: &Path| File::create(place.join(LOCK_FILE)).unwrap();
        let gone = make(&format!("{PREFIX}{nobody}-17"));
        let gone_partial = make(&format!("{PREFIX}{nobody}.partial"));
        let of_another_namespace = make(&format!("{PREFIX}{nobody}-18"));
        let held = lock(&of_another_namespace);
        held.try_lock().unwrap();
        let of_earlier_release = make(&format!("{PREFIX}{somebody}"));
        let killed = make(&format!("{PREFIX}{somebody}-19"));
        drop(lock(&killed));
        let other = make("pando-verify-notes");
        let mut removed = remove_stale_verifications(within.path());
        removed.sort();
        assert_eq!(removed, [killed, gone, gone_partial]);
        assert!(of_another_namespace.exists() && of_earlier_release.exists() && other.exists());
        drop(held);
        let removed = remove_stale_verifications(within.path());
        assert_eq!(removed, [of_another_namespace]);
        assert!(remove_stale_verifications(&within.path().join("missing")).is_empty());
    }
}
