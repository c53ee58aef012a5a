//! Trimming: etcd forgets the history that no node needs.
//!
//! The floor is first written to the key `floor`, in a transaction that fails if a hold was set in
//! the meantime; only then the history before it is removed. Whoever sets a hold reads the floor
//! afterwards: either the hold keeps what it names, or its setter sees that it came too late.

use super::pool::Connected;
use super::probe::{describe, within};
use super::state::{Shared, lock, place, revision};
use super::tail::{history_wait, is_compacted};
use super::values::{self, Floor, Hold};
use etcd_client::{Compare, CompareOp, Error, Txn, TxnOp, TxnOpResponse};
use replica::commit_log::{NodeId, Unreachable};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Places without records, as reports make them, after which the log is trimmed nevertheless.
const IDLE_PLACES: u64 = 1_000;

/// Part of etcd's quota that records for absent nodes may fill at most: one of so many.
const RETENTION_SHARE: u64 = 4;

/// Reasons why records cannot be held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoldFailure {
    /// etcd did not answer, or refused.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// Too late: begin with a later state.
    #[error("records behind place {from} are wanted, but the log was trimmed up to place {floor}")]
    Trimmed {
        /// The place whose later records are wanted.
        from: u64,
        /// Place of the last record that may be gone.
        floor: u64,
    },
}

/// Trims the log if that is this node's turn and something is to be trimmed.
///
/// # Errors
/// etcd refused or did not answer in time.
pub(super) async fn trim(shared: &Shared, connected: &Connected) -> Result<(), Error> {
    let Some(wanted) = wanted(shared) else {
        return Ok(());
    };
    match announce(shared, connected, &wanted).await {
        Ok(true) => (),
        // The next time counts the new hold.
        Ok(false) => return Ok(()),
        // Nothing can be written to a full etcd, so that it would stay full.
        Err(error) if describe(&error).contains("space exceeded") => (),
        Err(error) => return Err(error),
    }
    let mut kv = connected.kv();
    let floor = wanted.floor;
    match within(history_wait(shared), kv.compact(revision(floor), None)).await {
        Ok(_) => tracing::debug!(floor, "trimmed the commit log"),
        Err(error) if is_compacted(&describe(&error)) => (),
        Err(error) => return Err(error),
    }
    lock(&shared.volume).trimmed(floor, wanted.total);
    Ok(())
}

/// A trim that should be made.
struct Wanted {
    /// The new floor.
    floor: u64,
    /// The place up to which the members are known.
    read: u64,
    /// Bytes of the log read until then.
    total: u64,
}

/// The trim that this node should make, `None` for none.
fn wanted(shared: &Shared) -> Option<Wanted> {
    let trimming = &shared.settings.trimming;
    let read = shared.reached.load(Ordering::Acquire);
    let own = lock(&shared.own).standing;
    let database = *lock(&shared.database);
    let mut volume = lock(&shared.volume);
    let members = lock(&shared.members);
    let total = volume.total();
    // A full etcd takes no reports, so that all nodes seem to be away.
    let is_full = database.is_some_and(|it| it.is_full);
    if !is_full && !members.is_turn_of(shared.settings.node, trimming.alive_for) {
        volume.trimmed_by_another(members.floor);
        // Another node's turn, unless that node is stuck.
        if volume.since_trim() < trimming.every_bytes * 2 {
            return None;
        }
    }
    let absent_for = trimming.absent_for.max(trimming.alive_for);
    let synced = own.map_or(0, |it| it.synced_place);
    let unneeded = members.unneeded(shared.settings.node, absent_for);
    let unneeded = match unneeded.map_or(synced, |it| it.min(synced)) {
        // No record is behind what all have executed. A node that loses power now needs a copy.
        _ if is_full && members.have_executed(volume.last(), absent_for) => read,
        unneeded => unneeded,
    };
    // A node that is away must not hold up the others by a small quota.
    let room = database.map_or(u64::MAX, |it| it.quota_bytes / RETENTION_SHARE);
    let old = volume.place_before(trimming.retention_bytes.min(room));
    let floor = unneeded.max(old).min(read);
    // Reports alone are no reason: each trim is itself a revision.
    let is_idle = volume.last() <= members.floor;
    // In a busy log anybody's old values may be what takes the room.
    let is_small = floor.saturating_sub(members.floor) < IDLE_PLACES && !shared.is_busy();
    if floor <= members.floor || (is_idle && is_small) {
        return None;
    }
    Some(Wanted { floor, read, total })
}

/// Writes the new floor; `false` if a hold was set that is not counted.
async fn announce(shared: &Shared, connected: &Connected, wanted: &Wanted) -> Result<bool, Error> {
    let no_new_hold = Compare::mod_revision(
        shared.keys.holds(),
        CompareOp::Less,
        revision(wanted.read.saturating_add(1)),
    );
    let key = shared.keys.named("floor");
    let floor = Floor {
        place: wanted.floor,
    };
    let transaction = Txn::new()
        .when([no_new_hold.with_prefix()])
        .and_then([TxnOp::put(key, values::encode(&floor), None)]);
    let mut kv = connected.kv();
    let answer = within(shared.settings.attempt_timeout, kv.txn(transaction)).await?;
    Ok(answer.succeeded())
}

/// Keeps all records behind a place for a while, on behalf of a node that is joining.
///
/// # Errors
/// etcd cannot be reached, or records behind that place were trimmed already; the text says which.
pub(super) async fn hold(
    shared: &Shared,
    node: NodeId,
    from: u64,
    time: Duration,
) -> Result<(), HoldFailure> {
    let wait = shared.settings.attempt_timeout;
    let connected = shared.pool.connected_within(wait).await?;
    let hold = Hold {
        place: from,
        seconds: time.as_secs(),
    };
    let transaction = Txn::new().and_then([
        TxnOp::put(shared.keys.hold(node), values::encode(&hold), None),
        TxnOp::get(shared.keys.named("floor"), None),
    ]);
    let mut kv = connected.kv();
    let answer = within(wait, kv.txn(transaction)).await;
    let answer = answer.map_err(|error| Unreachable(describe(&error)))?;
    let floor = answer.op_responses().into_iter().find_map(|it| match it {
        TxnOpResponse::Get(answer) => {
            let found = answer.kvs().first()?;
            values::decode::<Floor>(found.value())
        }
        _ => None,
    });
    let floor = floor.map_or(0, |it| it.place);
    if floor > from && !time.is_zero() {
        return Err(HoldFailure::Trimmed { from, floor });
    }
    shared.saw_head(answer.header().map_or(0, |it| place(it.revision())));
    Ok(())
}
