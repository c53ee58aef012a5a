//! Files of an import that is gone on with after an interruption: what was written up to a
//! checkpoint counts, what came after it does not.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

/// Makes what was written outlive the process: bytes of the file.
pub(super) fn keep(file: &mut BufWriter<File>) -> io::Result<u64> {
    file.flush()?;
    let file = file.get_ref();
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// Goes on behind the bytes that were kept.
pub(super) fn resume(mut file: File, bytes: u64) -> io::Result<File> {
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}
