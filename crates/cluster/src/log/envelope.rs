//! The envelope of a payload in etcd: enough to notice a record of another cluster, another lane,
//! or with damaged bytes.
//!
//! Layout, numbers little-endian: `PLOG`, version 1, cluster (16 bytes), node (16), epoch (8),
//! lane (1), sequence (8), xxh3-128 of all before and of the payload (16), payload.

use replica::commit_log::{NodeId, Origin};
use xxhash_rust::xxh3::Xxh3Default;

/// First bytes of each record.
const MAGIC: &[u8; 4] = b"PLOG";
/// The layout above.
const VERSION: u8 = 1;
/// Where the checksum begins.
const CHECKSUM: usize = 54;
/// Bytes before the payload.
pub(super) const HEADER_BYTES: usize = CHECKSUM + 16;

/// A payload with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Envelope<'a> {
    /// The cluster to whose log the record belongs.
    pub(super) cluster: [u8; 16],
    /// Node, epoch, lane and number of its origin.
    pub(super) origin: Origin,
    /// The payload, not looked into.
    pub(super) payload: &'a [u8],
}

/// Reasons why bytes are no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    /// Too short, or another first word.
    #[error("expected a record that begins with PLOG, found {0} bytes of something else")]
    Foreign(usize),
    /// A later layout.
    #[error(
        "expected a record of version {VERSION}, found version {0}: update this node's program"
    )]
    Version(u8),
    /// Bytes changed on their way.
    #[error("the checksum of the record does not match its bytes")]
    Checksum,
}

impl<'a> Envelope<'a> {
    /// The bytes that stand in etcd.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.payload.len());
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.cluster);
        bytes.extend_from_slice(&self.origin.node.0);
        bytes.extend_from_slice(&self.origin.epoch.to_le_bytes());
        bytes.push(self.origin.lane);
        bytes.extend_from_slice(&self.origin.sequence.to_le_bytes());
        let checksum = checksum(&bytes, self.payload);
        bytes.extend_from_slice(&checksum);
        bytes.extend_from_slice(self.payload);
        bytes
    }

    /// Decodes what [`encode`](Envelope::encode) made.
    ///
    /// # Errors
    /// The bytes are no record, of a later version, or damaged.
    pub(super) fn decode(bytes: &'a [u8]) -> Result<Envelope<'a>, Damage> {
        let whole = bytes;
        let foreign = || Damage::Foreign(whole.len());
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(foreign)?;
        let (version, rest) = rest.split_first().ok_or_else(foreign)?;
        if *version != VERSION {
            return Err(Damage::Version(*version));
        }
        let (cluster, rest) = rest.split_first_chunk::<16>().ok_or_else(foreign)?;
        let (node, rest) = rest.split_first_chunk::<16>().ok_or_else(foreign)?;
        let (epoch, rest) = rest.split_first_chunk::<8>().ok_or_else(foreign)?;
        let (lane, rest) = rest.split_first().ok_or_else(foreign)?;
        let (sequence, rest) = rest.split_first_chunk::<8>().ok_or_else(foreign)?;
        let (expected, payload) = rest.split_first_chunk::<16>().ok_or_else(foreign)?;
        if checksum(&whole[..CHECKSUM], payload) != *expected {
            return Err(Damage::Checksum);
        }
        Ok(Envelope {
            cluster: *cluster,
            origin: Origin {
                node: NodeId(*node),
                epoch: u64::from_le_bytes(*epoch),
                lane: *lane,
                sequence: u64::from_le_bytes(*sequence),
            },
            payload,
        })
    }
}

/// Hash of the header up to the checksum, and of the payload.
fn checksum(header: &[u8], payload: &[u8]) -> [u8; 16] {
    let mut hash = Xxh3Default::new();
    hash.update(header);
    hash.update(payload);
    hash.digest128().to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_comes_back(
            cluster: [u8; 16], node: [u8; 16], epoch: u64, lane: u8, sequence: u64,
            payload: Vec<u8>,
        ) {
            let origin = Origin { node: NodeId(node), epoch, lane, sequence };
            let record = Envelope { cluster, origin, payload: &payload };
            let bytes = record.encode();
            prop_assert_eq!(bytes.len(), HEADER_BYTES + payload.len());
            prop_assert_eq!(Envelope::decode(&bytes), Ok(record));
        }

        #[test]
        fn a_changed_byte_is_noticed(
            payload in proptest::collection::vec(any::<u8>(), 0..200),
            at: proptest::sample::Index,
            change in 1..=255_u8,
        ) {
            let origin = Origin { node: NodeId([7; 16]), epoch: 3, lane: 1, sequence: 9 };
            let mut bytes = Envelope { cluster: [1; 16], origin, payload: &payload }.encode();
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            prop_assert!(Envelope::decode(&bytes).is_err());
            bytes[at] ^= change;
            bytes.truncate(at);
            prop_assert!(Envelope::decode(&bytes).is_err());
        }
    }
}
