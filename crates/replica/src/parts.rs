//! Parts of a bundle that is too long for one record of the log: each is stored in the database
//! when its record is executed, and the last one brings them together.
//!
//! Parts of one bundle follow each other in their lane, so another record of the lane, or a part
//! with an unexpected number, means that the rest will never come.

use state::meta::META_PART;
use state::origin::{NodeId, Origin};
use state::stop::Failure;
use std::collections::BTreeSet;
use store::{Batch, Snapshot};

/// Bytes of the part of a key that names the lane, behind the prefix: node and number.
const LANE_BYTES: usize = 17;

/// The lanes with stored parts, so that records of all other lanes need no look at the store.
#[derive(Debug, Default, Clone)]
pub(crate) struct Partial(BTreeSet<[u8; LANE_BYTES]>);

impl Partial {
    /// Reads which lanes have stored parts.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn load(snapshot: &Snapshot<'_>) -> Result<Partial, Failure> {
        let rows = snapshot.metas(META_PART)?;
        let lane = |key: &[u8]| key[META_PART.len()..].first_chunk().copied();
        Ok(Partial(
            rows.iter().filter_map(|(key, _)| lane(key)).collect(),
        ))
    }

    /// Stores a part; parts of an abandoned bundle are dropped before the first one.
    ///
    /// # Errors
    /// Writing the store failed.
    pub fn put(
        &mut self,
        batch: &mut Batch<'_>,
        origin: &Origin,
        index: u32,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        if index == 0 {
            self.drop_all(batch, origin)?;
        }
        let lane = lane_of(origin);
        self.0.insert(lane);
        let key = [META_PART, &lane, &index.to_be_bytes()].concat();
        Ok(batch.put_meta(&key, bytes)?)
    }

    /// Takes all stored parts of a lane, in order; `None` unless they are the `count` first ones.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn take(
        &mut self,
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
        self.drop_all(batch, origin)?;
        Ok((are_all && found == count).then_some(bytes))
    }

    /// Drops the stored parts of a lane.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn drop_all(&mut self, batch: &mut Batch<'_>, origin: &Origin) -> Result<(), Failure> {
        if !self.0.remove(&lane_of(origin)) {
            return Ok(());
        }
        let rows = batch.snapshot().metas(&prefix(origin))?;
        let keys: Vec<Vec<u8>> = rows.into_iter().map(|(key, _)| key.to_vec()).collect();
        for key in keys {
            batch.delete_meta(&key)?;
        }
        Ok(())
    }
}

fn lane_of(origin: &Origin) -> [u8; LANE_BYTES] {
    let NodeId(node) = origin.node;
    let mut lane = [0; LANE_BYTES];
    lane[..node.len()].copy_from_slice(&node);
    lane[node.len()] = origin.lane;
    lane
}

fn prefix(origin: &Origin) -> Vec<u8> {
    [META_PART, &lane_of(origin)].concat()
}
