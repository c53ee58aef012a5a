//! Normal forms, by rule family.

use super::{Family, Position};
use crate::error::InvalidValue;
use crate::schema::Schema;

pub(super) fn value(
    _schema: &Schema,
    _family: Family,
    _value: &[u8],
    _out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    unimplemented!()
}

pub(super) fn assertion(
    _schema: &Schema,
    _family: Family,
    _value: &[u8],
    _out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    unimplemented!()
}

pub(super) fn for_pieces(
    _family: Family,
    _value: &[u8],
    _out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    unimplemented!()
}

pub(super) fn piece(
    _family: Family,
    _piece: &[u8],
    _position: Position,
    _out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    unimplemented!()
}
