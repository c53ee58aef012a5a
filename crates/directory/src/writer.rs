//! The one writer: takes everything that waits, gives it a place in the order, executes it in one
//! transaction, commits with one sync, and only then answers.
//!
//! Invariants:
//! - no result leaves before the commit that contains its write;
//! - a refused write changes nothing and costs its neighbours nothing: it is refused before it
//!   touches the store;
//! - a group that touches the configuration runs alone, so that it can be taken back whole when
//!   the configuration it makes cannot be used.

use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::commit::{CommitLog, Record};
use crate::execute::{Execution, Noticed};
use crate::flow::{Completion, Finished, Mailbox, Outcome};
use crate::stop::{Failure, Refusal, Stop, failure_result};
use crate::write::Submission;
use arc_swap::ArcSwap;
use protocol::{LdapResult, ResultCode};
use schema::Schema;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use store::{IndexSet, Store};

/// Writes in one transaction: beyond this a commit takes long enough to be felt.
const GROUP_MAX: usize = 8_192;
/// Entries indexed between two groups while an index is being built.
const INDEX_SLICE: usize = 1_000;

/// The handle to the writer thread.
pub(crate) struct Writer {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Submission>,
    stopping: bool,
    /// The writer waits: whoever brings the next write has to wake it.
    sleeping: bool,
}

/// What the writer thread works with.
pub(crate) struct Desk {
    pub store: Store,
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<dyn Clock>,
    pub log: Box<dyn CommitLog>,
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
    /// Everything that waits; empty at once when `work_left`, `None` when it is time to end.
    fn take(&self, work_left: bool) -> Option<Vec<Submission>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if !state.waiting.is_empty() {
                return Some(std::mem::take(&mut state.waiting));
            }
            if state.stopping {
                return None;
            }
            if work_left {
                return Some(Vec::new());
            }
            state.sleeping = true;
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.sleeping = false;
        }
    }
}

impl Desk {
    fn run(mut self, queue: &Queue) {
        let mut building = self.has_unfinished_index();
        while let Some(group) = queue.take(building) {
            if group.is_empty() {
                building = self.build_indexes();
                continue;
            }
            let mut rest = group.as_slice();
            while !rest.is_empty() {
                let count = self.next_group(rest);
                let (now, later) = rest.split_at(count);
                self.write(now);
                rest = later;
            }
            building = self.has_unfinished_index();
        }
    }

    /// How many of the waiting writes go into the next transaction.
    fn next_group(&self, waiting: &[Submission]) -> usize {
        let catalog = self.catalog.load();
        let touches = |it: &Submission| it.write.name.is_within(&catalog.config);
        if waiting.first().is_some_and(touches) {
            return 1;
        }
        let plain = waiting.iter().take(GROUP_MAX).position(touches);
        plain.unwrap_or_else(|| waiting.len().min(GROUP_MAX))
    }

    /// Orders, executes, commits and answers one group.
    fn write(&mut self, group: &[Submission]) {
        let before = self.catalog.load_full();
        let writes = group.iter().map(|it| &it.write).collect();
        let results = match self.log.append(writes, self.clock.now_us()) {
            Err(failure) => Err(failure),
            Ok(record) => {
                let position = record.position;
                let done = self.execute(&record, &before);
                if done.is_err() {
                    self.catalog.store(Arc::clone(&before));
                    self.log.forget(position);
                }
                done
            }
        };
        match results {
            Ok(results) => answer(group, results.into_iter()),
            Err(failure) => {
                let result = failure_result(&failure);
                answer(group, std::iter::repeat_n(result.into(), group.len()));
            }
        }
    }

    /// Executes a record in one transaction and commits it.
    fn execute(
        &mut self,
        record: &Record<'_>,
        before: &Arc<Catalog>,
    ) -> Result<Vec<Outcome>, Failure> {
        let mut batch = self.store.begin(&before.indexes)?;
        let mut results = Vec::with_capacity(record.writes.len());
        let mut execution = Execution::new(&mut batch, before, record);
        for write in &record.writes {
            results.push(match execution.execute(write) {
                Ok(controls) => Outcome {
                    result: LdapResult::success(),
                    controls,
                },
                Err(Stop::Refused(refusal)) => refusal.into_result().into(),
                Err(Stop::Failed(failure)) => return Err(failure),
            });
        }
        let noticed = execution.finish()?;
        if noticed.changed == 0 {
            // Everything was refused: there is nothing to make durable.
            drop(batch);
            self.log.forget(record.position);
            return Ok(results);
        }
        match self.publish(&mut batch, before, noticed)? {
            Ok(()) => {}
            Err(refusal) => {
                drop(batch);
                self.log.forget(record.position);
                self.catalog.store(Arc::clone(before));
                return Ok(vec![refusal.into_result().into(); record.writes.len()]);
            }
        }
        batch.commit()?;
        Ok(results)
    }

