//! Executes writes: gives them a place in the order, executes them in one transaction while the log
//! is written to the disk, and commits. Between writes it does the node's own work: removes expired
//! dynamic entries and entries of deleted subtrees, builds indexes, and compacts the database.
//!
//! Invariants:
//! - a result is returned after its write is durable in the log and committed;
//! - a record stays in the log exactly if its transaction was committed, or changed nothing;
//! - a refused write changes nothing and does not affect other writes: it is refused before it
//!   changes the store, or undone with its unit.

mod auditing;
mod building;
mod compaction;
mod expiry;
mod follow;
mod group;
mod raise;
mod readers;
mod reclaim;
mod rehearsal;

use crate::audit_files::AuditKeeper;
use crate::changes::{Keeper, Outcome};
use crate::clients::Observer;
use crate::clock::Clock;
use crate::commits::Commits;
use crate::compact::Compaction;
use crate::expiry::Schedule;
use crate::failure::failure_result;
use crate::order::Order;
use crate::reclaiming::{Reclaiming, Sizes as ReclaimSizes};
use crate::steward::Steward;
use arc_swap::ArcSwap;
pub(crate) use auditing::AuditPart;
pub(crate) use building::IndexSlices;
pub(crate) use follow::{Fate, Following, Settled};
use policy::seats::Changed;
use protocol::ResultCode;
use readers::ReaderWatch;
pub(crate) use rehearsal::{no_operation, rehearse};
use state::apply::{Occasion, apply};
use state::catalog::{self, Catalog};
use state::concerned::Concerned;
use state::execute::Done;
use state::record;
use state::stop::Failure;
use state::write::{Record, Unit, Write};
use std::sync::Arc;
use std::time::Duration;
use store::{Disk, Journal, Snapshot, Store};

/// Minimum number of writes for writing the log in another thread while they are executed.
const AHEAD_MIN: usize = 8;
/// Bytes that a write adds to the next checkpoint: a page for the entry, the leaf that leads to it,
/// and a share of the branch pages above.
const WRITE_CHURN_BYTES: u64 = 12 << 10;
/// Bytes that removing an entry of a deleted subtree adds to the next checkpoint: its leaf, that of
/// its name, and a leaf for each index key, some shared with other entries of the slice.
const RECLAIMED_CHURN_BYTES: u64 = 24 << 10;
/// Further bytes that each commit adds: root pages, the state row, LMDB's list of free pages.
const COMMIT_CHURN_BYTES: u64 = 64 << 10;

/// Parts of a node that its executor works with.
pub(crate) struct Parts {
    pub store: Store,
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<dyn Clock>,
    pub own: OwnWrites,
    /// The disk that the journal writes to.
    pub disk: Arc<dyn Disk>,
    /// Writer of kept changes; `None` if changes are not kept.
    pub keeper: Option<Keeper>,
    /// The audit.
    pub audit: AuditPart,
    /// Metrics of commits and index builds.
    pub commits: Arc<Commits>,
    /// State of compactions.
    pub compaction: Arc<Compaction>,
    pub observer: Arc<dyn Observer>,
    pub reclaim_sizes: ReclaimSizes,
    pub index_slices: IndexSlices,
    /// Whether the database ends with the process.
    pub is_volatile: bool,
}

/// How the writes that a node makes itself get their place in the order.
pub(crate) enum OwnWrites {
    /// On a node alone: at once, as all writes.
    Ordered(Box<dyn Order>),
    /// In a cluster: some time later, by its log.
    Submitted(Steward),
}

/// The only code of a node that changes its store.
pub(crate) struct Executor {
    pub(crate) parts: Parts,
    journal: Journal,
    /// Buffer for the encoded record.
    encoded: Vec<u8>,
    /// Ends of dynamic entries.
    expiry: Schedule,
    /// Progress of removing entries of deleted subtrees.
    reclaiming: Reclaiming,
    /// Watch over readers that hold old states.
    readers: ReaderWatch,
    /// Whether an index is incomplete.
    building: bool,
    /// How far this node has followed the log of its cluster.
    following: Following,
}

