//! How far a database has followed the commit log of a cluster: rows that are part of the state,
//! and change in the transaction of the records that they tell of.
//!
//! Invariant: a record is executed once, whatever a log repeats, and never by an outdated process
//! of a node.

use crate::meta::{META_CONFIGURATION, META_LANE, META_PART, META_PLACE};
use crate::origin::{NodeId, Origin};
use crate::stop::Failure;
use std::collections::{BTreeMap, BTreeSet};
use store::{Batch, Snapshot};

/// Bytes of the key of a lane, behind the prefix: node and number.
const LANE_KEY_BYTES: usize = 17;

/// Node and number of a lane.
type LaneKey = (NodeId, u8);

/// The last record executed of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LaneEnd {
    epoch: u64,
    sequence: u64,
}

/// The lanes of all nodes, the place in the log, and the position of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Lanes {
    ends: BTreeMap<LaneKey, LaneEnd>,
    /// Lanes whose rows are older than `ends`.
    changed: BTreeSet<LaneKey>,
    /// Place in the log up to which every record was executed; 0 before the first.
    pub place: u64,
    /// Position of the last record that changed the configuration; 0 if none did since the database
    /// follows a log.
    pub configuration: u64,
}

/// What to do with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the next one of its lane: execute it.
    Next,
    /// It was executed already, or comes from an outdated process of its node: skip it.
    Skip,
    /// Records of its lane are missing before it. The sequence number that was expected.
    Gap(u64),
}

impl Lanes {
    /// Reads the rows of a database.
    ///
    /// # Errors
    /// The store cannot be read, or a row is damaged.
    pub fn load(snapshot: &Snapshot<'_>) -> Result<Lanes, Failure> {
        let number = |key: &[u8]| -> Result<u64, Failure> {
            let row = snapshot.meta(key)?;
            let number = row.map(|it| it.try_into().map(u64::from_be_bytes));
            number.unwrap_or(Ok(0)).map_err(|_| damaged(key))
        };
        let mut lanes = Lanes {
            place: number(META_PLACE)?,
            configuration: number(META_CONFIGURATION)?,
            ..Lanes::default()
        };
        for (key, row) in snapshot.metas(META_LANE)? {
            let lane = decode_key(&key[META_LANE.len()..]).ok_or_else(|| damaged(key))?;
            let end = decode_end(row).ok_or_else(|| damaged(key))?;
            lanes.ends.insert(lane, end);
        }
        Ok(lanes)
    }

    /// Removes all rows of a log, parts of bundles included: another log is followed from its
    /// beginning.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn forget(batch: &mut Batch<'_>) -> Result<(), Failure> {
        for prefix in [META_LANE, META_PART, META_PLACE, META_CONFIGURATION] {
            let rows = batch.snapshot().metas(prefix)?;
            let keys: Vec<Vec<u8>> = rows.into_iter().map(|(key, _)| key.to_vec()).collect();
            for key in keys {
                batch.delete_meta(&key)?;
            }
        }
        Ok(())
    }

    /// What to do with the record of this origin.
    pub fn verdict(&self, origin: &Origin) -> Verdict {
        // A process that appends to one lane makes the earlier ones outdated on all lanes.
        let of_node = (origin.node, 0)..=(origin.node, u8::MAX);
        let epochs = self.ends.range(of_node).map(|(_, end)| end.epoch);
        let epoch = epochs.max().unwrap_or(0);
        let end = self.ends.get(&(origin.node, origin.lane));
        let sequence = end.map_or(0, |it| it.sequence);
        if origin.epoch < epoch || origin.sequence <= sequence {
            return Verdict::Skip;
        }
        match sequence + 1 {
            next if next == origin.sequence => Verdict::Next,
            next => Verdict::Gap(next),
        }
    }

    /// Notes that the record of this origin and place was executed, or changes nothing.
    pub fn note(&mut self, origin: &Origin, place: u64) {
        let lane = (origin.node, origin.lane);
        let end = LaneEnd {
            epoch: origin.epoch,
            sequence: origin.sequence,
        };
        self.ends.insert(lane, end);
        self.changed.insert(lane);
        self.place = place;
    }

    /// Passes the bytes of each lane's number and end, in the order of lanes.
    pub fn each(&self, mut take: impl FnMut(&[u8])) {
        for ((node, lane), end) in &self.ends {
            take(&encode_key(*node, *lane));
            take(&end.epoch.to_be_bytes());
            take(&end.sequence.to_be_bytes());
        }
    }

    /// Makes [`store`](Self::store) write the rows of all lanes: another database took the place of
    /// the one that has them.
    pub fn change_all(&mut self) {
        self.changed.extend(self.ends.keys());
    }

    /// Stores the changed rows in the transaction of the records.
    ///
    /// # Errors
    /// Writing the store failed.
    pub fn store(&mut self, batch: &mut Batch<'_>) -> Result<(), Failure> {
        for lane in std::mem::take(&mut self.changed) {
            let LaneEnd { epoch, sequence } = self.ends[&lane];
            let row = [epoch.to_be_bytes(), sequence.to_be_bytes()].concat();
            batch.put_meta(&encode_key(lane.0, lane.1), &row)?;
        }
        batch.put_meta(META_PLACE, &self.place.to_be_bytes())?;
        if self.configuration > 0 {
            batch.put_meta(META_CONFIGURATION, &self.configuration.to_be_bytes())?;
        }
        Ok(())
    }
}

