//! Records as bytes, for the log: everything needed to execute their writes.
//!
//! Attribute names are text, resolved under the schema that the database has at that position of
//! the order, under which they were also first resolved.
//!
//! Invariants:
//! - an encoded record decodes to equal writes;
//! - no bytes make decoding panic, recurse, or allocate more than a multiple of their number;
//! - a field unknown to this build is an error, so a record is executed completely or not at all.

mod fields;

use crate::level;
use crate::origin::{NodeId, Origin};
use crate::stop::Failure;
use crate::write::{Change, Record, Unit, Write};
use fields::{put_together, put_write, require_end, sized, take_write};
use schema::{DescribeError, Description, Schema};
use store::bytes::{Bytes, put_count};

/// Version, the first byte of a record of a node alone.
const VERSION: u8 = 1;
/// Version of a record of a cluster: its place in the commit log, its origin and its kind follow
/// the digest.
const VERSION_OF_CLUSTER: u8 = 2;
/// Kinds of records of a cluster: writes, nothing executed, a part of a later record.
const OF_WRITES: u8 = 0;
const OF_NOTHING: u8 = 1;
const OF_PART: u8 = 2;

/// A decoded record.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// The place in the order, from 1.
    pub position: u64,
    /// The time of the record, microseconds since 1970.
    pub time_us: u64,
    /// Digest of the state before the record.
    pub digest: u128,
    /// Its place in the log of a cluster; `None` for a record of a node alone.
    pub logged: Option<Logged>,
    /// The writes of all units, in the order of execution.
    pub writes: DecodedWrites,
    /// A part of writes, which only the log of a cluster has: to be stored until the last one
    /// comes.
    pub part: Option<Part>,
}

/// A part of encoded writes that are too long for one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Number of the part, from 0.
    pub index: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What a record of a cluster's log brings.
#[derive(Debug, Clone, Copy)]
pub enum LoggedContent<'c> {
    /// Writes, as [`encode_writes`] encoded them.
    Writes(&'c [u8]),
    /// Nothing: no node executed it.
    Nothing,
    /// A part of later writes.
    Part {
        /// Number of the part, from 0.
        index: u32,
        /// Its bytes.
        bytes: &'c [u8],
    },
}

/// The place of a record in the log of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    /// The place.
    pub place: u64,
    /// Who appended it.
    pub origin: Origin,
}

/// Decoded writes with their units.
#[derive(Debug, Clone, Default)]
pub struct DecodedWrites {
    /// The writes of all units, in the order of execution.
    pub all: Vec<Write>,
    /// The number of writes in each unit.
    lengths: Vec<usize>,
}

impl DecodedWrites {
    /// The units in order.
    pub fn units(&self) -> Vec<Unit<'_>> {
        let mut rest = self.all.as_slice();
        let mut next = |length: &usize| {
            let (unit, behind) = rest.split_at(*length);
            rest = behind;
            unit
        };
        self.lengths.iter().map(&mut next).collect()
    }

    /// Refuses writes that raise the format level to one that this program does not execute.
    ///
    /// # Errors
    /// [`Failure::Level`].
    pub fn require_known_level(&self) -> Result<(), Failure> {
        let levels = self.all.iter().filter_map(|it| match it.change {
            Change::Level(level) => Some(level),
            _ => None,
        });
        // One that is too low is refused as any raise to a level that is reached.
        let highest = levels.max().unwrap_or(level::LOWEST).max(level::LOWEST);
        level::require_known(highest).map(drop)
    }
}

/// Appends the encoded record to `out`. `digest` is that of the state before it.
pub fn encode(record: &Record<'_>, digest: u128, schema: &Schema, out: &mut Vec<u8>) {
    out.push(VERSION);
    out.extend_from_slice(&record.position.to_le_bytes());
    out.extend_from_slice(&record.time_us.to_le_bytes());
    out.extend_from_slice(&digest.to_le_bytes());
    encode_writes(&record.units, schema, out);
}