impl OwnWrites {
    /// The order of a node alone.
    fn order(&mut self) -> &mut dyn Order {
        match self {
            OwnWrites::Ordered(order) => &mut **order,
            OwnWrites::Submitted(_) => unreachable!("in a cluster, only its log orders writes"),
        }
    }

    /// Whether this node does the work that one node does for all: it is alone, or the steward.
    fn is_of_steward(&self) -> bool {
        match self {
            OwnWrites::Ordered(_) => true,
            OwnWrites::Submitted(steward) => steward.is_steward(),
        }
    }

    /// Whether a write of the node itself may be made now.
    fn may_submit(&self) -> bool {
        match self {
            OwnWrites::Ordered(_) => true,
            OwnWrites::Submitted(steward) => steward.is_free(),
        }
    }
}

impl Parts {
    /// Tells which accounts a commit concerned that found the store in `version`.
    fn tell_accounts(&self, version: u64, concerned: &Concerned) {
        let limits = concerned.groups && self.catalog.load().limits.depend_on_groups();
        if !limits && !concerned.everybody && concerned.entries.is_empty() {
            return;
        }
        let accounts: Vec<u64> = concerned.entries.iter().map(|it| it.0).collect();
        let changed = Changed {
            accounts: &accounts,
            everybody: concerned.everybody,
            limits,
        };
        // Plus one: the commit has one of both versions, and an account that was checked in an
        // older state must be checked again.
        self.observer.accounts_changed(version + 1, changed);
    }
}

/// Results of a record, and the position of the state after it.
pub(crate) struct Executed {
    /// One result for each unit.
    pub results: Vec<Done>,
    pub position: u64,
}

impl Executor {
    pub fn new(parts: Parts) -> Executor {
        Executor {
            journal: match parts.is_volatile {
                true => Journal::volatile(&parts.store),
                false => Journal::on(&parts.store, Arc::clone(&parts.disk)),
            },
            encoded: Vec::new(),
            expiry: Schedule::default(),
            reclaiming: Reclaiming::new(parts.reclaim_sizes),
            readers: ReaderWatch::default(),
            building: false,
            following: Following::default(),
            parts,
        }
    }

    /// Begins work: raises the format level of a node alone, loads the ends of dynamic entries, and
    /// finds work that an earlier process left.
    pub fn begin(&mut self) {
        self.raise_alone();
        self.audit_alone();
        self.building = self.parts.catalog.load().indexing;
        self.load_expiry();
        self.load_reclaiming();
    }

    /// Whether work is left that needs no submission.
    pub fn has_work(&self) -> bool {
        self.building || (self.reclaiming.is_due() && self.parts.own.may_submit())
    }

    /// Time until work of the executor's own is due; `None` if only submissions can bring work.
    pub fn due_in(&self) -> Option<Duration> {
        let expiry = self.expiry.wait(&*self.parts.clock);
        let audit = self.parts.audit.keeper.as_ref();
        let all = [
            self.journal.due_in(),
            expiry.filter(|_| self.parts.own.may_submit()),
            audit.and_then(AuditKeeper::due_in),
        ];
        all.into_iter().flatten().min()
    }

    /// Does a slice of the executor's own work. `call` wakes the writer; `writes_wait` tells
    /// whether clients wait for the end of the slice.
    pub fn work(&mut self, call: &Arc<dyn Fn() + Send + Sync>, writes_wait: bool) {
        self.building |= self.compact(call);
        self.raise_as_agreed();
        self.audit_as_set();
        self.retry_audit();
        self.remove_expired();
        // Reclaiming gets a turn, whether or not writes wait.
        self.reclaim_some(writes_wait);
        if !writes_wait {
            self.keep_up();
            self.building = self.building && self.build_indexes(self.parts.index_slices.idle);
        }
    }

    /// Does a slice of delayed work after waiting writes were executed.
    pub fn work_after_writes(&mut self) {
        let indexing = self.parts.catalog.load().indexing;
        self.building = indexing && self.build_indexes(self.parts.index_slices.between);
        self.reclaiming.try_again();
    }

