//! Readers that wait until this node has executed as much as they want to see.
//!
//! Invariant: every reader is told once: that the node has arrived, or why it has not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A state that a reader waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The state after the last record up to this place of the log.
    Place(u64),
    /// A state of this position or a later one.
    Position(u64),
}

/// Receives `Ok` when the node has arrived, or the reason why the reader waits no longer.
pub type Arrived = Box<dyn FnOnce(Result<(), String>) + Send>;

struct Waiting {
    goal: Goal,
    until: Instant,
    then: Arrived,
}

/// The readers of a node that wait, and how far the node is.
#[derive(Default)]
pub(crate) struct Arrivals {
    place: AtomicU64,
    position: AtomicU64,
    waiting: Mutex<State>,
}

#[derive(Default)]
struct State {
    readers: Vec<Waiting>,
    /// Why no reader will be told of an arrival any more; `None` while records are executed.
    ended: Option<String>,
}

impl Arrivals {
    /// Calls `then` as soon as the node has reached the goal, at once if it has; with a reason if
    /// it has not until `until`.
    pub fn wait(&self, goal: Goal, until: Instant, then: Arrived) {
        let mut state = self.lock();
        let outcome = match (&state.ended, self.is_reached(goal)) {
            (_, true) => Ok(()),
            (Some(reason), false) => Err(reason.clone()),
            (None, false) => {
                return state.readers.push(Waiting { goal, until, then });
            }
        };
        drop(state);
        then(outcome);
    }

    /// The position that the node has reached.
    pub fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    /// Notes how far the node is, and tells the readers whose wait is over.
    pub fn reach(&self, place: u64, position: u64) {
        self.place.store(place, Ordering::Release);
        self.position.store(position, Ordering::Release);
        let mut state = self.lock();
        if state.readers.is_empty() {
            return;
        }
        let now = Instant::now();
        let is_over = |it: &mut Waiting| self.is_reached(it.goal) || it.until <= now;
        let over: Vec<Waiting> = state.readers.extract_if(.., is_over).collect();
        drop(state);
        for reader in over {
            let outcome = match self.is_reached(reader.goal) {
                true => Ok(()),
                false => Err(self.late(reader.goal)),
            };
            (reader.then)(outcome);
        }
    }

    /// Tells all readers, those to come as well, that the node gets no further.
    pub fn end(&self, reason: &str) {
        let mut state = self.lock();
        state.ended.get_or_insert_with(|| reason.to_owned());
        let readers = std::mem::take(&mut state.readers);
        drop(state);
        for reader in readers {
            (reader.then)(Err(reason.to_owned()));
        }
    }

    fn is_reached(&self, goal: Goal) -> bool {
        match goal {
            Goal::Place(place) => self.place.load(Ordering::Acquire) >= place,
            Goal::Position(position) => self.position.load(Ordering::Acquire) >= position,
        }
    }

    fn late(&self, goal: Goal) -> String {
        let (word, asked, reached) = match goal {
            Goal::Place(it) => ("place", it, self.place.load(Ordering::Acquire)),
            Goal::Position(it) => ("position", it, self.position.load(Ordering::Acquire)),
        };
        format!("this server has reached {word} {reached} in time, and not {asked}")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    fn wait(arrivals: &Arrivals, goal: Goal, time: Duration) -> Receiver<Result<(), String>> {
        let (sender, receiver) = channel();
        let then = Box::new(move |outcome| sender.send(outcome).unwrap());
        arrivals.wait(goal, Instant::now() + time, then);
        receiver
    }

    #[test]
    fn readers_are_told_when_the_node_arrives() {
        const LONG: Duration = Duration::from_secs(60);
        let arrivals = Arrivals::default();
        arrivals.reach(7, 3);
        assert_eq!(wait(&arrivals, Goal::Place(7), LONG).try_recv(), Ok(Ok(())));
        let place = wait(&arrivals, Goal::Place(8), LONG);
        let position = wait(&arrivals, Goal::Position(5), LONG);
        arrivals.reach(8, 4);
        assert_eq!(place.try_recv(), Ok(Ok(())));
        assert!(position.try_recv().is_err(), "not there yet");
        arrivals.reach(9, 5);
        assert_eq!(position.try_recv(), Ok(Ok(())));
        // Each is told once.
        assert!(place.try_recv().is_err() && position.try_recv().is_err());
    }

    #[test]
    fn readers_are_told_why_the_node_does_not_arrive() {
        let arrivals = Arrivals::default();
        let late = wait(&arrivals, Goal::Position(5), Duration::ZERO);
        arrivals.reach(9, 4);
        let reason = late.try_recv().unwrap().unwrap_err();
        assert_eq!(
            reason,
            "this server has reached position 4 in time, and not 5"
        );
        let halted = wait(&arrivals, Goal::Place(10), Duration::from_secs(60));
        arrivals.end("it has halted");
        let later = wait(&arrivals, Goal::Place(10), Duration::from_secs(60));
        for receiver in [halted, later] {
            assert_eq!(receiver.try_recv(), Ok(Err("it has halted".to_owned())));
        }
    }
}
