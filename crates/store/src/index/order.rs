//! The order table: values in ascending order, for `>=`, `<=` and sorting.
//!
//! A key is kind, attribute number, the first 64 bytes of the value's ordering form with zero bytes
//! escaped, a terminator, and the id. Escape and terminator sort a value before its own extensions,
//! whatever the id.

use schema::AttributeNumber;

use crate::error::Error;
use crate::id::{EntryId, ID_BYTES};
use crate::index_set::IndexKind;
use crate::lmdb::{Table, Transaction};

/// Bytes of a value's ordering form that take part in the order.
const VALUE_BYTES_MAX: usize = 64;
const TERMINATOR: [u8; 2] = [0x00, 0x01];
const ESCAPED_ZERO: [u8; 2] = [0x00, 0xFF];
/// Bytes of kind and attribute number.
pub(crate) const ATTRIBUTE_BYTES: usize = 3;

/// Appends the key of a value up to the id.
pub(crate) fn put_prefix(out: &mut Vec<u8>, base: AttributeNumber, normal: &[u8]) {
    out.extend_from_slice(&attribute_prefix(base));
    put_form(out, normal);
}

/// Appends the part of a value's ordering form that a key keeps.
pub(crate) fn put_form(out: &mut Vec<u8>, normal: &[u8]) {
    for byte in normal.iter().take(VALUE_BYTES_MAX) {
        match byte {
            0 => out.extend_from_slice(&ESCAPED_ZERO),
            byte => out.push(*byte),
        }
    }
    out.extend_from_slice(&TERMINATOR);
}

/// Returns whether a key keeps the whole value.
pub(crate) fn is_whole(form: &[u8]) -> bool {
    let mut bytes = form.strip_suffix(&TERMINATOR).unwrap_or(form);
    let mut count = 0;
    while !bytes.is_empty() && count < VALUE_BYTES_MAX {
        let step = if bytes.starts_with(&ESCAPED_ZERO) {
            2
        } else {
            1
        };
        bytes = bytes.get(step..).unwrap_or_default();
        count += 1;
    }
    count < VALUE_BYTES_MAX
}

/// The first bytes of all keys of an attribute.
pub(crate) fn attribute_prefix(base: AttributeNumber) -> [u8; ATTRIBUTE_BYTES] {
    let [high, low] = base.0.to_be_bytes();
    [IndexKind::Ordering as u8, high, low]
}

/// The values to walk over, relative to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Values equal to the bound or greater.
    From,
    /// Values equal to the bound or smaller.
    UpTo,
}

/// Calls `take` with the id of each value on one side of a bound until it returns false. Values
/// that agree with the bound in their first 64 bytes are included: evaluation on the entry decides.
pub(crate) fn walk(
    transaction: &Transaction,
    table: Table,
    base: AttributeNumber,
    normal: &[u8],
    side: Side,
    mut take: impl FnMut(EntryId) -> bool,
) -> Result<(), Error> {
    walk_behind(transaction, table, base, normal, side, &[], |_, id| {
        take(id)
    })
}

/// Calls `take` with the key and the id of each row on one side of a bound, until it returns false.
/// The walk begins behind the key `behind`, whose row may be gone, or at the first row.
pub(crate) fn walk_behind(
    transaction: &Transaction,
    table: Table,
    base: AttributeNumber,
    normal: &[u8],
    side: Side,
    behind: &[u8],
    mut take: impl FnMut(&[u8], EntryId) -> bool,
) -> Result<(), Error> {
    let mut bound = Vec::with_capacity(ATTRIBUTE_BYTES + 2 * VALUE_BYTES_MAX + 2 + ID_BYTES);
    put_prefix(&mut bound, base, normal);
    let prefix = attribute_prefix(base);
    let mut cursor = transaction.cursor(table)?;
    let mut row = match side {
        _ if !behind.is_empty() => cursor.seek_behind(behind)?,
        Side::From => cursor.seek(&bound)?,
        Side::UpTo => cursor.seek(&prefix)?,
    };
    while let Some((key, _)) = row {
        let Some(value_end) = key.len().checked_sub(ID_BYTES) else {
            return Err(Error::corrupt("order", "a key is too short"));
        };
        let past = matches!(side, Side::UpTo) && key[..value_end] > bound[..];
        if !key.starts_with(&prefix) || past {
            return Ok(());
        }
        let id = EntryId::unpack(&key[value_end..]).unwrap_or_default();
        if !take(key, id) {
            return Ok(());
        }
        row = cursor.next()?;
    }
    Ok(())
}
