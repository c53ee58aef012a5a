//! Byte keys with their values, in memory and in sorted files.

use super::collect::ByteKeys;
use super::runs::{Runs, TakeRow};
use crate::error::Error;

/// Byte keys in memory, and the runs with those moved to files.
pub(super) type Keys = (ByteKeys, Runs);

/// Calls `act` with each key and value in the order of keys; `keys` must be sorted.
pub(super) fn each(keys: &ByteKeys, runs: Runs, act: &mut TakeRow<'_>) -> Result<(), Error> {
    if !runs.is_empty() {
        return runs.merge(act);
    }
    keys.rows().try_for_each(|(key, value)| act(key, value))
}
