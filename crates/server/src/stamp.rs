//! Stamps of files, by which a changed file is noticed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Time of a file's last change in seconds and nanoseconds, and its length; `None` if it cannot be
/// read.
pub(crate) type Stamp = Option<(i64, i64, u64)>;

/// The present stamp of a file.
pub(crate) fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ctime(), metadata.ctime_nsec(), metadata.len()))
}
