//! A commit log that refuses, delays and keeps records under the seed. It takes the place of a
//! cluster's replicated log.

use super::clock::SimulatedClock;
use super::events::{Event, Events};
use crate::clock::Clock;
use crate::order::{LocalOrder, Order};
use arc_swap::ArcSwap;
use state::catalog::Catalog;
use state::record;
use state::stop::Failure;
use state::write::{Record, Unit};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Store;

/// Behaviour of the log at one of the next appends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
    /// The units get no place in the order.
    Refuse,
    /// So many microseconds pass before the units have their place.
    Delay(u64),
}

/// State of the log that outlives the process of a node.
#[derive(Debug, Default, Clone)]
pub(super) struct Ordered(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Encoded records with their positions.
    records: Vec<(u64, Vec<u8>)>,
    /// The record that was forgotten last. If its sync failed, a restart may find it nevertheless.
    forgotten: Option<(u64, Vec<u8>)>,
    troubles: VecDeque<Trouble>,
}

impl Ordered {
    pub fn trouble(&self, trouble: Trouble) {
        self.lock().troubles.push_back(trouble);
    }

    /// Forgets troubles that have not happened.
    pub fn calm(&self) {
        self.lock().troubles.clear();
    }

    /// The record of a position.
    pub fn record(&self, position: u64) -> Option<Vec<u8>> {
        let state = self.lock();
        let found = state.records.iter().find(|it| it.0 == position);
        found.map(|it| it.1.clone())
    }

    /// Restarts the log at a position: drops the records after it, and planned failures.
    pub fn recovered(&self, position: u64) {
        let mut state = self.lock();
        state.records.retain(|it| it.0 <= position);
        let found = state.forgotten.take().filter(|it| it.0 == position);
        if state.records.last().is_none_or(|it| it.0 < position) {
            state.records.extend(found);
        }
        state.troubles.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct SimulatedLog {
    pub order: LocalOrder,
    pub ordered: Ordered,
    pub events: Events,
    pub clock: Arc<SimulatedClock>,
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub store: Store,
}

impl SimulatedLog {
    fn digest(&self) -> Result<u128, Failure> {
        Ok(self.store.reader()?.snapshot()?.digest()?)
    }
}

impl Order for SimulatedLog {
    fn append<'w>(&mut self, units: Vec<Unit<'w>>, time_us: u64) -> Result<Record<'w>, Failure> {
        let now_us = self.clock.now_us();
        let trouble = self.ordered.lock().troubles.pop_front();
        match trouble {
            Some(Trouble::Refuse) => {
                self.events.push(Event::NoPlace);
                let error = std::io::Error::other("refused by the simulation");
                return Err(Failure::file("the commit log".to_owned(), error));
            }
            Some(Trouble::Delay(us)) => self.clock.advance(us),
            None => {}
        }
        let record = self.order.append(units, time_us)?;
        let mut bytes = Vec::new();
        let schema = &self.catalog.load().schema;
        record::encode(&record, self.digest()?, schema, &mut bytes);
        self.ordered.lock().records.push((record.position, bytes));
        self.events.push(Event::Ordered {
            position: record.position,
            time_us: record.time_us,
            now_us,
            units: record.units.iter().map(|it| it.to_vec()).collect(),
        });
        Ok(record)
    }

    fn forget(&mut self, position: u64) {
        self.order.forget(position);
        let mut state = self.ordered.lock();
        assert_eq!(state.records.last().map(|it| it.0), Some(position));
        state.forgotten = state.records.pop();
        drop(state);
        self.events.push(Event::Forgotten { position });
    }
}