    /// Publishes what readers of the new state must know, before it becomes visible to them.
    /// Refuses a configuration that cannot be used.
    fn publish(
        &self,
        batch: &mut store::Batch<'_>,
        before: &Arc<Catalog>,
        noticed: Noticed,
    ) -> Result<Result<(), Refusal>, Failure> {
        if noticed.configuration {
            match reconfigure(batch, &noticed.schema) {
                Ok(mut next) => {
                    next.limits = before.limits;
                    next.least_version = before.least_version;
                    self.catalog.store(Arc::new(next));
                }
                Err(Failure::Configuration(text)) => {
                    return Ok(Err(Refusal::new(ResultCode::CONSTRAINT_VIOLATION, text)));
                }
                Err(failure) => return Err(failure),
            }
        } else if noticed.new_knowledge {
            let mut next = Catalog::clone(before);
            next.indexes.schema = noticed.schema.clone();
            next.schema = noticed.schema;
            next.has_aliases |= noticed.aliases;
            next.has_referrals |= noticed.referrals;
            next.has_dynamic_groups |= noticed.dynamic_groups;
            next.has_collective |= noticed.collective;
            self.catalog.store(Arc::new(next));
        }
        Ok(Ok(()))
    }

    fn has_unfinished_index(&self) -> bool {
        self.catalog
            .load()
            .indexes
            .definitions
            .iter()
            .any(|it| !it.ready)
    }

    /// Indexes one slice of entries. Returns whether there is more to do.
    fn build_indexes(&mut self) -> bool {
        let done = self.try_build_indexes();
        match done {
            Ok(more) => more,
            Err(failure) => {
                tracing::error!(%failure, "building an index stopped until the next write");
                false
            }
        }
    }

    fn try_build_indexes(&mut self) -> Result<bool, Failure> {
        let before = self.catalog.load_full();
        let mut batch = self.store.begin(&before.indexes)?;
        let progress = batch.build_indexes(INDEX_SLICE)?;
        let states = batch.snapshot().index_states()?;
        batch.commit()?;
        // After the commit: a search must not use an index that its snapshot has not finished. Read
        // back, since a transaction that changed nothing leaves no version of its own.
        let version = self.store.reader()?.snapshot()?.version();
        let mut next = Catalog::clone(&before);
        next.indexes = IndexSet::from_states(before.schema.clone(), &states);
        next.least_version = version;
        self.catalog.store(Arc::new(next));
        Ok(!progress.is_finished())
    }
}

/// Reads the changed configuration and makes the indexes those that it asks for.
fn reconfigure(batch: &mut store::Batch<'_>, schema: &Schema) -> Result<Catalog, Failure> {
    let next = crate::config::load(&batch.snapshot(), schema)?;
    crate::config::apply_indexes(batch, &next)?;
    crate::config::load(&batch.snapshot(), schema)
}

/// Delivers results, one call per mailbox.
fn answer(group: &[Submission], results: impl Iterator<Item = Outcome>) {
    let mut boxes: HashMap<*const (), (Arc<dyn Mailbox>, Vec<Completion>)> = HashMap::new();
    for (submission, outcome) in group.iter().zip(results) {
        let completion = Completion {
            session: submission.session,
            id: submission.id,
            what: Finished::Write {
                kind: submission.kind,
                outcome,
                reply: submission.reply.clone(),
            },
        };
        let key = Arc::as_ptr(&submission.mailbox).cast::<()>();
        boxes
            .entry(key)
            .or_insert_with(|| (Arc::clone(&submission.mailbox), Vec::new()))
            .1
            .push(completion);
    }
    for (mailbox, completions) in boxes.into_values() {
        mailbox.deliver(completions);
    }
}
