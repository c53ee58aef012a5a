//! Byte keys with their values, in memory and in sorted files.

use super::collect::ByteKeys;
use super::runs::{Runs, TakeRow};
use crate::error::Error;

/// Byte keys in memory and in files.
pub(super) type Keys = (ByteKeys, Runs);

/// Shows `act` all keys with their values, in the order of the keys, which are sorted before.
pub(super) fn each(keys: &ByteKeys, runs: Runs, act: &mut TakeRow<'_>) -> Result<(), Error> {
    if !runs.is_empty() {
        return runs.merge(act);
    }
    keys.rows().try_for_each(|(key, value)| act(key, value))
}