    /// Ends all work: cancels a compaction and seals the log, so that the next start need not
    /// execute it again.
    pub fn end(&mut self) {
        self.end_compaction();
        let audit = self.parts.audit.keeper.as_mut();
        if let Some(file) = audit.and_then(AuditKeeper::finish) {
            self.journal.accompany(file);
        }
        if let Err(error) = self.journal.seal() {
            tracing::error!(%error, "the next start executes the log again");
        }
    }

    /// Store version of the newest state; 0 if it cannot be read.
    pub fn version(&self) -> u64 {
        let version = in_newest(&self.parts.store, |snapshot| Ok(snapshot.version()));
        version.unwrap_or(0)
    }

    /// Orders, executes and commits the units as one record; a failure leaves the store unchanged.
    /// If there is no room, first makes a checkpoint, which frees pinned pages, and cancels a
    /// compaction; then tries once more, because room may have become free.
    ///
    /// # Errors
    /// The log or the store failed.
    pub fn perform(&mut self, units: &[Unit<'_>]) -> Result<Executed, Failure> {
        match self.attempt(units) {
            Err(Failure::Store(store::Error::Full)) if self.can_make_room() => {
                self.end_compaction();
                self.checkpoint()?;
                self.attempt(units)
            }
            Err(Failure::Store(error)) if error.is_half_a_write() => match self.attempt(units) {
                Err(Failure::Store(store::Error::Broken)) => Err(error.into()),
                done => done,
            },
            done => done,
        }
    }

    /// Executes the node's own writes, each as a unit. Returns for each whether it succeeded;
    /// failures are logged.
    ///
    /// In a cluster the results are not known yet: no write counts as successful.
    fn perform_own(&mut self, writes: &[Write]) -> Vec<bool> {
        if let OwnWrites::Submitted(steward) = &self.parts.own {
            steward.submit(writes.to_vec());
            return vec![false; writes.len()];
        }
        let units: Vec<Unit<'_>> = writes.chunks(1).collect();
        match self.perform(&units) {
            Ok(executed) => {
                let codes = executed.results.iter().map(|it| it.outcome.result.code);
                codes.map(|it| it == ResultCode::SUCCESS).collect()
            }
            Err(failure) if is_damage(&failure) && writes.len() > 1 => {
                let each = writes.chunks(1);
                each.flat_map(|it| self.perform_own(it)).collect()
            }
            Err(failure) => {
                failure_result(&failure);
                vec![false; writes.len()]
            }
        }
    }

    /// Makes a checkpoint of the committed state and returns when the checkpoint is in force.
    ///
    /// # Errors
    /// The errors of [`Journal::checkpoint`].
    pub fn checkpoint(&mut self) -> Result<(), Failure> {
        Ok(self.journal.checkpoint()?)
    }

    fn can_make_room(&self) -> bool {
        self.journal.is_behind() || self.parts.compaction.is_under_way()
    }

    /// Orders, executes and commits the units once.
    fn attempt(&mut self, units: &[Unit<'_>]) -> Result<Executed, Failure> {
        if let Some(keeper) = &mut self.parts.audit.keeper {
            keeper.require()?;
        }
        let before = self.parts.catalog.load_full();
        self.journal.begin(self.parts.clock.uuid())?;
        let now_us = self.parts.clock.now_us();
        let record = self.parts.own.order().append(units.to_vec(), now_us)?;
        let done = self.execute(&record, &before);
        if done.is_err() {
            catalog::publish(&self.parts.catalog, Catalog::clone(&before));
            self.parts.own.order().forget(record.position);
        }
        done
    }

    /// Executes a record in one transaction, makes it durable and commits it.
    fn execute(&mut self, record: &Record<'_>, before: &Arc<Catalog>) -> Result<Executed, Failure> {
        let mut batch = self.parts.store.begin(&before.indexes)?;
        let version = batch.snapshot().version();
        let digest = batch.snapshot().digest()?;
        let reached = batch.snapshot().position()?;
        self.encoded.clear();
        record::encode(record, digest, &before.schema, &mut self.encoded);
        // A record that makes the configuration unusable must not be in the log.
        let configures = record.writes().any(|it| it.configures(&before.config));
        let ahead = record.writes().count() >= AHEAD_MIN && !configures;
        if ahead {
            self.journal.append(&self.encoded, true)?;
        }
        let applied = match apply(&mut batch, before, record, Occasion::First) {
            Ok(applied) => applied,
            Err(failure) => {
                drop(batch);
                self.take_back(ahead)?;
                return Err(failure);
            }
        };
        if applied.changed == 0 {
            // Every write was refused, so there is nothing to log.
            drop(batch);
            if ahead {
                self.journal.rewind()?;
            }
            self.parts.own.order().forget(record.position);
            return Ok(Executed {
                results: applied.results,
                position: reached,
            });
        }
        if !ahead {
            self.journal.append(&self.encoded, false)?;
        }
        let outcome = self.parts.keeper.as_ref();
        let outcome = outcome.map(|_| Outcome::of(record, &applied, self.encoded.len()));
        self.journal.sync()?;
        // Before the commit, so that no reader meets an attribute number its catalog cannot name.
        if let Some(next) = applied.catalog {
            catalog::publish(&self.parts.catalog, next);
        }
        if !applied.rehashed.is_empty() {
            self.parts.observer.rehashed(&applied.rehashed);
        }
        if let Err(error) = batch.commit() {
            self.take_back(true)?;
            return Err(error.into());
        }
        self.parts.tell_accounts(version, &applied.concerned);
        self.parts.observer.committed();
        self.keep(record, outcome);
        self.keep_audited(applied.audited);
        let now_us = self.parts.clock.now_us();
        let commits = &self.parts.commits;
        commits.committed(u64::from(applied.changed), version, now_us);
        self.expiry.note(applied.ending);
        self.reclaiming.note(applied.left_work, applied.reclaimed);
        let churn = u64::from(applied.changed) * WRITE_CHURN_BYTES
            + u64::from(applied.reclaimed) * RECLAIMED_CHURN_BYTES
            + COMMIT_CHURN_BYTES;
        let bytes = self.encoded.len() as u64;
        self.count_churn(churn + bytes);
        self.parts.compaction.appended(bytes, self.journal.end());
        Ok(Executed {
            results: applied.results,
            position: record.position,
        })
    }

    /// Adds the committed record to the kept changes.
    fn keep(&mut self, record: &Record<'_>, outcome: Option<Outcome>) {
        let (Some(keeper), Some(outcome)) = (&mut self.parts.keeper, outcome) else {
            return;
        };
        let begun = keeper.keep(record.position, &self.encoded, &outcome);
        if let Some(file) = begun {
            self.journal.accompany(file);
        }
    }

    /// Retracts the last record from the log if it was appended.
    fn take_back(&mut self, appended: bool) -> Result<(), Failure> {
        match appended {
            true => Ok(self.journal.retract()?),
            false => Ok(()),
        }
    }

    /// Counts in the journal the bytes that a commit added. If that fails, the commit stays durable
    /// and later writes are refused.
    fn count_churn(&mut self, churn: u64) {
        if let Err(error) = self.journal.committed(churn) {
            tracing::error!(%error, "writes are refused from now on; restart the server");
        }
        self.tell_of_log();
        self.look_after_readers();
    }

    fn keep_up(&mut self) {
        if let Err(error) = self.journal.keep_up() {
            tracing::error!(%error, "writes are refused from now on; restart the server");
        }
        self.tell_of_log();
    }

    fn tell_of_log(&self) {
        let now_us = self.parts.clock.now_us();
        self.parts.commits.logged(self.journal.state(), now_us);
    }
}

/// Whether a damaged entry or row made a transaction fail; other writes may not read it.
pub(crate) fn is_damage(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Store(store::Error::Corrupt { .. } | store::Error::DamagedEntry { .. })
    )
}

/// Calls `look` with a snapshot of the newest state.
fn in_newest<T>(
    store: &Store,
    look: impl FnOnce(&Snapshot<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut reader = store.reader()?;
    look(&reader.snapshot()?)
}
