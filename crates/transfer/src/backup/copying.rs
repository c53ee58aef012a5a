//! Copying files of a backup, and the failures that name them.

use crate::meter::Meter;
use replica::clock::{Clock, SystemClock};
use state::stop::Failure;
use state::time::generalized_time;
use std::io::{self, Read, Write};
use std::path::Path;

/// File name of the compressed database in a backup.
pub(super) const CONTENT_FILE: &str = "pando.mdb.zst";
/// zstd's level, chosen to keep up with a disk.
pub(super) const ZSTD_LEVEL: i32 = 1;
/// Bytes between two checks for cancellation.
pub(super) const STEP_BYTES: usize = 1 << 20;

/// The present time in the form of a manifest; such texts sort by time.
pub fn time_now() -> String {
    generalized_time(SystemClock.now_us())
}

/// Copies `from` to its end. Errors of reading name the path `read`, errors of writing `written`.
pub(super) fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    read: &Path,
    written: &Path,
    meter: &Meter,
) -> Result<(), Failure> {
    let mut buffer = vec![0; STEP_BYTES];
    loop {
        meter.check()?;
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&buffer[..count]).map_err(file(written))?;
                meter.add_bytes(count as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The source may have ended because of the cancellation.
            Err(error) => {
                meter.check()?;
                return Err(file(read)(error));
            }
        }
    }
}

/// Makes failures of operations on this path.
pub(super) fn file(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| Failure::file(path.display().to_string(), error)
}
