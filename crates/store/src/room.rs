//! Detecting a full disk by writing a file.

use std::path::Path;

use crate::error::Error;
use crate::private;

/// Name of a file written and removed to learn whether the disk is full.
const PROBE_FILE: &str = "probe";
/// Bytes of the probe: more than one write of LMDB, which passes at most 64 pages at a time.
const PROBE_BYTES: usize = 512 << 10;

/// Tells a full disk from a broken one, for an error of a database in this folder: LMDB reports EIO
/// for a write that the disk took only in part, as the last write before it is full.
pub(crate) fn tell_full(folder: &Path, error: Error) -> Error {
    let Error::Lmdb {
        code: libc::EIO, ..
    } = error
    else {
        return error;
    };
    match has_room(folder, PROBE_BYTES) {
        true => error,
        false => Error::Full,
    }
}

/// Returns whether the folder's file system has room for `bytes` bytes; `true` when that cannot be
/// learnt.
pub(crate) fn has_room(folder: &Path, bytes: usize) -> bool {
    !matches!(probe(folder, bytes), Err(Error::Full))
}

/// Writes and removes a file of `bytes` bytes.
fn probe(folder: &Path, bytes: usize) -> Result<(), Error> {
    let probe = folder.join(PROBE_FILE);
    let written = private::write(&probe, vec![1; bytes]);
    std::fs::remove_file(&probe).unwrap_or_default();
    written.map_err(Error::system("writing a probe"))
}
