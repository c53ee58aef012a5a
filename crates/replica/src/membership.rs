//! The mark of a database that belongs to a cluster: its tools and recovery depend on it.

use crate::recover;
use state::lanes::Lanes;
use state::level;
use state::meta::{META_CLUSTER, META_TIME};
use state::stop::Failure;
use std::path::Path;
use store::{Batch, IndexSet, Snapshot, Store};

/// The cluster that a database belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterMark {
    /// Random identifier of the cluster.
    pub cluster: [u8; 16],
    /// Number of the cluster's log, from 1: a cluster that lost its log begins another one.
    pub generation: u64,
}

/// How far a database has followed the log of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// The cluster; `None` for the database of a node alone.
    pub mark: Option<ClusterMark>,
    /// Place up to which every record was executed; 0 before the first.
    pub place: u64,
    /// Position of the state.
    pub position: u64,
    /// Time of the last record that changed something, in microseconds since 1970; 0 if there is
    /// none.
    pub time_us: u64,
}

/// Marks the database of a data folder that no process has open.
///
/// # Errors
/// There is no database, or another process has it open.
pub fn mark(data: &Path, membership: &ClusterMark) -> Result<(), Failure> {
    let (store, _) = recover::open_store(data)?;
    put(&store, membership)?;
    store.close();
    Ok(())
}

/// Marks the database of an open store, on the disk when this returns. It follows the log of this
/// cluster and generation from the log's beginning: nothing is left of another log.
///
/// # Errors
/// The store cannot be written, or has a format level that this program does not execute.
pub fn put(store: &Store, membership: &ClusterMark) -> Result<(), Failure> {
    let none = IndexSet {
        schema: schema::Schema::standard(),
        definitions: Vec::new(),
    };
    let mut batch = store.begin(&none)?;
    put_into(&mut batch, membership)?;
    Ok(batch.commit()?)
}

/// Marks the database of a transaction, as [`put`] does.
///
/// # Errors
/// The errors of [`put`].
pub fn put_into(batch: &mut Batch<'_>, membership: &ClusterMark) -> Result<(), Failure> {
    level::require_known(level::of(&batch.snapshot())?)?;
    Lanes::forget(batch)?;
    let generation = membership.generation.to_be_bytes();
    batch.put_meta(
        META_CLUSTER,
        &[&membership.cluster[..], &generation].concat(),
    )?;
    level::keep_sums(batch)
}

/// The cluster that a snapshot's database belongs to; `None` for that of a node alone.
///
/// # Errors
/// The store cannot be read.
pub fn of(snapshot: &Snapshot<'_>) -> Result<Option<ClusterMark>, Failure> {
    Ok(snapshot.meta(META_CLUSTER)?.and_then(decode))
}

/// The cluster that the database of a folder belongs to, which no process has open; `None` for that
/// of a node alone, and if there is none that can be read.
pub fn of_folder(data: &Path) -> Option<ClusterMark> {
    let row = Store::next_meta(data, META_CLUSTER);
    row.and_then(|it| decode(&it))
}

/// How far the database of an open store has followed its cluster's log.
///
/// # Errors
/// The store cannot be read.
pub fn reached(store: &Store) -> Result<Reached, Failure> {
    let mut reader = store.reader()?;
    let snapshot = reader.snapshot()?;
    let time_us = snapshot.meta(META_TIME)?.and_then(|it| it.try_into().ok());
    Ok(Reached {
        mark: of(&snapshot)?,
        place: Lanes::load(&snapshot)?.place,
        position: snapshot.position()?,
        time_us: time_us.map_or(0, u64::from_be_bytes),
    })
}

fn decode(row: &[u8]) -> Option<ClusterMark> {
    let (cluster, generation) = row.split_first_chunk::<16>()?;
    Some(ClusterMark {
        cluster: *cluster,
        generation: u64::from_be_bytes(generation.try_into().ok()?),
    })
}
