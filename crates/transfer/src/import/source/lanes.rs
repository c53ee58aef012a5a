//! Reads several inputs at once. Each lane has a thread of its own, which reads a few pieces ahead.

use super::open::Input;
use super::{Format, Piece};
use crate::meter::Meter;
use state::stop::Failure;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of pieces that wait in a lane, and of their bytes.
const AHEAD_MAX: usize = 4;
const AHEAD_BYTES_MAX: usize = 32 << 20;

/// Interval in which a thread waiting for input checks for cancellation.
const LOOK: Duration = Duration::from_millis(100);

/// Pieces put by the readers and taken by the import.
struct Queues {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    lanes: Vec<Lane>,
    /// Whether the import has stopped taking.
    abandoned: bool,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<Arrived>,
    /// Bytes of the waiting pieces.
    bytes: usize,
    ended: bool,
}

/// A piece and the number of input bytes read for it, or the reason why the lane ends.
type Arrived = Result<(Piece, u64), Failure>;

impl Lane {
    fn has_room(&self, arrived: &Arrived) -> bool {
        let fits = self.bytes + bytes_of(arrived) <= AHEAD_BYTES_MAX;
        self.waiting.is_empty() || (fits && self.waiting.len() < AHEAD_MAX)
    }

    fn put(&mut self, arrived: Arrived) {
        self.bytes += bytes_of(&arrived);
        self.waiting.push_back(arrived);
    }

    fn take(&mut self) -> Option<Arrived> {
        let arrived = self.waiting.pop_front()?;
        self.bytes -= bytes_of(&arrived);
        Some(arrived)
    }
}

fn bytes_of(arrived: &Arrived) -> usize {
    arrived
        .as_ref()
        .map_or(0, |(piece, _)| piece.content.bytes())
}

/// The taking end.
pub(super) struct Lanes {
    queues: Arc<Queues>,
    /// Number of lanes with files, which are taken from in turn. The lanes behind them are streams,
    /// which are taken from when they have a piece.
    in_turn: usize,
    /// Index of the file lane to take from next.
    turn: usize,
    /// Index of the stream to look at first.
    next: usize,
}

impl Lanes {
    /// Starts a thread for each list of files, which reads its files one after the other, and one
    /// for each stream.
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
            // Not joined: a reader may be blocked in a FIFO without a writer.
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

    fn take(&mut self, state: &mut State) -> Option<Arrived> {
        for step in 0..self.in_turn {
            let at = (self.turn + step) % self.in_turn;
            let lane = &mut state.lanes[at];
            if let Some(taken) = lane.take() {
                self.turn = (at + 1) % self.in_turn;
                return Some(taken);
            }
            if !lane.ended {
                // Waits for this lane, even if others are ready.
                break;
            }
        }
        let streams = &mut state.lanes[self.in_turn..];
        for step in 0..streams.len() {
            let at = (self.next + step) % streams.len();
            if let Some(taken) = streams[at].take() {
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

/// The putting end of one reader.
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

    /// Puts a piece, waiting for room; false if the import has stopped.
    fn put(&self, arrived: Arrived) -> bool {
        let mut state = self.queues.lock();
        while !state.lanes[self.lane].has_room(&arrived) && !state.abandoned {
            let waited = self.queues.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if state.abandoned {
            return false;
        }
        state.lanes[self.lane].put(arrived);
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
            lane.put(Err(failure));
        }
        drop(state);
        self.queues.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::source::Content;
    use protocol::ldif::LdifChunk;

    fn piece(bytes: usize) -> Arrived {
        let text = vec![b'x'; bytes];
        let content = Content::Ldif(LdifChunk {
            first_line: 1,
            text,
        });
        let origin = Arc::from("test");
        Ok((Piece { origin, content }, 0))
    }

    #[test]
    fn a_reader_is_few_pieces_and_few_bytes_ahead() {
        let mut lane = Lane::default();
        let large = || piece(AHEAD_BYTES_MAX / 2 + 1);
        assert!(lane.has_room(&piece(AHEAD_BYTES_MAX + 1)));
        lane.put(large());
        assert!(lane.has_room(&piece(10)) && !lane.has_room(&large()));
        (0..AHEAD_MAX - 1).for_each(|_| lane.put(piece(10)));
        assert!(!lane.has_room(&piece(10)));
        while lane.take().is_some() {}
        assert!(lane.bytes == 0 && lane.has_room(&large()));
    }
}
