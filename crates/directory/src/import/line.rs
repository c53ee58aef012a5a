//! Work done out of order, handed over in order.

use crate::stop::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pieces that may be worked ahead of the one handed over next: bounds the memory in flight.
const AHEAD_MAX: u64 = 16;

/// The line between workers and the sequencer.
#[derive(Debug)]
pub(crate) struct Line<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// All pieces before this one are worked.
    worked: u64,
    /// Later ones that are worked too.
    ahead: BTreeSet<u64>,
    ready: BTreeMap<u64, T>,
    /// Pieces handed over.
    taken: u64,
    /// How many pieces there are, once it is known.
    total: Option<u64>,
    /// Nothing more is to be done, for this reason if it is new to the caller.
    stopped: bool,
    failure: Option<Failure>,
}

/// Work has been stopped elsewhere.
#[derive(Debug)]
pub(crate) struct Stopped;

impl<T> Line<T> {
    pub fn new() -> Line<T> {
        Line {
            state: Mutex::new(State {
                worked: 0,
                ahead: BTreeSet::new(),
                ready: BTreeMap::new(),
                taken: 0,
                total: None,
                stopped: false,
                failure: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// A thread that panics stops the line in its guard, so a poisoned state is still a sound one.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'l>(&self, guard: MutexGuard<'l, State<T>>) -> MutexGuard<'l, State<T>> {
        self.changed
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands in what came of a piece, waiting while too much is ahead.
    pub fn put(&self, piece: u64, work: T) -> Result<(), Stopped> {
        let mut state = self.lock();
        state.ahead.insert(piece);
        while state.ahead.first() == Some(&state.worked) {
            state.ahead.pop_first();
            state.worked += 1;
        }
        self.changed.notify_all();
        while piece >= state.taken + AHEAD_MAX && !state.stopped {
            state = self.wait(state);
        }
        if state.stopped {
            return Err(Stopped);
        }
        state.ready.insert(piece, work);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until all earlier pieces are worked, so that what depends on the order of the input
    /// can be decided.
    pub fn wait_for_turn(&self, piece: u64) -> Result<(), Stopped> {
        let mut state = self.lock();
        while state.worked < piece && !state.stopped {
            state = self.wait(state);
        }
        if state.stopped { Err(Stopped) } else { Ok(()) }
    }

    /// There are only so many pieces.
    pub fn end(&self, total: u64) {
        self.lock().total = Some(total);
        self.changed.notify_all();
    }

    /// The next piece's work; `None` after the last.
    pub fn take(&self) -> Result<Option<T>, Failure> {
        let mut state = self.lock();
        loop {
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if state.stopped {
                return Err(Failure::Cancelled);
            }
            let next = state.taken;
            if let Some(work) = state.ready.remove(&next) {
                state.taken += 1;
                drop(state);
                self.changed.notify_all();
                return Ok(Some(work));
            }
            if state.total == Some(next) {
                return Ok(None);
            }
            state = self.wait(state);
        }
    }

    /// Stops everybody; the sequencer hears the first reason.
    pub fn stop(&self, failure: Option<Failure>) {
        let mut state = self.lock();
        if !state.stopped {
            state.failure = failure;
        }
        state.stopped = true;
        // Who waits for an answer to something that nobody takes any more hears that.
        state.ready.clear();
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_comes_in_order() {
        let line = Line::new();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let line = &line;
                scope.spawn(move || {
                    for piece in (thread..200).step_by(4) {
                        if piece % 7 == 0 {
                            line.wait_for_turn(piece).expect("not stopped");
                        }
                        line.put(piece, piece).expect("not stopped");
                    }
                });
            }
            line.end(200);
            let mut taken = Vec::new();
            while let Some(work) = line.take().expect("no failure") {
                taken.push(work);
            }
            assert_eq!(taken, (0..200).collect::<Vec<u64>>());
        });
    }

    #[test]
    fn a_failure_stops_everybody() {
        let line = Line::<()>::new();
        line.stop(Some(Failure::Input("broken".to_owned())));
        line.stop(Some(Failure::Input("later".to_owned())));
        assert!(matches!(line.take(), Err(Failure::Input(text)) if text == "broken"));
        assert!(line.put(0, ()).is_err());
        assert!(line.wait_for_turn(1).is_err());
    }
}
