//! Executes each record of the log once, in a transaction of its own, as the rules of the order
//! say, and remembers the states and results in between.

use super::super::BOUNDS;
use super::chaos::Chaos;
use super::member::{Answer, Standing};
use crate::commit_log::{LogRecord, NodeId};
use crate::payload;
use crate::recover::Replayer;
use protocol::ResultCode;
use state::apply::{Occasion, apply};
use state::meta::META_TIME;
use state::record;
use state::write::Record;
use std::collections::BTreeMap;
use store::Store;
use tempfile::TempDir;

pub(super) struct Oracle {
    store: Store,
    replayer: Replayer,
    place: u64,
    time_us: u64,
    configuration: u64,
    /// Newest epoch of each node.
    epochs: BTreeMap<NodeId, u64>,
    /// Last sequence number of each node's lanes.
    ends: BTreeMap<(NodeId, u8), u64>,
    /// Digest and last entry id by position.
    states: BTreeMap<u64, (u128, u64)>,
    /// Results of the records that changed something, by position.
    results: BTreeMap<u64, Vec<ResultCode>>,
    _folder: TempDir,
}

impl Oracle {
    pub fn new(folder: TempDir) -> Oracle {
        let store = Store::open(folder.path()).expect("opened");
        let mut replayer = Replayer::new(&store).expect("a catalog");
        replayer.catalog.bounds = BOUNDS;
        let mut oracle = Oracle {
            time_us: 0,
            store,
            replayer,
            place: 0,
            configuration: 0,
            epochs: BTreeMap::new(),
            ends: BTreeMap::new(),
            states: BTreeMap::new(),
            results: BTreeMap::new(),
            _folder: folder,
        };
        oracle.time_us = oracle.stored_time();
        oracle.remember();
        oracle
    }

    /// Executes the records that were accepted since.
    pub fn follow(&mut self, chaos: &Chaos) {
        for record in chaos.records_after(self.place) {
            self.place = record.place;
            let origin = record.origin;
            let epoch = self.epochs.entry(origin.node).or_default();
            let sequence = self.ends.entry((origin.node, origin.lane)).or_default();
            if origin.epoch < *epoch || origin.sequence <= *sequence {
                continue;
            }
            (*epoch, *sequence) = (origin.epoch, origin.sequence);
            self.execute(&record);
        }
    }

    fn execute(&mut self, logged: &LogRecord) {
        let (head, chunk) = payload::decode(&logged.payload).expect("a payload");
        if head.configuration != self.configuration {
            return;
        }
        let writes = payload::decompress(chunk).expect("writes");
        let schema = &self.replayer.catalog.schema;
        let writes = record::decode_writes(&writes, schema).expect("writes");
        let record = Record {
            position: self.replayer.position + 1,
            time_us: head.time_us.max(self.time_us + 1),
            units: writes.units(),
        };
        let mut batch = self.store.begin(self.replayer.indexes()).expect("a batch");
        let catalog = &self.replayer.catalog;
        let applied = apply(&mut batch, catalog, &record, Occasion::Again).expect("applied");
        if applied.changed == 0 {
            return;
        }
        batch.commit().expect("committed");
        self.time_us = record.time_us;
        self.replayer.position = record.position;
        if applied.configuration {
            self.configuration = record.position;
        }
        if let Some(next) = applied.catalog {
            self.replayer.catalog = next;
        }
        let codes = applied.results.iter().map(|it| it.outcome.result.code);
        self.results.insert(record.position, codes.collect());
        self.remember();
    }

    fn remember(&mut self) {
        let mut reader = self.store.reader().expect("a reader");
        let snapshot = reader.snapshot().expect("a snapshot");
        let digest = snapshot.digest().expect("readable");
        let last_id = snapshot.last_id().expect("readable").0;
        let position = snapshot.position().expect("readable");
        self.states.insert(position, (digest, last_id));
    }

    /// The format level after the last record.
    pub fn level(&self) -> u32 {
        self.replayer.catalog.level
    }

    fn stored_time(&self) -> u64 {
        let mut reader = self.store.reader().expect("a reader");
        let snapshot = reader.snapshot().expect("a snapshot");
        let row = snapshot.meta(META_TIME).expect("readable").expect("a time");
        u64::from_be_bytes(row.try_into().expect("eight bytes"))
    }

    /// The state of a node is the oracle's at that position.
    pub fn require_state(&self, number: usize, standing: &Standing) {
        let position = standing.position;
        let expected = self.states.get(&position);
        assert_eq!(
            Some(&(standing.digest, standing.last_id)),
            expected,
            "the state of node {number} at position {position}"
        );
        assert!(standing.lanes.configuration <= position);
    }

    /// The clients of a node heard what the oracle's execution says.
    pub fn require_answer(&self, number: usize, answer: &Answer) {
        let failed = |it: &ResultCode| [ResultCode::UNAVAILABLE, ResultCode::BUSY].contains(it);
        let Some(position) = answer.position else {
            return;
        };
        let done = answer.codes.contains(&ResultCode::SUCCESS);
        assert!(
            !answer.codes.iter().any(failed),
            "an executed record has results"
        );
        if done {
            let expected = self.results.get(&position);
            assert_eq!(
                Some(&answer.codes),
                expected,
                "the results of node {number} at position {position}: {answer:?}"
            );
        }
    }
}
