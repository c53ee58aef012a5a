//! The queue of submissions before the writer.

use super::Attempts;
use crate::clients::{Submission, Writes};
use state::write::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Submissions and attempts that wait for the writer.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    wake: Condvar,
    /// Results of password checks. To lock both, lock `state` first.
    attempts: Mutex<Attempts>,
}

struct State<T> {
    waiting: Vec<Submission<T>>,
    stopping: bool,
    /// Whether the writer sleeps, so that the next submission must wake it.
    sleeping: bool,
    /// Whether the writer was woken for work other than writes.
    called: bool,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        let state = State {
            waiting: Vec::new(),
            stopping: false,
            sleeping: false,
            called: false,
        };
        Queue {
            state: Mutex::new(state),
            wake: Condvar::new(),
            attempts: Mutex::default(),
        }
    }
}

impl<T> Queue<T> {
    pub fn submit(&self, submission: Submission<T>) {
        let mut state = self.lock();
        state.waiting.push(submission);
        self.wake_sleeping(&mut state);
    }

    /// Number of waiting submissions.
    pub fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Wakes the writer because attempts were added.
    pub fn wake(&self) {
        let mut state = self.lock();
        self.wake_sleeping(&mut state);
    }

    /// Wakes the writer for work other than writes.
    pub fn call(&self) {
        let mut state = self.lock();
        state.called = true;
        self.wake_sleeping(&mut state);
    }

    /// Ends the writer when no submission waits.
    pub fn stop(&self) {
        self.lock().stopping = true;
        self.wake.notify_one();
    }

    pub fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all waiting writes. Returns an empty list at once if `work_left`, and after `due_in`;
    /// `None` when the thread is to end.
    pub fn take(&self, work_left: bool, due_in: Option<Duration>) -> Option<Vec<Submission<T>>> {
        let mut state = self.lock();
        loop {
            let mut attempts = self.attempts();
            if !state.waiting.is_empty() || attempts.wait() {
                let mut group = std::mem::take(&mut state.waiting);
                if attempts.wait() {
                    group.extend(attempts.order().map(|write| Submission {
                        writes: Writes::One(write),
                        client: 0,
                        ticket: None,
                    }));
                }
                return Some(group);
            }
            drop(attempts);
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
            if timed_out && state.waiting.is_empty() && !self.attempts().wait() {
                return Some(Vec::new());
            }
        }
    }

    /// Waits until submissions or attempts wait; returns `false` when the queue was stopped and
    /// none do.
    pub fn wait(&self) -> bool {
        let mut state = self.lock();
        loop {
            if !state.waiting.is_empty() || self.attempts().wait() {
                return true;
            }
            if state.stopping {
                return false;
            }
            state.sleeping = true;
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.sleeping = false;
        }
    }

    /// Waits until the waiting writes have `bytes` bytes, or the time is over.
    pub fn collect(&self, bytes: usize, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.lock();
        loop {
            let writes = state.waiting.iter().flat_map(|it| it.writes.all());
            if state.stopping || writes.map(Write::bytes).sum::<usize>() >= bytes {
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return;
            }
            let woken = self.wake.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Puts submissions back before all others.
    pub fn put_back(&self, mut group: Vec<Submission<T>>) {
        let mut state = self.lock();
        group.append(&mut state.waiting);
        state.waiting = group;
        self.wake_sleeping(&mut state);
    }

    /// Notes that the attempts taken are stored in snapshots from this version on, or are lost.
    pub fn settle_attempts(&self, version: u64) {
        self.attempts().settle(version);
        self.wake();
    }

    fn wake_sleeping(&self, state: &mut State<T>) {
        if state.sleeping {
            state.sleeping = false;
            self.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