fn encode_key(node: NodeId, lane: u8) -> Vec<u8> {
    [META_LANE, &node.0, &[lane]].concat()
}

fn decode_key(key: &[u8]) -> Option<LaneKey> {
    let key: [u8; LANE_KEY_BYTES] = key.try_into().ok()?;
    let (node, [lane]) = key.split_first_chunk::<16>().and_then(|(node, lane)| {
        let lane: [u8; 1] = lane.try_into().ok()?;
        Some((*node, lane))
    })?;
    Some((NodeId(node), lane))
}

fn decode_end(row: &[u8]) -> Option<LaneEnd> {
    let (epoch, sequence) = row.split_first_chunk::<8>()?;
    Some(LaneEnd {
        epoch: u64::from_be_bytes(*epoch),
        sequence: u64::from_be_bytes(sequence.try_into().ok()?),
    })
}

fn damaged(key: &[u8]) -> Failure {
    let detail = format!(
        "the value \"{}\" is damaged: restore the database from a backup (pando restore), or join \
         the cluster again",
        String::from_utf8_lossy(key).escape_debug()
    );
    Failure::Store(store::Error::Corrupt {
        table: "meta",
        detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(epoch: u64, sequence: u64) -> Origin {
        Origin {
            node: NodeId([7; 16]),
            epoch,
            lane: 1,
            sequence,
        }
    }

    #[test]
    fn each_record_is_executed_once() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.verdict(&origin(1, 1)), Verdict::Next);
        assert_eq!(lanes.verdict(&origin(1, 2)), Verdict::Gap(1));
        lanes.note(&origin(1, 1), 40);
        assert_eq!(lanes.verdict(&origin(1, 1)), Verdict::Skip);
        assert_eq!(lanes.verdict(&origin(2, 2)), Verdict::Next);
        lanes.note(&origin(2, 2), 41);
        assert_eq!(lanes.place, 41);
        // A process of an earlier epoch does not know that it was replaced.
        assert_eq!(lanes.verdict(&origin(1, 3)), Verdict::Skip);
        let other = |epoch| Origin {
            lane: 0,
            ..origin(epoch, 1)
        };
        assert_eq!(lanes.verdict(&other(1)), Verdict::Skip);
        assert_eq!(lanes.verdict(&other(2)), Verdict::Next);
    }

    #[test]
    fn keys_and_rows_are_read_back() {
        let lane = (NodeId([9; 16]), 3);
        let key = encode_key(lane.0, lane.1);
        assert_eq!(decode_key(&key[META_LANE.len()..]), Some(lane));
        assert_eq!(decode_key(&key[1..]), None);
        assert_eq!(decode_end(&[0; 15]), None);
    }
}
