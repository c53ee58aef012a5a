//! Rows of the meta table: the state row, the format version, index states.

use crate::error::Error;
use crate::id::EntryId;
use crate::index_set::{IndexKinds, IndexState};

/// The format of the whole database.
pub(crate) const FORMAT: u32 = 1;
/// Key of the format version.
pub(crate) const FORMAT_KEY: &[u8] = b"format";
/// Key of the state row.
pub(crate) const STATE_KEY: &[u8] = b"state";
/// Prefix of the keys of index states; the attribute's canonical name follows.
pub(crate) const INDEX_PREFIX: &[u8] = b"i/";
/// Prefix of the keys of values that belong to the crates above.
pub(crate) const VALUE_PREFIX: &[u8] = b"x/";

const STATE_VERSION: u8 = 1;
const STATE_BYTES: usize = 1 + 8 * 4 + 16;
const INDEX_VERSION: u8 = 1;

/// The counters that any commit may change, in one row, so that a small write touches one page of
/// the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    /// Id of the next new entry.
    pub next_id: u64,
    /// Number of entries.
    pub entries: u64,
    /// The log position of the last change.
    pub position: u64,
    /// Number of changes that invalidate cached containers.
    pub rename_counter: u64,
    /// Wrapping sum of the terms of all entries and links.
    pub digest: u128,
}

impl State {
    /// The state of an empty database.
    pub const EMPTY: State = State {
        next_id: 1,
        entries: 0,
        position: 0,
        rename_counter: 0,
        digest: 0,
    };

    pub fn encode(&self) -> [u8; STATE_BYTES] {
        let mut bytes = [0; STATE_BYTES];
        bytes[0] = STATE_VERSION;
        bytes[1..9].copy_from_slice(&self.next_id.to_le_bytes());
        bytes[9..17].copy_from_slice(&self.entries.to_le_bytes());
        bytes[17..25].copy_from_slice(&self.position.to_le_bytes());
        bytes[25..33].copy_from_slice(&self.rename_counter.to_le_bytes());
        bytes[33..].copy_from_slice(&self.digest.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<State, Error> {
        let damaged = || Error::corrupt("meta", "the state row cannot be read");
        let bytes: &[u8; STATE_BYTES] = bytes.try_into().map_err(|_| damaged())?;
        if bytes[0] != STATE_VERSION {
            let found = bytes[0].into();
            return Err(Error::Format {
                what: "the state row",
                found,
                expected: 1,
            });
        }
        let number = |at: usize| {
            let eight = bytes.get(at..at + 8).and_then(|it| it.try_into().ok());
            eight.map(u64::from_le_bytes).ok_or_else(damaged)
        };
        let digest = bytes[33..].try_into().map_err(|_| damaged())?;
        Ok(State {
            next_id: number(1)?,
            entries: number(9)?,
            position: number(17)?,
            rename_counter: number(25)?,
            digest: u128::from_le_bytes(digest),
        })
    }
}

/// Returns the key of a value of the crates above.
pub(crate) fn value_key(key: &[u8]) -> Vec<u8> {
    [VALUE_PREFIX, key].concat()
}

/// Returns the key of an index state.
pub(crate) fn index_key(attribute: &str) -> Vec<u8> {
    [INDEX_PREFIX, attribute.as_bytes()].concat()
}

pub(crate) fn encode_index(state: &IndexState) -> [u8; 13] {
    let mut bytes = [0; 13];
    bytes[0] = INDEX_VERSION;
    bytes[1] = state.ready.bits();
    bytes[2] = state.building.bits();
    bytes[3] = state.dropping.bits();
    bytes[4] = state.pending.bits();
    bytes[5..].copy_from_slice(&state.next.0.to_le_bytes());
    bytes
}

pub(crate) fn decode_index(key: &[u8], value: &[u8]) -> Result<IndexState, Error> {
    let damaged = || Error::corrupt("meta", "an index state cannot be read");
    let name = key.strip_prefix(INDEX_PREFIX).ok_or_else(damaged)?;
    let attribute = std::str::from_utf8(name).map_err(|_| damaged())?.to_owned();
    let value: &[u8; 13] = value.try_into().map_err(|_| damaged())?;
    if value[0] != INDEX_VERSION {
        let found = value[0].into();
        return Err(Error::Format {
            what: "an index state",
            found,
            expected: 1,
        });
    }
    let next = value[5..]
        .try_into()
        .map(u64::from_le_bytes)
        .map_err(|_| damaged())?;
    Ok(IndexState {
        attribute,
        ready: IndexKinds::from_bits(value[1]),
        building: IndexKinds::from_bits(value[2]),
        dropping: IndexKinds::from_bits(value[3]),
        pending: IndexKinds::from_bits(value[4]),
        next: EntryId(next),
    })
}
