//! Records a golden log: three nodes append in turn, with every kind of write that there is.

use super::super::super::model::Model;
use super::super::super::random::Random;
use super::super::super::template::template;
use super::super::super::workload::Workload;
use super::super::super::{BASE, content};
use super::super::chaos::{Chaos, node_id};
use super::file::Golden;
use super::node::GoldenNode;
use super::script;
use crate::clients::Writes;
use crate::clock::Clock;
use crate::commit_log::{LogRecord, Origin};
use crate::payload;
use state::level;
use state::record;
use state::write::Unit;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Random submissions in a log.
const SUBMISSIONS: u64 = 60;
/// Offsets of the number of a part and of the number of parts in a payload.
const PART: usize = 17;
const PARTS: usize = 21;
/// Bytes of a payload before its part of the writes.
const HEAD: usize = 25;

struct Recorder {
    node: GoldenNode,
    records: Vec<LogRecord>,
    sequences: [u64; 3],
    place: u64,
}

/// Makes the log of a level. Those of levels above the first raise the level in between.
pub(super) fn record(level: u32) -> Golden {
    let database = template().early().to_vec();
    let chaos = Chaos::new(Random::new(7));
    let log = Arc::new(chaos.connect(0, 0));
    let mut recorder = Recorder {
        node: GoldenNode::connect(&database, &log),
        records: Vec::new(),
        sequences: [0; 3],
        place: 10,
    };
    let mut random = Random::new(u64::from(level));
    recorder.run_script();
    for number in 0..SUBMISSIONS {
        if number == SUBMISSIONS / 3 && level > level::LOWEST {
            chaos.agree();
        }
        recorder.submit_any(&mut random);
        if number % 20 == 10 {
            recorder.repeat();
            recorder.append_outdated();
        }
    }
    // Ends of dynamic entries, and what deletes have left.
    recorder.node.clock.advance(60_000_000);
    for _ in 0..20 {
        recorder.do_own_work();
    }
    recorder.run_script();
    let end = recorder.node.end();
    assert_eq!(end.level, level, "the level that was asked for");
    Golden {
        database,
        records: recorder.records,
        end,
    }
}

impl Recorder {
    /// Submits what the script has, one after the other.
    fn run_script(&mut self) {
        for number in 0.. {
            let catalog = self.node.catalog.load_full();
            let Some(writes) = script::step(number, &catalog, &*self.node.clock) else {
                return;
            };
            self.submit(&writes, number == 0);
        }
    }

    fn submit_any(&mut self, random: &mut Random) {
        self.node.clock.advance(random.below(900_000));
        let catalog = self.node.catalog.load_full();
        let model = Model {
            entries: self.node.look(|it| content::entries(it, &catalog)),
            settings: BTreeMap::new(),
            position: 0,
            changes: BTreeMap::new(),
        };
        let clock = Arc::clone(&self.node.clock);
        let writes = Workload {
            random,
            catalog: &catalog,
            clock: &*clock,
            model: &model,
        }
        .submission();
        if !writes.all().iter().any(|it| it.is_rehearsal()) {
            self.submit(&writes, false);
        }
        self.do_own_work();
    }

    /// Appends and executes writes, in one part or in two.
    fn submit(&mut self, writes: &Writes, in_parts: bool) {
        let units: Vec<Unit<'_>> = writes.units().collect();
        let catalog = self.node.catalog.load_full();
        let mut encoded = Vec::new();
        record::encode_writes(&units, &catalog.schema, &mut encoded);
        let configuration = self.node.executor.configuration();
        let now_us = self.node.clock.now_us();
        let payload = payload::encode(configuration, now_us, &encoded);
        let payload = payload.expect("compressed").remove(0);
        if !in_parts {
            return self.append(payload);
        }
        let (head, chunk) = payload.split_at(HEAD);
        let (first, last) = chunk.split_at(chunk.len() / 2);
        for (number, chunk) in [(0_u32, first), (1, last)] {
            let mut part = [head, chunk].concat();
            part[PART..PARTS].copy_from_slice(&number.to_le_bytes());
            part[PARTS..HEAD].copy_from_slice(&2_u32.to_le_bytes());
            self.append_at(0, part);
        }
    }

    /// Does the node's own work, and appends the writes that it makes.
    fn do_own_work(&mut self) {
        let call: Arc<dyn Fn() + Send + Sync> = Arc::new(|| ());
        self.node.executor.work(&call, false);
        let group = self.node.take_own();
        for submission in &group {
            self.submit(&submission.writes, false);
        }
        self.node.in_flight.note_end(&group);
    }

    /// Repeats a record, as a log does whose reply was lost.
    fn repeat(&mut self) {
        let mut record = self.records.last().expect("a record").clone();
        self.place += 1;
        record.place = self.place;
        self.push(record);
    }

    /// Appends a write that was resolved before any change of the configuration.
    fn append_outdated(&mut self) {
        let catalog = self.node.catalog.load_full();
        let writes = script::addition(&format!("cn=late,{BASE}"), &catalog, &*self.node.clock);
        let mut encoded = Vec::new();
        record::encode_writes(&[&[writes]], &catalog.schema, &mut encoded);
        let payload = payload::encode(0, self.node.clock.now_us(), &encoded);
        self.append(payload.expect("compressed").remove(0));
    }

    fn append(&mut self, payload: Vec<u8>) {
        self.append_at(self.place as usize % self.sequences.len(), payload);
    }

    fn append_at(&mut self, node: usize, payload: Vec<u8>) {
        self.place += 1 + self.place % 3;
        self.sequences[node] += 1;
        self.push(LogRecord {
            place: self.place,
            origin: Origin {
                node: node_id(node),
                epoch: 1,
                lane: 0,
                sequence: self.sequences[node],
            },
            own: None,
            payload,
        });
    }

    fn push(&mut self, record: LogRecord) {
        self.node.execute(std::slice::from_ref(&record));
        self.records.push(record);
    }
}
