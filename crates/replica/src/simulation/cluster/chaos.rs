//! A commit log that delays, repeats, refuses and loses under the seed. What it has accepted, it
//! keeps and delivers to every node in one order.

use super::super::random::Random;
use super::NODES;
use crate::commit_log::{
    Bundle, CommitLog, Fenced, LogEvent, LogFailure, LogHealth, LogRecord, NodeId, Origin,
    Standing, Wake,
};
use state::level;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Number of lanes of each node.
const LANES: u8 = 2;

/// A lane of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Append {
    node: usize,
    lane: u8,
}

/// The log that all nodes share.
#[derive(Clone)]
pub(super) struct Chaos(Arc<Mutex<State>>);

struct State {
    random: Random,
    /// Accepted records in order, repetitions included.
    records: Vec<LogRecord>,
    /// Bundles that nodes have handed over, and that have no place yet.
    appending: BTreeMap<Append, Bundle>,
    /// Bundles that will never have a place.
    refused: BTreeMap<usize, Vec<u64>>,
    epochs: [u64; NODES],
    sequences: BTreeMap<Append, u64>,
    place: u64,
    is_calm: bool,
    /// Place up to which each node got its records.
    delivered: [u64; NODES],
    /// Place up to which each node said that it cannot lose its records.
    synced: [u64; NODES],
    /// Place of the last record that was removed.
    floor: u64,
    /// Digests that nodes reported, by position.
    digests: BTreeMap<u64, u128>,
    /// The format level that the cluster is to have.
    level: u32,
    /// Why nodes cannot execute their next record.
    given_up: BTreeMap<usize, LogFailure>,
}

/// One node's connection.
pub(super) struct Connection {
    chaos: Chaos,
    number: usize,
    epoch: u64,
}

/// The identifier of a node.
pub(super) fn node_id(number: usize) -> NodeId {
    NodeId([number as u8 + 1; 16])
}

impl Chaos {
    pub fn new(random: Random) -> Chaos {
        Chaos(Arc::new(Mutex::new(State {
            random,
            records: Vec::new(),
            appending: BTreeMap::new(),
            refused: BTreeMap::new(),
            epochs: [0; NODES],
            sequences: BTreeMap::new(),
            place: 0,
            is_calm: false,
            delivered: [0; NODES],
            synced: [0; NODES],
            floor: 0,
            digests: BTreeMap::new(),
            level: level::LOWEST,
            given_up: BTreeMap::new(),
        })))
    }

    /// Connects a node whose database has executed the records up to `from`.
    pub fn connect(&self, number: usize, from: u64) -> Connection {
        let mut state = self.lock();
        // The former process may have left appends under way, which succeed or not.
        for lane in 0..LANES {
            let append = Append { node: number, lane };
            if let Some(bundle) = state.appending.remove(&append)
                && state.random.chance(50)
            {
                state.accept(number, bundle);
            }
        }
        state.refused.remove(&number);
        state.given_up.remove(&number);
        state.epochs[number] += 1;
        state.delivered[number] = from;
        let epoch = state.epochs[number];
        let chaos = self.clone();
        Connection {
            chaos,
            number,
            epoch,
        }
    }

    /// Decides about one append that is under way.
    pub fn commit(&self) {
        let mut state = self.lock();
        let waiting: Vec<Append> = state.appending.keys().copied().collect();
        if waiting.is_empty() {
            return;
        }
        let append = *state.random.pick(&waiting);
        let bundle = state.appending.remove(&append).expect("it waits");
        let number = append.node;
        if !state.is_calm && state.random.chance(8) {
            state.refused.entry(number).or_default().push(bundle.number);
            return;
        }
        state.accept(number, bundle);
        if !state.is_calm && state.random.chance(10) {
            state.repeat();
        }
    }

    pub fn commit_all(&self) {
        while !self.lock().appending.is_empty() {
            self.commit();
        }
    }

    /// A process of an earlier epoch appends, which a log without a fence may accept: every node
    /// must skip its record.
    pub fn twin(&self, number: usize) {
        let mut state = self.lock();
        let Some(mut record) = state.records.last().cloned() else {
            return;
        };
        if state.epochs[number] < 2 || !state.has_newest_epoch(number) {
            return;
        }
        let lane = 0;
        let append = Append { node: number, lane };
        let sequence = state.sequences.get(&append).copied().unwrap_or(0) + 1;
        record.origin = Origin {
            node: node_id(number),
            epoch: state.epochs[number] - 1,
            lane,
            sequence,
        };
        record.own = None;
        state.push(record);
    }

    /// Removes the records that no node can lose any more.
    pub fn trim(&self) {
        let mut state = self.lock();
        let least = state.synced.iter().copied().min();
        state.floor = state.floor.max(least.unwrap_or(0));
    }

    /// Removes records that no node has.
    pub fn forget(&self) {
        self.lock().floor = u64::MAX;
    }

    /// All nodes execute the highest level, and the operator asks for it.
    pub fn agree(&self) {
        self.lock().level = level::HIGHEST;
    }

    /// A node has appended a bundle with this payload.
    pub fn append(&self, number: usize, payload: Vec<u8>) {
        let bundle = Bundle {
            number: u64::MAX,
            lane: 0,
            payload,
            until: std::time::Instant::now(),
        };
        self.lock().accept(number, bundle);
    }

