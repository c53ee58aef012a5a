//! Inputs read side by side, each lane of them by a thread of its own that is a few pieces ahead.

use super::open::Input;
use super::{Format, Piece};
use crate::import::Meter;
use crate::stop::Failure;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Pieces a reader may be ahead.
const AHEAD_MAX: usize = 4;

/// How often somebody who waits for input looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);

/// What the readers put and the import takes.
struct Queues {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    lanes: Vec<Lane>,
    /// Nobody takes any more.
    abandoned: bool,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<Result<(Piece, u64), Failure>>,
    ended: bool,
}

/// The taking end.
pub(super) struct Lanes {
    queues: Arc<Queues>,
    /// The first so many lanes are taken from in turn, the others when they have something.
    in_turn: usize,
    turn: usize,
    /// Where to look first among the others.
    next: usize,
}

impl Lanes {
    /// Reads these files, those of a lane one after the other.
    pub fn start(in_turn: Vec<Vec<PathBuf>>, streams: Vec<PathBuf>, format: Format) -> Lanes {
        let count = in_turn.len();
        let lanes = in_turn
            .into_iter()
            .chain(streams.into_iter().map(|it| vec![it]));
        let lanes: Vec<Vec<PathBuf>> = lanes.collect();
        let queues = Arc::new(Queues {
            state: Mutex::new(State {
                lanes: lanes.iter().map(|_| Lane::default()).collect(),
                abandoned: false,
            }),
            changed: Condvar::new(),
        });
        for (lane, paths) in lanes.into_iter().enumerate() {
            let end = PuttingEnd {
                queues: Arc::clone(&queues),
                lane,
            };
            // Not waited for: a reader may be in a FIFO that nobody writes to.
            std::thread::spawn(move || end.read(&paths, format));
        }
        Lanes {
            queues,
            in_turn: count,
            turn: 0,
            next: 0,
        }
    }

    /// The next piece; `None` when all lanes have ended.
    pub fn next(&mut self, meter: &Meter) -> Result<Option<(Piece, u64)>, Failure> {
        let queues = Arc::clone(&self.queues);
        let mut state = queues.lock();
        loop {
            meter.check()?;
            if let Some(taken) = self.take(&mut state) {
                drop(state);
                queues.changed.notify_all();
                return taken.map(Some);
            }
            if state
                .lanes
                .iter()
                .all(|it| it.ended && it.waiting.is_empty())
            {
                return Ok(None);
            }
            let waited = queues.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn take(&mut self, state: &mut State) -> Option<Result<(Piece, u64), Failure>> {
        for step in 0..self.in_turn {
            let at = (self.turn + step) % self.in_turn;
            let lane = &mut state.lanes[at];
            if let Some(taken) = lane.waiting.pop_front() {
                self.turn = (at + 1) % self.in_turn;
                return Some(taken);
            }
            if !lane.ended {
                // It is its turn, whoever else is faster.
                break;
            }
        }
        let streams = &mut state.lanes[self.in_turn..];
        for step in 0..streams.len() {
            let at = (self.next + step) % streams.len();
            if let Some(taken) = streams[at].waiting.pop_front() {
                self.next = (at + 1) % streams.len();
                return Some(taken);
            }
        }
        None
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.queues.lock().abandoned = true;
        self.queues.changed.notify_all();
    }
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one reader has.
struct PuttingEnd {
    queues: Arc<Queues>,
    lane: usize,
}

impl PuttingEnd {
    fn read(&self, paths: &[PathBuf], format: Format) {
        for path in paths {
            let mut input = match Input::open(path, format) {
                Ok(input) => input,
                Err(failure) => {
                    self.put(Err(failure));
                    return;
                }
            };
            loop {
                match input.next() {
                    Ok(None) => break,
                    Ok(Some(piece)) => {
                        if !self.put(Ok(piece)) {
                            return;
                        }
                    }
                    Err(failure) => {
                        self.put(Err(failure));
                        return;
                    }
                }
            }
        }
    }

    /// Waits for room; false when nothing more is wanted.
    fn put(&self, piece: Result<(Piece, u64), Failure>) -> bool {
        let mut state = self.queues.lock();
        while state.lanes[self.lane].waiting.len() >= AHEAD_MAX && !state.abandoned {
            let waited = self.queues.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if state.abandoned {
            return false;
        }
        state.lanes[self.lane].waiting.push_back(piece);
        drop(state);
        self.queues.changed.notify_all();
        true
    }
}

impl Drop for PuttingEnd {
    fn drop(&mut self) {
        let mut state = self.queues.lock();
        let lane = &mut state.lanes[self.lane];
        lane.ended = true;
        if std::thread::panicking() {
            let failure = Failure::Input("a reader of the input ended too early".to_owned());
            lane.waiting.push_back(Err(failure));
        }
        drop(state);
        self.queues.changed.notify_all();
    }
}
