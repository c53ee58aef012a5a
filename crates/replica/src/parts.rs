//! Parts of a bundle that is too long for one record of the log: each is stored in the database when
//! its record is executed, and the last one brings them together.
//!
//! Parts of one bundle follow each other in their lane, so another record of the lane, or a part with
//! an unexpected number, means that the rest will never come.

use state::meta::META_PART;
use state::origin::Origin;
use state::stop::Failure;
use store::Batch;

/// Stores a part; parts of an abandoned bundle are dropped before the first one.
///
/// # Errors
/// Writing the store failed.
pub(crate) fn put(
    batch: &mut Batch<'_>,
    origin: &Origin,
    index: u32,
    bytes: &[u8],
) -> Result<(), Failure> {
    if index == 0 {
        drop_all(batch, origin)?;
    }
    let key = [&prefix(origin), index.to_be_bytes().as_slice()].concat();
    Ok(batch.put_meta(&key, bytes)?)
}

/// Takes all stored parts of a lane, in order; `None` unless they are the `count` first ones.
///
/// # Errors
/// The store cannot be read or written.
pub(crate) fn take(
    batch: &mut Batch<'_>,
    origin: &Origin,
    count: u32,
) -> Result<Option<Vec<u8>>, Failure> {
    let prefix = prefix(origin);
    let mut bytes = Vec::new();
    let mut found = 0_u32;
    let mut are_all = true;
    for (key, part) in batch.snapshot().metas(&prefix)? {
        are_all &= key[prefix.len()..] == found.to_be_bytes();
        bytes.extend_from_slice(part);
        found += 1;
    }
    drop_all(batch, origin)?;
    Ok((are_all && found == count).then_some(bytes))
}

/// Drops the stored parts of a lane.
///
/// # Errors
/// The store cannot be read or written.
pub(crate) fn drop_all(batch: &mut Batch<'_>, origin: &Origin) -> Result<(), Failure> {
    let prefix = prefix(origin);
    let rows = batch.snapshot().metas(&prefix)?;
    let keys: Vec<Vec<u8>> = rows.into_iter().map(|(key, _)| key.to_vec()).collect();
    for key in keys {
        batch.delete_meta(&key)?;
    }
    Ok(())
}

fn prefix(origin: &Origin) -> Vec<u8> {
    [META_PART, &origin.node.0, &[origin.lane]].concat()
}
