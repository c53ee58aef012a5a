//! Simulates a cluster: three nodes over one chaotic log, under a seed. Each node executes the
//! records in transactions cut at random; an oracle executes them one by one. Whatever is delayed,
//! repeated, lost or killed, all come to the oracle's state, and each client hears the oracle's
//! results.

mod chaos;
pub(super) mod golden;
mod member;
mod oracle;

use super::clock::SimulatedClock;
use super::disk::Harm;
use super::model::Model;
use super::random::Random;
use super::template::template;
use super::words;
use super::workload::Workload;
use super::{content, template};
use crate::payload;
use chaos::Chaos;
use member::Member;
use oracle::Oracle;
use protocol::ResultCode;
use state::write::{Change, Write};
use state::{level, record};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of nodes.
const NODES: usize = 3;

struct World {
    random: Random,
    chaos: Chaos,
    clocks: Vec<Arc<SimulatedClock>>,
    members: Vec<Option<Member>>,
    oracle: Oracle,
    steps: Vec<String>,
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let chaos = Chaos::new(random.branch());
        let template = template();
        let clocks: Vec<_> = (0..NODES)
            .map(|_| Arc::new(SimulatedClock::new(random.branch())))
            .collect();
        // Half of the runs begin at the first format level, and raise it some time.
        let is_early = seed.is_multiple_of(2);
        let copy = || match is_early {
            true => template.copy_early(),
            false => template.copy(),
        };
        let open = |(number, clock): (usize, &Arc<SimulatedClock>)| {
            Some(Member::open(number, copy(), clock, &chaos))
        };
        World {
            members: clocks.iter().enumerate().map(open).collect(),
            oracle: Oracle::new(copy()),
            clocks,
            chaos,
            random,
            steps: Vec::new(),
        }
    }

    fn run(&mut self) {
        for _ in 0..self.random.below(120) + 30 {
            self.step();
        }
        self.settle();
    }

    fn step(&mut self) {
        let number = self.random.below(NODES as u64) as usize;
        match self.random.below(100) {
            0..40 => self.submit(number),
            40..70 => self.member(number).execute(),
            70..82 => self.chaos.commit(),
            82..88 => self.pass_time(number),
            88..90 => self.checkpoint(number),
            90..91 => self.trim(number),
            91..93 => self.restart(number),
            93..95 => self.kill(number),
            95..97 => self.cut(number),
            97..98 => self.chaos.twin(number),
            98..99 => self.agree(),
            _ => self.compare(),
        }
    }

    fn member(&mut self, number: usize) -> &mut Member {
        self.members[number].as_mut().expect("a node")
    }

    fn note(&mut self, number: usize, step: &str) {
        self.steps.push(format!("node {number}: {step}"));
    }

    fn submit(&mut self, number: usize) {
        for _ in 0..1 + self.random.below(4) {
            let member = self.members[number].as_mut().expect("a node");
            let catalog = member.catalog.load_full();
            let entries = member.look(|it| content::entries(it, &catalog));
            let model = Model {
                entries,
                settings: BTreeMap::new(),
                position: 0,
                changes: BTreeMap::new(),
            };
            let writes = Workload {
                random: &mut self.random,
                catalog: &catalog,
                clock: &*self.clocks[number],
                model: &model,
            }
            .submission();
            let texts = writes
                .all()
                .iter()
                .map(|it| words::write(it, &catalog.schema));
            self.steps.push(format!(
                "node {number}: submit {}",
                texts.collect::<Vec<_>>().join("; ")
            ));
            member.submit(writes);
        }
        self.member(number).order();
    }

    fn pass_time(&mut self, number: usize) {
        let us = *self
            .random
            .pick(&[1, 1_000, 700_000, 3_000_000, 15_000_000]);
        self.note(number, &format!("{us} us pass"));
        self.clocks[number].advance(us);
    }

    fn checkpoint(&mut self, number: usize) {
        self.note(number, "checkpoint");
        self.member(number).checkpoint();
    }

    /// The log removes the records that all nodes have on their disks; this node alone decides how
    /// many, since the others make checkpoints first.
    fn trim(&mut self, number: usize) {
        for other in (0..NODES).filter(|it| *it != number) {
            self.checkpoint(other);
        }
        self.note(number, "trims the log");
        for number in 0..NODES {
            self.member(number).report();
        }
        self.chaos.trim();
    }

    /// An operator asks for the highest format level.
    fn agree(&mut self) {
        self.steps.push("the highest level is asked for".to_owned());
        self.chaos.agree();
    }

    /// A clean end and a new process.
    fn restart(&mut self, number: usize) {
        self.note(number, "restart");
        let folder = self.members[number].take().expect("a node").end();
        self.open(number, folder);
    }

    /// The process is killed: what it gave to the system stays.
    fn kill(&mut self, number: usize) {
        self.note(number, "kill");
        let (folder, before) = self.members[number].take().expect("a node").kill();
        let place = self.open(number, folder);
        assert!(
            place >= before,
            "a killed process has lost records: {place} < {before}"
        );
    }

    /// The power is cut, perhaps in the middle of a transaction.
    fn cut(&mut self, number: usize) {
        let after = self.random.below(9);
        self.note(
            number,
            &format!("power cut after {after} operations of the disk"),
        );
        let member = self.member(number);
        member.disk.arm(after, Harm::Cut);
        member.execute();
        let image = self.members[number].take().expect("a node").cut();
        let survived = template::folder();
        let mut random = self.random.branch();
        image.survive(survived.path(), &mut random);
        self.open(number, survived);
    }

    fn open(&mut self, number: usize, folder: tempfile::TempDir) -> u64 {
        let clock = &self.clocks[number];
        let member = Member::open(number, folder, clock, &self.chaos);
        let place = member.place();
        self.members[number] = Some(member);
        place
    }

    /// Executes everything everywhere.
    fn settle(&mut self) {
        self.chaos.calm();
        self.agree();
        for _ in 0..200 {
            for number in 0..NODES {
                self.member(number).order();
                self.chaos.commit_all();
                self.member(number).execute();
            }
            let is_done = |it: &Option<Member>| it.as_ref().is_some_and(Member::is_done);
            if self.members.iter().all(is_done) && self.chaos.is_delivered() {
                self.compare();
                return self.require_highest_level();
            }
        }
        panic!("the nodes do not come to rest");
    }

    /// Every node, and the oracle, is at the highest level.
    fn require_highest_level(&mut self) {
        assert_eq!(self.oracle.level(), level::HIGHEST);
        for number in 0..NODES {
            let catalog = self.member(number).catalog.load();
            assert_eq!(catalog.level, level::HIGHEST, "the level of node {number}");
        }
    }

    /// Compares each node with the oracle at the node's position.
    fn compare(&mut self) {
        self.oracle.follow(&self.chaos);
        for number in 0..NODES {
            self.member(number).report();
            assert_eq!(
                self.member(number).halted(),
                None,
                "node {number} follows the log"
            );
            let (heard, standing) = {
                let member = self.members[number].as_mut().expect("a node");
                (member.take_heard(), member.standing())
            };
            self.oracle.require_state(number, &standing);
            assert!(heard.undecided.is_empty(), "node {number} follows the log");
            for answer in heard.answers {
                self.oracle.require_answer(number, &answer);
            }
        }
    }
}

