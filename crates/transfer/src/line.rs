//! Passes the results of parallel work on in the order of the input.

use state::stop::Failure;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum number of pieces that may be worked on ahead of the piece to take next, and of bytes of
/// ready parts; both limit memory.
const AHEAD_MAX: u64 = 16;
const AHEAD_BYTES_MAX: usize = 128 << 20;

/// The line between workers and the sequencer.
#[derive(Debug)]
pub(crate) struct Line<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    bytes_max: usize,
}

#[derive(Debug)]
struct State<T> {
    /// Number of the first piece that is not finished.
    worked: u64,
    /// Numbers of finished pieces behind `worked`.
    ahead: BTreeSet<u64>,
    /// Parts that can be taken, by number of the piece.
    ready: BTreeMap<u64, Ready<T>>,
    /// Bytes of the parts that are ready.
    bytes: usize,
    /// Number of pieces taken.
    taken: u64,
    /// Total number of pieces; `None` until known.
    total: Option<u64>,
    /// Whether work has been stopped.
    stopped: bool,
    /// Reason for stopping, which is returned once.
    failure: Option<Failure>,
}

/// Parts of a piece that are not taken yet.
#[derive(Debug)]
struct Ready<T> {
    /// The parts with their bytes.
    parts: VecDeque<(T, usize)>,
    /// Whether the piece is complete.
    whole: bool,
}

impl<T> State<T> {
    /// Whether a part of `bytes` of a piece may be put now.
    fn has_room(&self, piece: u64, bytes: usize, bytes_max: usize) -> bool {
        let waiting = self.ready.get(&piece).map_or(0, |it| it.parts.len());
        if piece == self.taken && waiting == 0 {
            // The sequencer waits for this piece.
            return true;
        }
        let fits = bytes == 0 || self.bytes + bytes <= bytes_max;
        fits && piece < self.taken + AHEAD_MAX
    }

    /// Takes the next part, if it is ready.
    fn next(&mut self) -> Option<T> {
        let ready = self.ready.get_mut(&self.taken)?;
        let (work, bytes) = ready.parts.pop_front()?;
        if ready.whole && ready.parts.is_empty() {
            self.ready.remove(&self.taken);
            self.taken += 1;
        }
        self.bytes -= bytes;
        Some(work)
    }
}

/// Error: the line was stopped by another thread.
#[derive(Debug)]
pub(crate) struct Stopped;

impl<T> Line<T> {
    pub fn new() -> Line<T> {
        Line::with_bytes(AHEAD_BYTES_MAX)
    }

    fn with_bytes(bytes_max: usize) -> Line<T> {
        Line {
            state: Mutex::new(State {
                worked: 0,
                ahead: BTreeSet::new(),
                ready: BTreeMap::new(),
                bytes: 0,
                taken: 0,
                total: None,
                stopped: false,
                failure: None,
            }),
            changed: Condvar::new(),
            bytes_max,
        }
    }

    /// A thread that panics stops the line in its guard, so the state is valid even if poisoned.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'l>(&self, guard: MutexGuard<'l, State<T>>) -> MutexGuard<'l, State<T>> {
        self.changed
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the last or only part of a piece, of about `bytes` bytes; waits while too much is
    /// ahead.
    pub fn put(&self, piece: u64, work: T, bytes: usize) -> Result<(), Stopped> {
        let mut state = self.lock();
        state.ahead.insert(piece);
        while state.ahead.first() == Some(&state.worked) {
            state.ahead.pop_first();
            state.worked += 1;
        }
        self.changed.notify_all();
        self.hand_in(state, piece, (work, bytes), true)
    }

    /// Puts a part of a piece that has more.
    pub fn put_part(&self, piece: u64, work: T, bytes: usize) -> Result<(), Stopped> {
        self.hand_in(self.lock(), piece, (work, bytes), false)
    }

