//! Executes the records of a cluster's log: those that wait are packed into one transaction, which
//! is not synced, because the log can be executed again.
//!
//! Invariants:
//! - which records share a transaction does not show in the state;
//! - execution of a record depends on the state and the record alone: a record that this node
//!   cannot execute (no room, damage) is tried again, and never answered with that trouble;
//! - each record is in this node's own log before its transaction is committed, so that the end of
//!   the process loses nothing and recovery needs no other node.

use super::group::{Done as Work, Group};
use super::{COMMIT_CHURN_BYTES, Executor, RECLAIMED_CHURN_BYTES, WRITE_CHURN_BYTES, in_newest};
use crate::commit_log::{LogEvent, Standing};
use crate::parts::Partial;
use state::catalog::{self, Catalog};
use state::execute::Done;
use state::lanes::Lanes;
use state::meta::META_TIME;
use state::stop::Failure;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{IndexSet, Snapshot, Store};

/// Maximum number of writes in one transaction.
const WRITES_MAX: usize = 8_192;
/// Time after which a transaction takes no further record.
const TIME_MAX: Duration = Duration::from_millis(20);

/// How far this node has followed the log.
#[derive(Debug, Default, Clone)]
pub(crate) struct Following {
    pub(super) lanes: Lanes,
    /// Position of the state.
    pub(super) position: u64,
    /// Time of the last record that changed something.
    pub(super) time_us: u64,
    /// The place of the last record in this node's own log.
    pub(super) relayed: u64,
    /// The last position at which nodes compare digests, and the digest there.
    pub(super) digest: (u64, u128),
    /// Lanes with stored parts.
    pub(super) partial: Partial,
}

/// What became of a bundle of this process.
pub(crate) struct Settled {
    /// Number of the bundle.
    pub number: u64,
    pub fate: Fate,
}

/// How a bundle ended.
pub(crate) enum Fate {
    /// It was executed: one result for each unit, and the position of the state after it.
    Executed { results: Vec<Done>, position: u64 },
    /// No node executed it, because the configuration changed after its writes were resolved.
    Outdated,
    /// It is not in the log and will never be, for this reason.
    Refused(String),
}

impl Following {
    /// Reads how far the database has followed the log.
    pub fn load(snapshot: &Snapshot<'_>) -> Result<Following, Failure> {
        let lanes = Lanes::load(snapshot)?;
        let time_us = snapshot.meta(META_TIME)?.and_then(|it| it.try_into().ok());
        Ok(Following {
            relayed: lanes.place,
            lanes,
            position: snapshot.position()?,
            time_us: time_us.map_or(0, u64::from_be_bytes),
            digest: (0, 0),
            partial: Partial::load(snapshot)?,
        })
    }

    /// Writes the rows of lanes and the place into a copy of the database, which was made by
    /// executing the node's own log: skipped records and places without records are not in there.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn complete(&mut self, copy: &Store, indexes: &IndexSet) -> Result<(), Failure> {
        self.lanes.change_all();
        let mut batch = copy.begin(indexes)?;
        self.lanes.store(&mut batch)?;
        Ok(batch.commit()?)
    }
}

impl Executor {
    /// Begins to follow the log behind the last record that the database has.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn begin_following(&mut self) -> Result<(), Failure> {
        self.following = in_newest(&self.parts.store, Following::load)?;
        self.journal.set_mark(self.following.lanes.place);
        Ok(())
    }

    /// Executes events from the front of `events` in one transaction, and removes them. After a
    /// failure all of them are left, to be tried again.
    ///
    /// # Errors
    /// This node has no room, or its database is damaged.
    pub fn follow(&mut self, events: &mut VecDeque<LogEvent>) -> Result<Vec<Settled>, Failure> {
        let before = self.parts.catalog.load_full();
        match self.execute_events(events, &before) {
            Ok(mut work) => {
                let (from, to) = (before.level, self.parts.catalog.load().level);
                if from != to {
                    tracing::info!(from, to, "the format level of the database was raised");
                }
                events.drain(..work.events);
                let settled = std::mem::take(&mut work.settled);
                self.committed(work);
                Ok(settled)
            }
            Err(failure) => {
                catalog::publish(&self.parts.catalog, Catalog::clone(&before));
                Err(failure)
            }
        }
    }

    fn execute_events(
        &mut self,
        events: &VecDeque<LogEvent>,
        before: &Arc<Catalog>,
    ) -> Result<Work, Failure> {
        self.journal.begin(self.parts.clock.uuid())?;
        let store = self.parts.store.clone();
        let begun = Instant::now();
        let mut group = Group::begin(&store, before, &mut self.journal, &self.following)?;
        group.keeps_changes(self.parts.keeper.is_some());
        let mut taken = Ok(());
        for event in events {
            let is_long = group.writes() >= WRITES_MAX || begun.elapsed() > TIME_MAX;
            if is_long || group.is_closed() {
                break;
            }
            taken = group.take(event);
            if matches!(taken, Err(Failure::Level(_))) && group.events() > 0 {
                // What stands before that record is executed, and this program stops behind it.
                taken = Ok(());
                break;
            }
            if taken.is_err() {
                break;
            }
        }
        // Records in this node's own log stay there, whether or not the commit succeeds: the next
        // attempt must not add them again.
        self.following.relayed = group.relayed();
        taken?;
        if !group.rehashed().is_empty() {
            self.parts.observer.rehashed(group.rehashed());
        }
        let (work, following) = group.commit(&self.parts.catalog)?;
        self.following = following;
        Ok(work)
    }

    /// Tells everybody of a commit.
    fn committed(&mut self, work: Work) {
        self.journal.set_mark(self.following.lanes.place);
        if work.changed == 0 {
            self.count_churn(COMMIT_CHURN_BYTES + work.bytes);
            return;
        }
        self.parts.tell_accounts(work.version, &work.concerned);
        self.parts.observer.committed();
        if let Some(keeper) = &mut self.parts.keeper {
            for kept in &work.kept {
                let begun = keeper.keep(kept.position, &kept.content, &kept.outcome);
                if let Some(file) = begun {
                    self.journal.accompany(file);
                }
            }
        }
        for audited in work.audited {
            self.keep_audited(Some(audited));
        }
        let now_us = self.parts.clock.now_us();
        let changed = u64::from(work.changed);
        self.parts.commits.committed(changed, work.version, now_us);
        self.expiry.note(work.ending);
        self.reclaiming.note(work.left_work, work.reclaimed);
        if work.reclaimed > 0 {
            self.reclaimed();
        }
        let churn = changed * WRITE_CHURN_BYTES
            + u64::from(work.reclaimed) * RECLAIMED_CHURN_BYTES
            + COMMIT_CHURN_BYTES;
        self.count_churn(churn + work.bytes);
        self.parts
            .compaction
            .appended(work.bytes, self.journal.end());
    }

    /// Place of the last record in this node's own log.
    #[cfg(test)]
    pub fn logged_place(&self) -> u64 {
        self.following.relayed
    }

    /// Position of the last record that changed the configuration.
    pub fn configuration(&self) -> u64 {
        self.following.lanes.configuration
    }

    /// How far this node is, to be told to the log.
    pub fn standing(&self) -> Standing {
        let following = &self.following;
        Standing {
            place: following.lanes.place,
            synced_place: self.journal.synced_mark(),
            position: following.position,
            digest: following.digest,
            time_us: following.time_us,
            level: self.parts.catalog.load().level,
        }
    }
}
