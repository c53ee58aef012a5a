//! The writer thread: takes all waiting writes, gives them a place in the order, executes them in
//! one transaction while the log is written to the disk, commits, and then answers.
//!
//! Invariants:
//! - a result is sent after its write is durable in the log and committed;
//! - a record stays in the log exactly if its transaction was committed, or changed nothing;
//! - a refused write changes nothing and does not affect other writes: it is refused before it
//!   changes the store, or undone with its unit;
//! - no write is ordered whose attribute types were removed or redefined since it was resolved;
//! - a write to the configuration is executed alone, so that it can be undone if the resulting
//!   configuration is unusable; so is a no-op write.

mod answer;
mod building;
mod compaction;
mod notes;
mod outdated;
mod readers;
mod reclaim;
mod rehearsal;

use crate::bundle::{Bundle, Submission};
use crate::changes::{Keeper, Outcome};
use crate::clock::Clock;
use crate::commit::CommitLog;
use crate::compact::Compaction;
use crate::expiry::Schedule;
use crate::failure::failure_result;
use crate::feed::Feed;
use crate::flow::Mailboxes;
use crate::monitor::Monitor;
use answer::answer;
use arc_swap::ArcSwap;
pub(crate) use notes::Notes;
use protocol::control::Position;
pub(crate) use readers::ReaderWatch;
pub(crate) use reclaim::Reclaiming;
use state::apply::{Occasion, apply};
use state::catalog::{self, Catalog};
use state::execute::Done;
use state::record;
use state::stop::Failure;
use state::write::Record;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Journal, SliceLimits, Snapshot, Store};

/// Maximum number of writes in one transaction: a commit of more takes noticeable time.
const GROUP_MAX: usize = 8_192;
/// Work on an index in one slice while no write waits; a write that arrives waits for its end.
const INDEX_SLICE: SliceLimits = SliceLimits {
    entries: 1_000,
    time: Duration::from_millis(20),
};
/// Work on an index in one slice between two groups of writes, which wait for it: the build must
/// progress under any load.
const INDEX_SLICE_BETWEEN: SliceLimits = SliceLimits {
    entries: 100,
    time: Duration::from_millis(5),
};
/// Minimum number of writes for writing the log in another thread while they are executed.
const AHEAD_MIN: usize = 8;
/// Bytes that a write adds to the next checkpoint: a page for the entry, the leaf that leads to it,
/// and a share of the branch pages above.
const WRITE_CHURN_BYTES: u64 = 12 << 10;
/// Bytes that removing an entry of a deleted subtree adds to the next checkpoint: its leaf, that of
/// its name, and a leaf for each index key, some shared with other entries of the slice.
const RECLAIMED_CHURN_BYTES: u64 = 24 << 10;
/// Bytes that each commit adds besides: root pages, the state row, LMDB's list of free pages.
const COMMIT_CHURN_BYTES: u64 = 64 << 10;

/// Handle of the writer thread.
pub(crate) struct Writer {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    /// Results of password checks. To lock both, lock `state` first.
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Submission>,
    stopping: bool,
    /// Whether the writer sleeps, so that the next submission must wake it.
    sleeping: bool,
    /// Whether the writer is wanted for something other than writes.
    called: bool,
}

/// State of the writer thread.
pub(crate) struct Desk {
    pub store: Store,
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<dyn Clock>,
    pub log: Box<dyn CommitLog>,
    pub feed: Arc<Feed>,
    pub journal: Journal,
    /// Buffer for the encoded record.
    pub encoded: Vec<u8>,
    /// Writer of kept changes; `None` if changes are not kept.
    pub keeper: Option<Keeper>,
    /// Ends of dynamic entries.
    pub expiry: Schedule,
    /// Progress of removing entries of deleted subtrees.
    pub reclaiming: Reclaiming,
    /// Watch over readers that hold old states.
    pub readers: ReaderWatch,
    /// Identifier of the order in positions.
    pub name: [u8; 16],
    /// Metrics of commits and index builds.
    pub monitor: Arc<Monitor>,
    /// State of a compaction, if one is under way.
    pub compaction: Arc<Compaction>,
    /// Mailboxes of the serving threads.
    pub mailboxes: Arc<Mailboxes>,
}