    /// Ends all chaos.
    pub fn calm(&self) {
        self.lock().is_calm = true;
    }

    /// Whether every node got every record.
    pub fn is_delivered(&self) -> bool {
        let state = self.lock();
        let last = state.records.last().map_or(0, |it| it.place);
        state.appending.is_empty() && state.delivered.iter().all(|it| *it >= last)
    }

    /// The records after a place.
    pub fn records_after(&self, place: u64) -> Vec<LogRecord> {
        let state = self.lock();
        let after = state.records.iter().filter(|it| it.place > place);
        after.cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn accept(&mut self, number: usize, bundle: Bundle) {
        let lane = bundle.lane;
        let sequence = self.sequences.entry(Append { node: number, lane });
        let sequence = sequence.or_default();
        *sequence += 1;
        let sequence = *sequence;
        let record = LogRecord {
            place: 0,
            origin: Origin {
                node: node_id(number),
                epoch: self.epochs[number],
                lane,
                sequence,
            },
            own: Some(bundle.number),
            payload: bundle.payload,
        };
        self.push(record);
    }

    /// Delivers a record once more, as a log does whose reply was lost.
    fn repeat(&mut self) {
        let at = self.random.below(self.records.len() as u64) as usize;
        let mut record = self.records[at].clone();
        record.own = None;
        self.push(record);
    }

    fn push(&mut self, mut record: LogRecord) {
        self.place += 1 + self.random.below(3);
        record.place = self.place;
        self.records.push(record);
    }

    /// Whether a record of the node's newest epoch is in the log.
    fn has_newest_epoch(&self, number: usize) -> bool {
        let newest = (node_id(number), self.epochs[number]);
        let mut origins = self.records.iter().map(|it| it.origin);
        origins.any(|it| (it.node, it.epoch) == newest)
    }
}

impl CommitLog for Connection {
    fn on_free(&self, _: Wake) {}

    fn lanes(&self) -> u8 {
        LANES
    }

    fn is_free(&self, lane: u8) -> bool {
        let state = self.chaos.lock();
        let node = self.number;
        let settled = !state.appending.contains_key(&Append { node, lane });
        // A lane is free when its last bundle was delivered.
        let own = (node_id(node), self.epoch, lane);
        let of = |it: &Origin| (it.node, it.epoch, it.lane);
        let last = state.records.iter().rfind(|it| of(&it.origin) == own);
        settled && last.is_none_or(|it| it.place <= state.delivered[self.number])
    }

    fn submit(&self, bundle: Bundle) {
        let mut state = self.chaos.lock();
        let append = Append {
            node: self.number,
            lane: bundle.lane,
        };
        let before = state.appending.insert(append, bundle);
        assert_eq!(before, None, "one bundle at a time");
    }

    fn next(&self, _: Duration) -> Result<Vec<LogEvent>, LogFailure> {
        let mut state = self.chaos.lock();
        if let Some(failure) = state.given_up.get(&self.number) {
            return Err(failure.clone());
        }
        if state.delivered[self.number] < state.floor {
            return Err(LogFailure::Trimmed { floor: state.floor });
        }
        let mut events = Vec::new();
        let most = match state.is_calm {
            true => usize::MAX,
            false => state.random.below(6) as usize,
        };
        let from = state.delivered[self.number];
        let next: Vec<LogRecord> = state
            .records
            .iter()
            .filter(|it| it.place > from)
            .take(most)
            .cloned()
            .collect();
        for mut record in next {
            let is_own = record.origin.node == node_id(self.number);
            record.own = record
                .own
                .filter(|_| is_own && record.origin.epoch == self.epoch);
            state.delivered[self.number] = record.place;
            if record.place > from + 1 && state.random.chance(30) {
                events.push(LogEvent::Reached(record.place - 1));
            }
            events.push(LogEvent::Record(record));
        }
        let last = state.records.last().map_or(0, |it| it.place);
        if state.delivered[self.number] >= last && state.random.chance(20) {
            // The log knows of keys that are no records, too.
            state.place += 1;
            state.delivered[self.number] = state.place;
            events.push(LogEvent::Reached(state.place));
        }
        for number in state.refused.remove(&self.number).unwrap_or_default() {
            events.push(LogEvent::Refused {
                number,
                reason: "refused by the simulation".to_owned(),
            });
        }
        Ok(events)
    }

    fn fence(&self, then: Fenced) {
        then(Ok(self.chaos.lock().place));
    }

    fn report(&self, standing: Standing) {
        let mut state = self.chaos.lock();
        state.synced[self.number] = standing.synced_place;
        let (position, digest) = standing.digest;
        let known = state.digests.entry(position).or_insert(digest);
        assert_eq!(*known, digest, "states differ at position {position}");
    }

    fn is_executed_elsewhere(&self, _: u64) -> bool {
        false
    }

    fn give_up(&self, failure: LogFailure) {
        self.chaos.lock().given_up.insert(self.number, failure);
    }

    fn is_steward(&self) -> bool {
        // Two at once, which must do no harm.
        self.number < 2
    }

    fn agreed_level(&self) -> Option<u32> {
        Some(self.chaos.lock().level)
    }

    fn health(&self) -> LogHealth {
        LogHealth::default()
    }

    fn end(&self) {}
}
