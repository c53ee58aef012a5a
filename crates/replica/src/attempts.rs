//! Failed binds and refused operations, counted by kind until the audit's lines about them are due.
//!
//! Serving threads count an attempt by its texts alone; a thread of its own looks for the entries
//! that they name when the interval is over, so that no client can measure which entries there are.

mod recorder;

use policy::network::party;
use protocol::ResultCode;
use recorder::Recorder;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use recorder::{Naming, Sources};

/// Maximum number of kinds that are told apart in an interval, at some kilobytes each; further
/// attempts are counted together.
const KINDS_MAX: usize = 1_000;

/// Attempts that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// The thing that was tried.
    pub tried: Tried,
    /// The client's address; `None` for a Unix socket.
    pub address: Option<IpAddr>,
    /// The result.
    pub code: ResultCode,
}

/// The thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tried {
    /// A bind.
    Bind {
        /// The name as given; `None` if the request has none.
        name: Option<String>,
        /// Authentication method or SASL mechanism; `None` if the request cannot be read.
        mechanism: Option<String>,
    },
    /// An operation that access rules refused.
    Operation {
        /// DN of the subject that the operation was tried as; empty while anonymous.
        by: String,
        /// DN of the subject that authenticated, where that is somebody else.
        real: Option<String>,
        /// The rule and its clause, as the result says.
        place: String,
        /// Name of the operation, with the object identifier of an extended one.
        request: String,
        /// DN of its entry; empty if it has none.
        entry: String,
    },
}

/// A number of attempts, and the time of the first and of the last, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    count: u64,
    first_us: u64,
    last_us: u64,
}

/// The attempts of the current interval.
#[derive(Debug)]
pub struct Attempts {
    state: Mutex<State>,
    /// Signalled at the first attempt of an interval, and to stop.
    called: Condvar,
    interval: Duration,
}

#[derive(Debug, Default)]
struct State {
    kinds: HashMap<Attempt, Tally>,
    others: Option<Tally>,
    is_stopped: bool,
}

/// Attempts of an interval that is over.
#[derive(Debug, Default)]
struct Taken {
    kinds: HashMap<Attempt, Tally>,
    /// Attempts for which there was no room.
    others: Option<Tally>,
    /// Whether no further interval follows.
    is_last: bool,
}

impl Tally {
    fn at(now_us: u64) -> Tally {
        Tally {
            count: 1,
            first_us: now_us,
            last_us: now_us,
        }
    }

    /// Adds attempts.
    fn add(&mut self, other: &Tally) {
        self.count += other.count;
        self.first_us = self.first_us.min(other.first_us);
        self.last_us = self.last_us.max(other.last_us);
    }
}

impl Attempts {
    /// Attempts that are taken when this time is over since the first.
    pub fn new(interval: Duration) -> Attempts {
        Attempts {
            state: Mutex::default(),
            called: Condvar::new(),
            interval,
        }
    }

    /// Counts an attempt at a time in microseconds since 1970.
    pub fn count(&self, mut attempt: Attempt, now_us: u64) {
        attempt.address = attempt.address.map(party);
        let tally = Tally::at(now_us);
        let mut state = self.state();
        if state.kinds.is_empty() {
            self.called.notify_all();
        }
        let has_room = state.kinds.len() < KINDS_MAX;
        match state.kinds.get_mut(&attempt) {
            Some(found) => found.add(&tally),
            None if has_room => drop(state.kinds.insert(attempt, tally)),
            None => match &mut state.others {
                Some(others) => others.add(&tally),
                None => state.others = Some(tally),
            },
        }
    }

    /// Waits for an attempt and for the end of its interval, and takes all.
    fn take(&self) -> Taken {
        let state = self.state();
        let waits = |it: &mut State| it.kinds.is_empty() && !it.is_stopped;
        let state = self.called.wait_while(state, waits);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let runs = |it: &mut State| !it.is_stopped;
        let ended = self.called.wait_timeout_while(state, self.interval, runs);
        let (mut state, _) = ended.unwrap_or_else(PoisonError::into_inner);
        Taken {
            kinds: std::mem::take(&mut state.kinds),
            others: state.others.take(),
            is_last: state.is_stopped,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The attempts of a directory, with the thread that writes lines about them; stops it when
/// dropped.
#[derive(Debug)]
pub struct Recording {
    /// Counts of the current interval.
    pub attempts: Arc<Attempts>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Recording {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(attempts: Attempts, sources: Sources) -> std::io::Result<Recording> {
        let attempts = Arc::new(attempts);
        let recorder = Recorder::new(Arc::clone(&attempts), sources);
        let builder = std::thread::Builder::new().name("attempts".to_owned());
        let thread = builder.spawn(move || recorder.run())?;
        Ok(Recording {
            attempts,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Writes the lines about the attempts so far, and ends the thread.
    pub fn stop(&self) {
        self.attempts.state().is_stopped = true;
        self.attempts.called.notify_all();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // It ends early only by a panic, which was reported.
            let _ = thread.join();
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(name: &str, address: &str) -> Attempt {
        Attempt {
            tried: Tried::Bind {
                name: Some(name.to_owned()),
                mechanism: Some("simple".to_owned()),
            },
            address: Some(address.parse().expect("an address")),
            code: ResultCode::INVALID_CREDENTIALS,
        }
    }

    #[test]
    fn attempts_of_a_kind_are_counted_together() {
        let attempts = Attempts::new(Duration::ZERO);
        attempts.count(bind("cn=a", "2001:db8::1"), 5);
        attempts.count(bind("cn=a", "2001:db8::ffff"), 9);
        attempts.count(bind("cn=a", "2001:db8:0:1::1"), 7);
        attempts.count(bind("cn=a", "::ffff:192.0.2.1"), 8);
        attempts.count(bind("cn=a", "192.0.2.1"), 6);
        attempts.count(bind("cn=a", "192.0.2.2"), 6);
        let taken = attempts.take();
        let of = |address: &str| taken.kinds.get(&bind("cn=a", address)).copied();
        let tally = |count, first_us, last_us| {
            Some(Tally {
                count,
                first_us,
                last_us,
            })
        };
        assert_eq!(of("2001:db8::"), tally(2, 5, 9));
        assert_eq!(of("2001:db8:0:1::"), tally(1, 7, 7));
        assert_eq!(of("192.0.2.1"), tally(2, 6, 8));
        assert_eq!((taken.kinds.len(), taken.others), (4, None));
        assert!(!taken.is_last);
    }

    #[test]
    fn kinds_beyond_the_maximum_are_counted_together() {
        let attempts = Attempts::new(Duration::ZERO);
        for number in 0..KINDS_MAX + 7 {
            attempts.count(bind(&format!("cn={number}"), "192.0.2.1"), 3);
        }
        attempts.count(bind("cn=0", "192.0.2.1"), 4);
        let taken = attempts.take();
        assert_eq!(taken.kinds.len(), KINDS_MAX);
        assert_eq!(taken.kinds[&bind("cn=0", "192.0.2.1")].count, 2);
        assert_eq!(taken.others.expect("others").count, 7);
        attempts.state().is_stopped = true;
        let taken = attempts.take();
        assert!(taken.is_last && taken.kinds.is_empty() && taken.others.is_none());
    }
}
