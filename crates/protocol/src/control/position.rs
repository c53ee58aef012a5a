//! Position control (Pando's own): a position in the order of all writes, so that a client reads
//! its own writes on any server.

use super::sequence_of;
use crate::DecodeError;
use crate::ber::{INTEGER, OCTET_STRING, SEQUENCE, put_integer, put_nested, put_octets};
use crate::error::{Component, saturated};

/// `Position ::= SEQUENCE { log OCTET STRING (SIZE (16)), position INTEGER (0 .. maxInt64) }`.
///
/// Clients keep the octets as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Identifier of the order, equal on all servers of a directory.
    pub log: [u8; 16],
    /// The position.
    pub position: u64,
}

impl Position {
    /// Decodes the control's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let log = parts.expect(OCTET_STRING)?;
        let log = log.try_into().map_err(|_| DecodeError::UuidLength {
            octets: saturated(log.len()),
        })?;
        let position = parts.integer(INTEGER)?;
        let position = u64::try_from(position)
            .map_err(|_| DecodeError::out_of_range(Component::Position, position))?;
        parts.finish_extensible()?;
        Ok(Position { log, position })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_octets(out, OCTET_STRING, &self.log);
            put_integer(
                out,
                INTEGER,
                i64::try_from(self.position).unwrap_or(i64::MAX),
            );
        });
    }
}
