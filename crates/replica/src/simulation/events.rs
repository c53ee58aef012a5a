//! Events of a node in the order in which they happened: the model is checked against them after
//! each step.

use crate::clients::{Clients, Observer, Submission};
use protocol::ResultCode;
use state::execute::Done;
use state::write::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Store;

#[derive(Debug)]
pub(super) enum Event {
    /// Units got a place in the order, with the time of their record, at this time of the clock.
    Ordered {
        position: u64,
        time_us: u64,
        now_us: u64,
        units: Vec<Vec<Write>>,
    },
    /// The log gave no place in the order.
    NoPlace,
    /// The place of the last record is free again.
    Forgotten { position: u64 },
    /// The record of this position is committed; the digest of the state after it.
    Committed { position: u64, digest: u128 },
    /// Clients got a result for each unit, and the position of the state.
    Answered {
        codes: Vec<ResultCode>,
        position: Option<u64>,
    },
    /// A no-op write was answered.
    Rehearsed { write: Box<Write>, code: ResultCode },
    /// The power was cut: later events never happened.
    Cut,
}

/// The events that were not read yet.
#[derive(Debug, Default, Clone)]
pub(super) struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    pub fn push(&self, event: Event) {
        self.lock().push(event);
    }

    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Receiver of results.
pub(super) struct Answers(pub Events);

impl Clients for Answers {
    type Ticket = ();

    fn answer(
        &self,
        group: &[Submission<()>],
        results: &mut dyn Iterator<Item = Done>,
        position: Option<u64>,
    ) {
        let units = group.iter().map(|it| it.writes.units().count()).sum();
        let codes: Vec<ResultCode> = results
            .take(units)
            .map(|it| it.outcome.result.code)
            .collect();
        assert_eq!(codes.len(), units, "each unit has a result");
        let first = &group[0].writes.all()[0];
        self.0.push(match first.is_rehearsal() {
            true => Event::Rehearsed {
                write: Box::new(first.clone()),
                code: codes[0],
            },
            false => Event::Answered { codes, position },
        });
    }

    fn undecided(&self, _: &[Submission<()>], reason: &str) {
        panic!("a node alone decides about each write: {reason}");
    }
}

/// Observer of commits, which notes position and digest of each.
pub(super) struct Commits {
    pub events: Events,
    pub store: Store,
}

impl Observer for Commits {
    fn committed(&self) {
        let mut reader = self.store.reader().expect("a reader");
        let snapshot = reader.snapshot().expect("a snapshot");
        self.events.push(Event::Committed {
            position: snapshot.position().expect("readable"),
            digest: snapshot.digest().expect("readable"),
        });
    }
}
