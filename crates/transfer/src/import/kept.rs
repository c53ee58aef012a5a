//! Files of a resumable import: the bytes up to a checkpoint count, later ones are cut off.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// Syncs a file, so that it outlives the process; returns its length in bytes.
pub(super) fn keep(file: &mut BufWriter<File>) -> io::Result<u64> {
    file.flush()?;
    let file = file.get_ref();
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// Continues a file behind the given length.
pub(super) fn resume(mut file: File, bytes: u64) -> io::Result<File> {
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}