/// A node that cannot follow the log any longer does not leave a client waiting.
pub(super) fn lose_the_log() {
    let mut world = World::new(1);
    world.submit(0);
    world.submit(0);
    world.chaos.forget();
    let member = world.member(0);
    while member.halted().is_none() {
        member.execute();
    }
    let heard = member.take_heard();
    assert!(!heard.undecided.is_empty(), "the log may have a bundle");
    // A write that comes later is not handed over.
    world.submit(0);
    let refused = world.member(0).take_heard().answers;
    let codes = refused.iter().flat_map(|it| &it.codes);
    assert!(codes.clone().count() > 0 && codes.clone().all(|it| *it == ResultCode::UNAVAILABLE));
}

/// A node whose program does not execute the level that the next record brings stops before it, and
/// has executed everything that stands before.
pub(super) fn meet_a_later_level() {
    let mut world = World::new(2);
    world.chaos.calm();
    world.submit(0);
    world.chaos.commit_all();
    world.member(0).execute();
    let configuration = world.member(0).standing().lanes.configuration;
    let catalog = world.member(0).catalog.load_full();
    let raise = Write::of_no_entry(Change::Level(level::HIGHEST + 1));
    let mut writes = Vec::new();
    record::encode_writes(
        &[std::slice::from_ref(&raise)],
        &catalog.schema,
        &mut writes,
    );
    let payload = payload::encode(configuration, 1, &writes)
        .expect("compressed")
        .remove(0);
    world.chaos.append(1, payload);
    let before = world.chaos.records_after(0);
    let (raising, before) = before.split_last().expect("records");
    world.submit(2);
    world.chaos.commit_all();
    let text = level::Unknown {
        level: level::HIGHEST + 1,
    };
    for number in 0..NODES {
        let member = world.member(number);
        for _ in 0..100 {
            member.execute();
            if member.halted().is_some() {
                break;
            }
        }
        let halted = member.halted().expect("a reason");
        assert!(halted.contains(&text.to_string()), "{halted}");
        let place = before.last().map_or(0, |it| it.place);
        assert!((place..raising.place).contains(&member.place()));
        // A new process of the same program stops there, too.
        let (folder, _) = world.members[number].take().expect("a node").kill();
        assert!((place..raising.place).contains(&world.open(number, folder)));
        let member = world.member(number);
        member.execute();
        assert!(member.halted().is_some());
    }
}

/// Runs a seed; panics with the steps if a result or a state is wrong.
pub(super) fn run(seed: u64) {
    let mut world = World::new(seed);
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run()));
    if let Err(panic) = ran {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        panic!(
            "seed {seed}: {}\nagain with PANDO_SIMULATE_CLUSTER_SEED={seed}; its steps:\n{}",
            text.unwrap_or_default(),
            world.steps.join("\n")
        );
    }
}