impl Writer {
    pub fn start(desk: Desk) -> std::io::Result<Writer> {
        let queue = Arc::new(Queue::default());
        let own = Arc::clone(&queue);
        let builder = std::thread::Builder::new().name("writer".to_owned());
        let thread = builder.spawn(move || desk.run(&own))?;
        Ok(Writer {
            queue,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Queues a submission.
    pub fn submit(&self, submission: Submission) {
        let mut state = self
            .queue
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting.push(submission);
        if state.sleeping {
            state.sleeping = false;
            self.queue.wake.notify_one();
        }
    }

    /// Results of password checks that may not be in the store yet. Call [`Writer::wake`] after
    /// adding to them.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.queue.notes()
    }

    /// Wakes the writer because results of password checks were added.
    pub fn wake(&self) {
        let state = self.queue.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.sleeping {
            state.sleeping = false;
            self.queue.wake.notify_one();
        }
    }

    /// Wakes the writer for something other than writes.
    pub fn call(&self) {
        self.queue.call();
    }

    /// Number of waiting submissions.
    pub fn waiting(&self) -> usize {
        self.queue
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .waiting
            .len()
    }

    /// Ends the thread after executing and answering everything that waits.
    pub fn stop(&self) {
        self.queue
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stopping = true;
        self.queue.wake.notify_one();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the writer thread panicked");
        }
    }
}

impl Queue {
    /// Takes everything that waits. Returns nothing at once if `work_left`, and after `due_in`;
    /// `None` when the thread is to end.
    fn take(&self, work_left: bool, due_in: Option<Duration>) -> Option<Vec<Submission>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut notes = self.notes();
            if !state.waiting.is_empty() || !notes.is_empty() {
                let mut group = std::mem::take(&mut state.waiting);
                group.extend(notes.order());
                return Some(group);
            }
            drop(notes);
            if state.stopping {
                return None;
            }
            if std::mem::take(&mut state.called) || work_left {
                return Some(Vec::new());
            }
            state.sleeping = true;
            let timed_out;
            (state, timed_out) = match due_in {
                Some(due_in) => {
                    let woken = self.wake.wait_timeout(state, due_in);
                    let (state, result) = woken.unwrap_or_else(PoisonError::into_inner);
                    (state, result.timed_out())
                }
                None => {
                    let woken = self.wake.wait(state);
                    (woken.unwrap_or_else(PoisonError::into_inner), false)
                }
            };
            state.sleeping = false;
            if timed_out && state.waiting.is_empty() && self.notes().is_empty() {
                return Some(Vec::new());
            }
        }
    }

    fn call(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.called = true;
        if state.sleeping {
            state.sleeping = false;
            self.wake.notify_one();
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    fn run(mut self, queue: &Arc<Queue>) {
        let mut building = self.catalog.load().indexing;
        self.load_expiry();
        self.load_reclaiming();
        while let Some(group) = queue.take(building || self.reclaiming.is_due(), self.due_in()) {
            building |= self.compact(queue);
            self.remove_expired();
            // Reclaiming has its turn, whether or not writes wait.
            self.reclaim_some(!group.is_empty());
            if group.is_empty() {
                self.keep_up();
                building = building && self.build_indexes(INDEX_SLICE);
                continue;
            }
            let mut rest = group.as_slice();
            while !rest.is_empty() {
                let count = self.next_group(rest);
                let (now, later) = rest.split_at(count);
                self.compaction.keep_pace();
                self.write_current(now);
                rest = later;
            }
            self.settle_notes(queue);
            building = self.catalog.load().indexing && self.build_indexes(INDEX_SLICE_BETWEEN);
            self.reclaiming.try_again();
        }
        self.end_compaction();
        if let Err(error) = self.journal.seal() {
            tracing::error!(%error, "the next start executes the log again");
        }
    }

    /// Drops results of password checks that are in the store now, or could not be stored.
    fn settle_notes(&self, queue: &Queue) {
        if !queue.notes().are_ordered() {
            return;
        }
        let version = in_newest(&self.store, |snapshot| Ok(snapshot.version()));
        queue.notes().settle(version.unwrap_or(0));
    }

    /// Number of waiting submissions that go into the next transaction.
    fn next_group(&self, waiting: &[Submission]) -> usize {
        let catalog = self.catalog.load();
        let alone = |it: &Submission| {
            let mut writes = it.bundle.writes().iter();
            writes.any(|it| it.name().is_within(&catalog.config) || it.is_rehearsal())
        };
        let (mut count, mut writes) = (0, 0);
        for submission in waiting {
            if alone(submission) {
                return count.max(1);
            }
            writes += submission.bundle.writes().len();
            if count > 0 && writes > GROUP_MAX {
                break;
            }
            count += 1;
        }
        count
    }

    /// Orders, executes, commits and answers one group.
    fn write(&mut self, group: &[Submission]) {
        if let [only] = group
            && let Bundle::One(write) = &only.bundle
            && write.is_rehearsal()
        {
            let tried = self.rehearse(write);
            let done = tried.unwrap_or_else(|failure| failure_result(&failure).into());
            answer(group, std::iter::once(done), None);
            return;
        }
        match self.perform(group) {
            Ok((results, position)) => {
                let log = self.name;
                let at = Some(Position { log, position });
                answer(group, results.into_iter(), at);
            }
            // One write met damage; the others are executed separately.
            Err(Failure::Store(
                store::Error::Corrupt { .. } | store::Error::DamagedEntry { .. },
            )) if group.len() > 1 => {
                for one in group.chunks(1) {
                    self.write(one);
                }
            }
            Err(failure) => {
                let result = failure_result(&failure).into();
                answer(group, std::iter::repeat(result), None);
            }
        }
    }

    /// Commits one group; a failure leaves everything unchanged. If there is no room, first makes a
    /// checkpoint, which frees pinned pages, and cancels a compaction; then tries once more,
    /// because room may have become free.
    fn perform(&mut self, group: &[Submission]) -> Result<Executed, Failure> {
        match self.attempt(group) {
            Err(Failure::Store(store::Error::Full)) if self.can_make_room() => {
                self.end_compaction();
                self.journal.checkpoint()?;
                self.attempt(group)
            }
            Err(Failure::Store(error)) if error.is_half_a_write() => match self.attempt(group) {
                Err(Failure::Store(store::Error::Broken)) => Err(error.into()),
                done => done,
            },
            done => done,
        }
    }

    fn can_make_room(&self) -> bool {
        self.journal.is_behind() || self.compaction.is_under_way()
    }

    /// Orders, executes and commits one group; a failure leaves everything unchanged.
    fn attempt(&mut self, group: &[Submission]) -> Result<Executed, Failure> {
        let before = self.catalog.load_full();
        self.journal.begin(self.clock.uuid())?;
        let units = group.iter().flat_map(|it| it.bundle.units()).collect();
        let record = self.log.append(units, self.clock.now_us())?;
        let done = self.execute(&record, &before);
        if done.is_err() {
            catalog::publish(&self.catalog, Catalog::clone(&before));
            self.log.forget(record.position);
        }
        done
    }

    /// Executes a record in one transaction, makes it durable and commits it.
    fn execute(&mut self, record: &Record<'_>, before: &Arc<Catalog>) -> Result<Executed, Failure> {
        let mut batch = self.store.begin(&before.indexes)?;
        let version = batch.snapshot().version();
        let digest = batch.snapshot().digest()?;
        let reached = batch.snapshot().position()?;
        self.encoded.clear();
        record::encode(record, digest, &before.schema, &mut self.encoded);
        // A record whose configuration turns out to be unusable must not be in the log.
        let configures = record
            .writes()
            .any(|it| it.name().is_within(&before.config));
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
            self.log.forget(record.position);
            return Ok((applied.results, reached));
        }
        if !ahead {
            self.journal.append(&self.encoded, false)?;
        }
        let outcome = self.keeper.as_ref();
        let outcome = outcome.map(|_| Outcome::of(record, &applied, self.encoded.len()));
        self.journal.sync()?;
        // Before the commit, so that no reader meets an attribute number its catalog cannot name.
        if let Some(next) = applied.catalog {
            catalog::publish(&self.catalog, next);
        }
        if let Err(error) = batch.commit() {
            self.take_back(true)?;
            return Err(error.into());
        }
        if applied.accounts {
            // Plus one: the commit has one of both versions, and a connection judged in an older
            // state must be judged again.
            self.feed.concern_accounts(version + 1);
        }
        self.feed.announce();
        self.keep(record, outcome);
        let commits = &self.monitor.commits;
        commits.committed(u64::from(applied.changed), version, self.clock.now_us());
        self.expiry.note(applied.ending);
        self.reclaiming.note(applied.left_work, applied.reclaimed);
        let churn = u64::from(applied.changed) * WRITE_CHURN_BYTES
            + u64::from(applied.reclaimed) * RECLAIMED_CHURN_BYTES
            + COMMIT_CHURN_BYTES;
        let bytes = self.encoded.len() as u64;
        self.committed(churn + bytes);
        self.compaction.appended(bytes, self.journal.end());
        Ok((applied.results, record.position))
    }

    /// Adds the committed record to the kept changes.
    fn keep(&mut self, record: &Record<'_>, outcome: Option<Outcome>) {
        let (Some(keeper), Some(outcome)) = (&mut self.keeper, outcome) else {
            return;
        };
        let begun = keeper.keep(record.position, &self.encoded, &outcome);
        if let Some(file) = begun {
            self.journal.accompany(file);
        }
    }

    /// Time until the writer has work of its own; `None` if only submissions can bring work.
    fn due_in(&self) -> Option<Duration> {
        let both = [self.journal.due_in(), self.expiry.wait(&*self.clock)];
        both.into_iter().flatten().min()
    }

    /// Loads the schedule of dynamic entries, and gives an end to those without one.
    fn load_expiry(&mut self) {
        let now_us = self.clock.now_us();
        let catalog = self.catalog.load_full();
        let found = in_newest(&self.store, |snapshot| {
            self.expiry.load(snapshot, &catalog, now_us)
        });
        match found {
            Ok(due) if due.group.is_empty() => {}
            Ok(due) => self.write(&due.group),
            Err(failure) => tracing::error!(%failure, "dynamic entries could not be found"),
        }
    }

    /// Removes dynamic entries past their end, by ordinary writes.
    fn remove_expired(&mut self) {
        while self.expiry.wait(&*self.clock) == Some(Duration::ZERO) {
            let now_us = self.clock.now_us();
            let catalog = self.catalog.load_full();
            let found = in_newest(&self.store, |snapshot| {
                self.expiry.due(snapshot, &catalog, now_us)
            });
            match found {
                Ok(due) => {
                    if !due.group.is_empty() {
                        self.write(&due.group);
                    }
                    self.expiry.settle(&due, now_us);
                }
                Err(failure) => {
                    tracing::error!(%failure, "dynamic entries could not be removed");
                    return;
                }
            }
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
    fn committed(&mut self, churn: u64) {
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
        let commits = &self.monitor.commits;
        commits.logged(self.journal.state(), self.clock.now_us());
    }
}

/// The results, and the position of the order with them.
type Executed = (Vec<Done>, u64);

/// Calls `look` with a snapshot of the newest state.
fn in_newest<T>(
    store: &Store,
    look: impl FnOnce(&Snapshot<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut reader = store.reader()?;
    look(&reader.snapshot()?)
}