    fn hand_in<'l>(
        &'l self,
        mut state: MutexGuard<'l, State<T>>,
        piece: u64,
        part: (T, usize),
        last: bool,
    ) -> Result<(), Stopped> {
        while !state.has_room(piece, part.1, self.bytes_max) && !state.stopped {
            state = self.wait(state);
        }
        if state.stopped {
            return Err(Stopped);
        }
        state.bytes += part.1;
        let ready = state.ready.entry(piece).or_insert_with(|| Ready {
            parts: VecDeque::new(),
            whole: false,
        });
        ready.parts.push_back(part);
        ready.whole = last;
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until all earlier pieces are finished, for decisions that depend on the order of the
    /// input.
    pub fn wait_for_turn(&self, piece: u64) -> Result<(), Stopped> {
        let mut state = self.lock();
        while state.worked < piece && !state.stopped {
            state = self.wait(state);
        }
        if state.stopped { Err(Stopped) } else { Ok(()) }
    }

    /// Sets the total number of pieces.
    pub fn end(&self, total: u64) {
        self.lock().total = Some(total);
        self.changed.notify_all();
    }

    /// The next part in order; `None` after the last.
    pub fn take(&self) -> Result<Option<T>, Failure> {
        let mut state = self.lock();
        loop {
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if state.stopped {
                return Err(Failure::Cancelled);
            }
            if let Some(work) = state.next() {
                drop(state);
                self.changed.notify_all();
                return Ok(Some(work));
            }
            if state.total == Some(state.taken) {
                return Ok(None);
            }
            state = self.wait(state);
        }
    }

    /// Stops all threads; the first reason is returned by [`take`](Self::take).
    pub fn stop(&self, failure: Option<Failure>) {
        let mut state = self.lock();
        if !state.stopped {
            state.failure = failure;
        }
        state.stopped = true;
        // Closes the channels of answers, so that threads waiting for one are woken.
        state.ready.clear();
        state.bytes = 0;
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_comes_in_order() {
        // Room for two parts only, so that threads have to wait.
        let line = Line::with_bytes(10);
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let line = &line;
                scope.spawn(move || {
                    for piece in (thread..200).step_by(4) {
                        if piece % 7 == 0 {
                            line.wait_for_turn(piece).expect("not stopped");
                        }
                        for _ in 0..piece % 3 {
                            line.put_part(piece, piece, 4).expect("not stopped");
                        }
                        line.put(piece, piece, 4).expect("not stopped");
                    }
                });
            }
            line.end(200);
            let mut taken = Vec::new();
            while let Some(work) = line.take().expect("no failure") {
                taken.push(work);
            }
            let parts = |piece: u64| std::iter::repeat_n(piece, piece as usize % 3 + 1);
            assert_eq!(taken, (0..200).flat_map(parts).collect::<Vec<u64>>());
        });
    }

    #[test]
    fn only_so_many_bytes_are_ahead() {
        let line = Line::with_bytes(10);
        let has_room = |piece, bytes| line.lock().has_room(piece, bytes, line.bytes_max);
        // A piece that is waited for may exceed the limit, by one part at a time.
        assert!(has_room(0, 100) && has_room(1, 10) && !has_room(1, 11));
        line.put_part(0, "a", 100).expect("not stopped");
        assert!(!has_room(0, 1) && !has_room(1, 1) && has_room(1, 0));
        assert_eq!(line.take().expect("no failure"), Some("a"));
        line.put(1, "c", 10).expect("not stopped");
        assert!(has_room(0, 100) && !has_room(2, 1));
        line.put(0, "b", 100).expect("not stopped");
        assert_eq!(line.take().expect("no failure"), Some("b"));
        assert_eq!(line.take().expect("no failure"), Some("c"));
        assert!(has_room(3, 10) && !has_room(2 + AHEAD_MAX, 1));
    }

    #[test]
    fn a_failure_stops_everybody() {
        let line = Line::<()>::new();
        line.stop(Some(Failure::Input("broken".to_owned())));
        line.stop(Some(Failure::Input("later".to_owned())));
        assert!(matches!(line.take(), Err(Failure::Input(text)) if text == "broken"));
        assert!(line.put(0, (), 0).is_err());
        assert!(line.wait_for_turn(1).is_err());
    }
}
