//! The writer thread: takes all waiting submissions, has them executed in groups, and then answers.
//!
//! Invariants:
//! - no write is ordered whose attribute types were removed or redefined since it was resolved;
//! - a write to the configuration is executed alone, so that it can be undone if the resulting
//!   configuration is unusable; so is a no-op write.

mod attempts;
mod outdated;
mod queue;
mod queues;

use crate::clients::{Clients, Submission, Writes, for_all};
use crate::executor::{Executor, is_damage};
use crate::failure::failure_result;
pub use attempts::Attempts;
pub(crate) use outdated::Outdated;
pub(crate) use queue::Queue;
pub(crate) use queues::Queues;
use state::catalog::Catalog;
use state::write::Unit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Maximum number of writes in one transaction: a commit of more takes noticeable time.
const GROUP_MAX: usize = 8_192;

/// Handle of the threads that order and execute writes.
pub(crate) struct Writer<T> {
    queues: Queues<T>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// State of the writer thread.
pub(crate) struct Thread<C> {
    pub executor: Executor,
    pub clients: C,
}

impl<T: Send + 'static> Writer<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start<C>(executor: Executor, clients: C, queues: Queues<T>) -> std::io::Result<Writer<T>>
    where
        C: Clients<Ticket = T> + 'static,
    {
        let own = Arc::clone(queues.first());
        let desk = Thread { executor, clients };
        let builder = std::thread::Builder::new().name("writer".to_owned());
        let thread = builder.spawn(move || desk.run(&own))?;
        Ok(Writer {
            queues,
            threads: Mutex::new(vec![thread]),
        })
    }

    /// The handle of threads that run already.
    pub fn of(queues: Queues<T>, threads: Vec<JoinHandle<()>>) -> Writer<T> {
        Writer {
            queues,
            threads: Mutex::new(threads),
        }
    }

    /// Queues a submission.
    pub fn submit(&self, submission: Submission<T>) {
        self.queues.of(submission.client).submit(submission);
    }

    /// Attempts on accounts that may not be in the store yet. Call [`Writer::wake`] after adding to
    /// them.
    pub fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.queues.first().attempts()
    }

    /// Wakes the writer because attempts were added.
    pub fn wake(&self) {
        self.queues.first().wake();
    }

    /// The queue of the node's own writes.
    pub fn queue(&self) -> &Arc<Queue<T>> {
        self.queues.first()
    }

    /// Wakes the writer for work other than writes.
    pub fn call(&self) {
        self.queues.first().call();
    }

    /// Number of waiting submissions.
    pub fn waiting(&self) -> usize {
        self.queues.waiting()
    }

    /// Ends the thread after executing and answering all waiting writes.
    pub fn stop(&self) {
        self.queues.stop();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that executes writes panicked");
            }
        }
    }
}

impl<C: Clients> Thread<C> {
    fn run(mut self, queue: &Arc<Queue<C::Ticket>>) {
        let own = Arc::clone(queue);
        let call: Arc<dyn Fn() + Send + Sync> = Arc::new(move || own.call());
        self.executor.begin();
        while let Some(taken) = queue.take(self.executor.has_work(), self.executor.due_in()) {
            self.turn(queue, &call, &taken);
        }
        self.executor.end();
    }

    /// Does a slice of the executor's own work, then executes and answers the writes taken from the
    /// queue. `call` wakes the writer.
    pub fn turn(
        &mut self,
        queue: &Queue<C::Ticket>,
        call: &Arc<dyn Fn() + Send + Sync>,
        taken: &[Submission<C::Ticket>],
    ) {
        self.executor.work(call, !taken.is_empty());
        if taken.is_empty() {
            return;
        }
        let mut rest = taken;
        while !rest.is_empty() {
            let count = next_group(rest, &self.executor.parts.catalog.load());
            let (now, later) = rest.split_at(count);
            self.executor.parts.compaction.keep_pace();
            self.write_current(now);
            rest = later;
        }
        self.settle_attempts(queue);
        self.executor.work_after_writes();
    }

    /// Drops attempts that are in the store now, or could not be stored.
    fn settle_attempts(&self, queue: &Queue<C::Ticket>) {
        if queue.attempts().are_ordered() {
            let version = self.executor.version();
            queue.attempts().settle(version);
        }
    }

    /// Orders, executes, commits and answers one group.
    fn write(&mut self, group: &[Submission<C::Ticket>]) {
        if let [only] = group
            && let Writes::One(write) = &only.writes
            && write.is_rehearsal()
        {
            let tried = self.executor.rehearse(write);
            let done = tried.unwrap_or_else(|failure| failure_result(&failure).into());
            self.clients.answer(group, &mut std::iter::once(done), None);
            return;
        }
        let units: Vec<Unit<'_>> = group.iter().flat_map(|it| it.writes.units()).collect();
        match self.executor.perform(&units) {
            Ok(executed) => {
                let mut results = executed.results.into_iter();
                let position = Some(executed.position);
                self.clients.answer(group, &mut results, position);
            }
            // One write met damage; the others are executed separately.
            Err(failure) if is_damage(&failure) && group.len() > 1 => {
                for one in group.chunks(1) {
                    self.write(one);
                }
            }
            Err(failure) => {
                let result = failure_result(&failure);
                self.clients.answer(group, &mut for_all(result), None);
            }
        }
    }
}

/// Number of waiting submissions that go into the next record.
pub(crate) fn next_group<T>(waiting: &[Submission<T>], catalog: &Catalog) -> usize {
    let alone = |it: &Submission<T>| {
        let mut writes = it.writes.all().iter();
        writes.any(|it| it.configures(&catalog.config) || it.is_rehearsal())
    };
    let (mut count, mut writes) = (0, 0);
    for submission in waiting {
        if alone(submission) {
            return count.max(1);
        }
        writes += submission.writes.all().len();
        if count > 0 && writes > GROUP_MAX {
            break;
        }
        count += 1;
    }
    count
}