/// Appends a record of a cluster's log to `out`.
pub fn encode_logged(head: &LoggedHead, content: LoggedContent<'_>, out: &mut Vec<u8>) {
    out.push(VERSION_OF_CLUSTER);
    out.extend_from_slice(&head.position.to_le_bytes());
    out.extend_from_slice(&head.time_us.to_le_bytes());
    out.extend_from_slice(&head.digest.to_le_bytes());
    let Logged { place, origin } = head.logged;
    out.extend_from_slice(&place.to_le_bytes());
    out.extend_from_slice(&origin.node.0);
    out.extend_from_slice(&origin.epoch.to_le_bytes());
    out.push(origin.lane);
    out.extend_from_slice(&origin.sequence.to_le_bytes());
    match content {
        LoggedContent::Writes(writes) => {
            out.push(OF_WRITES);
            out.extend_from_slice(writes);
        }
        LoggedContent::Nothing => out.push(OF_NOTHING),
        LoggedContent::Part { index, bytes } => {
            out.push(OF_PART);
            out.extend_from_slice(&index.to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }
}

/// What a record of a cluster's log has before its writes.
#[derive(Debug, Clone, Copy)]
pub struct LoggedHead {
    /// The place in the order of records that changed something, from 1.
    pub position: u64,
    /// The time of the record, microseconds since 1970.
    pub time_us: u64,
    /// Digest of the state before the record.
    pub digest: u128,
    /// The place in the log.
    pub logged: Logged,
}

/// Appends encoded writes to `out`.
pub fn encode_writes(units: &[Unit<'_>], schema: &Schema, out: &mut Vec<u8>) {
    put_count(out, units.iter().map(|it| it.len()).sum());
    for unit in units {
        for (at, write) in unit.iter().enumerate() {
            sized(out, |out| {
                if at == 0 && unit.len() > 1 {
                    put_together(out, unit.len());
                }
                put_write(out, write, schema);
            });
        }
    }
}

/// Resolves the attribute descriptions in a record.
type Describe<'d> = &'d dyn Fn(&str) -> Result<Description, DescribeError>;

/// Decodes a record. Its attribute types must be known to `schema`.
///
/// # Errors
/// A text that describes the error.
pub fn decode(bytes: &[u8], schema: &Schema) -> Result<Decoded, String> {
    decode_by(bytes, &|text| schema.describe(text))
}

/// Like [`decode`], resolving descriptions with `describe`.
///
/// # Errors
/// A text that describes the error.
pub fn decode_by(bytes: &[u8], describe: Describe<'_>) -> Result<Decoded, String> {
    let mut input = Bytes::new(bytes);
    let [version] = input.take()?;
    if ![VERSION, VERSION_OF_CLUSTER].contains(&version) {
        return Err(format!(
            "the record has version {version}, this build reads versions {VERSION} and \
             {VERSION_OF_CLUSTER}"
        ));
    }
    let position = input.u64()?;
    let time_us = input.u64()?;
    let digest = input.u128()?;
    let mut decoded = Decoded {
        position,
        time_us,
        digest,
        logged: None,
        writes: DecodedWrites::default(),
        part: None,
    };
    if version == VERSION {
        decoded.writes = take_writes(&mut input, describe)?;
        return Ok(decoded);
    }
    decoded.logged = Some(take_logged(&mut input)?);
    match input.take()? {
        [OF_WRITES] => decoded.writes = take_writes(&mut input, describe)?,
        [OF_NOTHING] => require_end(&input)?,
        [OF_PART] => {
            let index = input.u32()?;
            let bytes = input.rest().to_vec();
            decoded.part = Some(Part { index, bytes });
        }
        [other] => return Err(format!("expected a kind from 0 to 2, got {other}")),
    }
    Ok(decoded)
}

/// Decodes what [`encode_writes`] encoded.
///
/// # Errors
/// A text that describes the error.
pub fn decode_writes(bytes: &[u8], schema: &Schema) -> Result<DecodedWrites, String> {
    take_writes(&mut Bytes::new(bytes), &|text| schema.describe(text))
}

fn take_logged(input: &mut Bytes<'_>) -> Result<Logged, String> {
    let place = input.u64()?;
    let node = NodeId(input.take()?);
    let epoch = input.u64()?;
    let [lane] = input.take()?;
    let sequence = input.u64()?;
    let origin = Origin {
        node,
        epoch,
        lane,
        sequence,
    };
    Ok(Logged { place, origin })
}

fn take_writes(input: &mut Bytes<'_>, describe: Describe<'_>) -> Result<DecodedWrites, String> {
    let count = input.count()?;
    let (mut all, mut lengths) = (Vec::new(), Vec::new());
    let mut unit_end = 0;
    for number in 0..count {
        let read = take_write(input.counted()?, describe);
        let (write, together) = read.map_err(|error| format!("write {number}: {error}"))?;
        if number >= unit_end {
            let length = together.unwrap_or(1);
            lengths.push(length);
            unit_end = number.saturating_add(length);
        } else if together.is_some() {
            return Err(format!("write {number}: a unit begins inside of another"));
        }
        all.push(write);
    }
    if unit_end != count {
        return Err(format!("expected writes up to {unit_end}, got {count}"));
    }
    require_end(input)?;
    Ok(DecodedWrites { all, lengths })
}

/// The position in an encoded record, for messages about records that cannot be decoded; `None` if
/// it is too short.
pub fn position_of(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(1..9)?.try_into().ok()?))
}

/// The time in an encoded record, in microseconds since 1970; `None` if it is too short.
pub fn time_of(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(9..17)?.try_into().ok()?))
}

/// The digest in an encoded record, of the state before it; `None` if it is too short.
pub fn digest_of(bytes: &[u8]) -> Option<u128> {
    Some(u128::from_le_bytes(bytes.get(17..33)?.try_into().ok()?))
}

#[cfg(test)]
mod tests;
