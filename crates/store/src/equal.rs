//! Comparing a copy of a database with the snapshot that it was made of.
//!
//! Both are walked in the order of keys, each row once and without look-ups, so the comparison
//! takes about as long as reading both files.

use crate::error::Error;
use crate::snapshot::Snapshot;

/// Bytes of rows between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1 << 20;

/// Fails unless every table has equal rows in both snapshots. `progress` is called now and then
/// with the bytes of rows compared so far; its error ends the comparison.
///
/// # Errors
/// [`Error::Corrupt`] for the first row that differs, an error of LMDB, or the error of `progress`.
pub fn compare<E: From<Error>>(
    original: &Snapshot<'_>,
    copy: &Snapshot<'_>,
    progress: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<(), E> {
    let (mut bytes, mut told) = (0_u64, 0);
    let tables = original.tables.all().into_iter();
    for ((name, table), (_, its)) in tables.zip(copy.tables.all()) {
        let mut expected = original.transaction.cursor(table)?;
        let mut found = copy.transaction.cursor(its)?;
        for row in 1_u64.. {
            let both = (expected.next()?, found.next()?);
            if both.0 != both.1 {
                let detail = format!("row {row} of the copy is not that of the original");
                return Err(Error::corrupt(name, detail).into());
            }
            let Some((key, value)) = both.0 else {
                break;
            };
            bytes += (key.len() + value.len()) as u64;
            if bytes >= told + PROGRESS_EVERY {
                told = bytes;
                progress(bytes)?;
            }
        }
    }
    progress(bytes)
}
