//! Events on their way from the reader of the log to the node's executor: bounded by bytes, so that
//! a slow executor slows the reader.

use replica::commit_log::{LogEvent, LogFailure};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Bytes that an event counts besides its payload.
const EVENT_BYTES: usize = 100;

/// The queue.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Told when there are events, a failure or the end.
    came: Condvar,
    /// Told when events were taken.
    taken: Notify,
    bytes_max: usize,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<LogEvent>,
    bytes: usize,
    failure: Option<LogFailure>,
    ended: bool,
}

impl Queue {
    /// An empty queue that holds about `bytes_max` bytes.
    pub(super) fn new(bytes_max: usize) -> Queue {
        Queue {
            waiting: Mutex::default(),
            came: Condvar::new(),
            taken: Notify::new(),
            bytes_max,
        }
    }

    /// Adds an event, however full the queue is.
    pub(super) fn push(&self, event: LogEvent) {
        let mut waiting = self.lock();
        // Of two places without records before them the later says everything.
        if let LogEvent::Reached(_) = event
            && let Some(LogEvent::Reached(_)) = waiting.events.back()
        {
            waiting.events.pop_back();
            waiting.bytes -= EVENT_BYTES;
        }
        waiting.bytes += bytes(&event);
        waiting.events.push_back(event);
        drop(waiting);
        self.came.notify_all();
    }

    /// Waits until the queue has room, and tells whether that took any time.
    pub(super) async fn room(&self) -> bool {
        let mut waited = false;
        loop {
            let taken = self.taken.notified();
            tokio::pin!(taken);
            taken.as_mut().enable();
            if self.lock().bytes < self.bytes_max {
                return waited;
            }
            waited = true;
            taken.await;
        }
    }

    /// Lets all further calls of `next` fail, once the events are taken. Of several failures the
    /// first counts.
    pub(super) fn fail(&self, failure: LogFailure) {
        self.lock().failure.get_or_insert(failure);
        self.came.notify_all();
    }

    /// The failure, `None` while there is none.
    pub(super) fn failure(&self) -> Option<LogFailure> {
        self.lock().failure.clone()
    }

    /// Lets waiting calls of `next` return.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.came.notify_all();
    }

    /// Takes all events, waiting at most for `wait` until there is one.
    ///
    /// # Errors
    /// There are no events left and the log failed.
    pub(super) fn next(&self, wait: Duration) -> Result<Vec<LogEvent>, LogFailure> {
        // A wait that no clock can show is as good as a day.
        let until = Instant::now() + wait.min(Duration::from_secs(86_400));
        let mut waiting = self.lock();
        while waiting.events.is_empty() && waiting.failure.is_none() && !waiting.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Vec::new());
            }
            let woken = self.came.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(failure) = &waiting.failure
            && waiting.events.is_empty()
        {
            return Err(failure.clone());
        }
        waiting.bytes = 0;
        let events = std::mem::take(&mut waiting.events).into();
        drop(waiting);
        self.taken.notify_waiters();
        Ok(events)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that an event takes in the queue, about.
fn bytes(event: &LogEvent) -> usize {
    match event {
        LogEvent::Record(record) => EVENT_BYTES + record.payload.len(),
        LogEvent::Reached(_) => EVENT_BYTES,
        LogEvent::Refused { reason, .. } => EVENT_BYTES + reason.len(),
    }
}
