//! Checks for room on a file system before writing.

use crate::report::Problem;
use indicatif::HumanBytes;
use std::io;
use std::path::Path;

/// Bytes left free on a file system with a database, whose server needs space to continue.
const SPARE_BYTES: u64 = 64 << 20;

/// Refuses if there is too little room for a new file beside a database.
pub fn require_beside_others(folder: &Path, bytes: u64, what: &str) -> Result<(), Problem> {
    refuse_short(folder, bytes, SPARE_BYTES, what)
}

/// Refuses if there is too little room for a file that replaces another.
pub fn require(folder: &Path, bytes: u64, what: &str) -> Result<(), Problem> {
    refuse_short(folder, bytes, 0, what)
}

/// Free bytes on the file system of a folder.
pub fn free(folder: &Path) -> Result<u64, Problem> {
    let found = rustix::fs::statvfs(folder);
    let found = found.map_err(|error| Problem::file(folder, io::Error::from(error)))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

fn refuse_short(folder: &Path, bytes: u64, spare: u64, what: &str) -> Result<(), Problem> {
    let room = free(folder)?;
    if room >= bytes.saturating_add(spare) {
        return Ok(());
    }
    let reserve = match spare {
        0 => String::new(),
        spare => format!(" and a reserve of {}", HumanBytes(spare)),
    };
    Err(Problem::failed(format_args!(
        "not enough space in {}: the {what} needs up to {}{reserve}; {} free",
        folder.display(),
        HumanBytes(bytes),
        HumanBytes(room)
    )))
}
