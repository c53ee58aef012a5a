//! Gives out the tasks of an import in order: entries of the old database, then pieces of the
//! input. Stops giving out while a checkpoint is written.

use super::import_state::ImportState;
use super::source::Source;
use super::work::{Item, Pause, Task};
use crate::meter::Meter;
use state::stop::Failure;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of entries of the old database in one task.
const STORED_ENTRIES: u64 = 512;

/// The tasks that workers take.
pub(super) struct Intake<'s> {
    shared: &'s ImportState<'s>,
    state: Mutex<State>,
}

/// Source of tasks, and counters of the tasks taken.
struct State {
    /// First id of the old database that is not read yet.
    next_stored: u64,
    source: Box<dyn Source>,
    /// Number of tasks taken.
    pieces: u64,
    /// Number of tasks done by an interrupted import, which this one skips.
    done: u64,
    /// Number of places taken on the line, checkpoints included.
    numbers: u64,
    /// Time between checkpoints; `None` for no checkpoints.
    interval: Option<Duration>,
    /// Time of the last checkpoint, or of the begin.
    last: Instant,
    has_checkpoint: bool,
    ended: bool,
}

impl State {
    fn is_due(&self) -> bool {
        let has_more = self.pieces > self.done;
        has_more && self.interval.is_some_and(|it| self.last.elapsed() >= it)
    }

    /// The next task; `None` at the end.
    fn next(&mut self, last_id: u64, meter: &Meter) -> Result<Option<Task>, Failure> {
        if self.next_stored <= last_id {
            let from = self.next_stored;
            let to = (from + STORED_ENTRIES - 1).min(last_id);
            self.next_stored = to + 1;
            return Ok(Some(Task::Stored { from, to }));
        }
        let given = self.source.next(meter);
        // After a failure another worker could get the end of the source, and end the line as
        // complete before this one reports.
        self.ended |= given.is_err();
        Ok(given?.map(Task::Given))
    }
}

impl<'s> Intake<'s> {
    /// Tasks for all entries of the old database, unless it is kept, and for the source. `resumed`
    /// is the number of tasks done by the interrupted import, if one is resumed.
    pub fn new(
        shared: &'s ImportState<'s>,
        source: Box<dyn Source>,
        interval: Option<Duration>,
        resumed: Option<u64>,
    ) -> Intake<'s> {
        Intake {
            shared,
            state: Mutex::new(State {
                next_stored: match shared.keeps_old {
                    true => shared.plan.last_id + 1,
                    false => 1,
                },
                source,
                pieces: 0,
                done: resumed.unwrap_or(0),
                numbers: 0,
                interval,
                last: Instant::now(),
                has_checkpoint: resumed.is_some(),
                ended: false,
            }),
        }
    }

    /// The next task and its place on the line; `None` if there are no more, or the import was
    /// stopped.
    pub fn take(&self) -> Result<Option<(u64, Task)>, Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ended {
            return Ok(None);
        }
        let (meter, last_id) = (self.shared.meter, self.shared.plan.last_id);
        meter.check()?;
        while state.pieces < state.done {
            meter.check()?;
            if state.next(last_id, meter)?.is_none() {
                state.ended = true;
                let text = "the input is shorter than before the interrupt";
                return Err(Failure::Input(text.to_owned()));
            }
            state.pieces += 1;
        }
        if state.is_due() && !self.pause(&mut state) {
            return Ok(None);
        }
        if let Some(task) = state.next(last_id, meter)? {
            let number = state.numbers;
            state.numbers += 1;
            state.pieces += 1;
            return Ok(Some((number, task)));
        }
        state.ended = true;
        // If there is a checkpoint already, makes another at the end, so that an interrupted end
        // resumes there.
        if state.has_checkpoint && !self.pause(&mut state) {
            return Ok(None);
        }
        self.shared.line.end(state.numbers);
        Ok(None)
    }

    /// Waits until all tasks given out are done and stored, giving out none meanwhile. False if
    /// the import was stopped.
    fn pause(&self, state: &mut State) -> bool {
        let (written, is_written) = channel();
        let number = state.numbers;
        state.numbers += 1;
        let pause = Pause {
            pieces: state.pieces,
            stamps: self.shared.first_stamp + state.numbers,
            written,
        };
        let put = self.shared.line.put(number, Item::Checkpoint(pause), 0);
        let is_written = put.is_ok() && is_written.recv().is_ok();
        state.has_checkpoint |= is_written;
        state.last = Instant::now();
        is_written
    }

    /// Number of stamps used by this import and an interrupted one before it.
    pub fn stamps(&self) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.first_stamp + state.numbers
    }
}
