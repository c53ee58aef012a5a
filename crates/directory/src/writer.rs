//! The one writer: takes everything that waits, gives it a place in the order, executes it in one
//! transaction while the log takes it to the disk, commits, and only then answers.
//!
//! Invariants:
//! - no result leaves before its write is durable in the log and the commit that contains it;
//! - a record stays in the log exactly if its transaction was committed, or changed nothing;
//! - a refused write changes nothing and costs its neighbours nothing: it is refused before it
//!   touches the store, or taken back with the transaction it belongs to;
//! - nothing is ordered whose attribute types were taken away or redefined since it was resolved;
//! - a group that touches the configuration runs alone, so that it can be taken back whole when
//!   the configuration it makes cannot be used; so does a write that is only to be tried.

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
use state::stop::{Failure, failure_result};
use state::write::Record;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{Journal, SliceLimits, Snapshot, Store};

/// Writes in one transaction: beyond this a commit takes long enough to be felt.
const GROUP_MAX: usize = 8_192;
/// What is done of an index at a time while nobody waits: what comes meanwhile waits that long.
const INDEX_SLICE: SliceLimits = SliceLimits {
    entries: 1_000,
    time: Duration::from_millis(20),
};
/// The same between two groups: writers wait for it, but the build must go on, however many come.
const INDEX_SLICE_BETWEEN: SliceLimits = SliceLimits {
    entries: 100,
    time: Duration::from_millis(5),
};
/// Writes from which on it pays to have the log written by another thread meanwhile.
const AHEAD_MIN: usize = 8;
/// What a write leaves behind for the next checkpoint: a page for the entry, the leaf that leads to
/// it, and a share of what lies above.
const WRITE_CHURN_BYTES: u64 = 12 << 10;
/// What an entry of a deleted subtree leaves behind when it is removed: its leaf, that of its name,
/// and a leaf for each key in an index, some of which it shares with others of the slice.
const RECLAIMED_CHURN_BYTES: u64 = 24 << 10;
/// What each commit leaves behind besides: roots, the state row, LMDB's list of free pages.
const COMMIT_CHURN_BYTES: u64 = 64 << 10;

/// The handle to the writer thread.
pub(crate) struct Writer {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    /// What came of checking passwords. Locked after `state` by whoever locks both.
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Submission>,
    stopping: bool,
    /// The writer waits: whoever brings the next write has to wake it.
    sleeping: bool,
    /// There is something else to look after.
    called: bool,
}

/// What the writer thread works with.
pub(crate) struct Desk {
    pub store: Store,
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<dyn Clock>,
    pub log: Box<dyn CommitLog>,
    pub feed: Arc<Feed>,
    pub journal: Journal,
    /// Memory for the record being encoded.
    pub encoded: Vec<u8>,
    /// Keeps what the log will forget, if that is wanted.
    pub keeper: Option<Keeper>,
    /// When dynamic entries end.
    pub expiry: Schedule,
    /// Entries of deleted subtrees, still to be removed.
    pub reclaiming: Reclaiming,
    /// When readers of old states were looked at.
    pub readers: ReaderWatch,
    /// What the order is called, in positions.
    pub name: [u8; 16],
    /// Who is told how commits and builds go.
    pub monitor: Arc<Monitor>,
    /// The compaction under way, if there is one.
    pub compaction: Arc<Compaction>,
    /// The serving threads.
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

    /// Adds a write to what waits.
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

    /// What came of checking passwords and may not be in the store. Call [`Writer::wake`] after
    /// adding to it.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.queue.notes()
    }

    /// Notes were added.
    pub fn wake(&self) {
        let state = self.queue.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.sleeping {
            state.sleeping = false;
            self.queue.wake.notify_one();
        }
    }

    /// There is something else to look after than writes.
    pub fn call(&self) {
        self.queue.call();
    }

    /// How many writes wait.
    pub fn waiting(&self) -> usize {
        self.queue
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .waiting
            .len()
    }

    /// Ends the thread after everything that waits has been executed and answered.
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
    /// Everything that waits; empty at once when `work_left` and after `due_in`, `None` when it is
    /// time to end.
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
            // Takes its turn whether or not others come.
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

    /// The attempts that were taken stand in the store, or never will.
    fn settle_notes(&self, queue: &Queue) {
        if !queue.notes().are_ordered() {
            return;
        }
        let version = in_newest(&self.store, |snapshot| Ok(snapshot.version()));
        queue.notes().settle(version.unwrap_or(0));
    }

    /// How many of the waiting writes go into the next transaction.
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
            // One of them met something that should not be; the others are not to suffer from it.
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

    /// Commits one group; on failure nothing has changed. Before it gives up for want of room it
    /// makes a checkpoint, which gives back what was pinned, and gives up a compaction. What was
    /// written by half is tried once more: room may have come back meanwhile.
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

    /// Orders, executes and commits one group; on failure nothing has changed.
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
        // A configuration that turns out to be unusable must not stand in the log.
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
            // Everything was refused: there is nothing to make durable.
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
        // Before the commit: no reader may meet what its catalog cannot name.
        if let Some(next) = applied.catalog {
            catalog::publish(&self.catalog, next);
        }
        if let Err(error) = batch.commit() {
            self.take_back(true)?;
            return Err(error.into());
        }
        if applied.accounts {
            // One more: whichever of both numbers is the commit's, no reader of an older state
            // passes for a judge of the new one.
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

    /// Keeps the record that was just committed.
    fn keep(&mut self, record: &Record<'_>, outcome: Option<Outcome>) {
        let (Some(keeper), Some(outcome)) = (&mut self.keeper, outcome) else {
            return;
        };
        let begun = keeper.keep(record.position, &self.encoded, &outcome);
        if let Some(file) = begun {
            self.journal.accompany(file);
        }
    }

    /// How long there is nothing to do but for what comes.
    fn due_in(&self) -> Option<Duration> {
        let both = [self.journal.due_in(), self.expiry.wait(&*self.clock)];
        both.into_iter().flatten().min()
    }

    /// Learns which dynamic entries there are, and gives those an end that have none.
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

    /// Removes the dynamic entries that have ended, by writes like any other.
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

    /// Takes the record back if it was appended.
    fn take_back(&mut self, appended: bool) -> Result<(), Failure> {
        match appended {
            true => Ok(self.journal.retract()?),
            false => Ok(()),
        }
    }

    /// Lets the journal count what a commit left behind. What was committed stays durable if that
    /// fails; later writes are refused.
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

/// Results, and how far the order had come with them.
type Executed = (Vec<Done>, u64);

/// Looks at the newest state.
fn in_newest<T>(
    store: &Store,
    look: impl FnOnce(&Snapshot<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut reader = store.reader()?;
    look(&reader.snapshot()?)
}
