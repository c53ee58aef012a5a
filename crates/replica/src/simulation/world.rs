//! One run under a seed: a node, its second replica and the model, and the steps between them.

use super::clock::SimulatedClock;
use super::copy::Copy;
use super::disk::Harm;
use super::events::Events;
use super::judge::{Conditions, Judge};
use super::log::{Ordered, Trouble};
use super::model::superior;
use super::node::{Node, Surroundings};
use super::random::Random;
use super::template::{folder, template};
use super::workload::Workload;
use super::{BOUNDS, content, random};
use crate::clock::Clock;
use crate::recover::Replayer;
use crate::{ReclaimSizes, check};
use policy::{Attempt, AttemptKind};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::{Lookup, Snapshot, Store};
use tempfile::TempDir;

/// Seconds for which a dynamic entry may outlive its end, because its removal was refused while
/// another entry was below it.
const RETRY_S: u64 = 10;

pub(super) struct World {
    random: Random,
    around: Surroundings,
    node: Option<Node>,
    copy: Option<Copy>,
    judge: Judge,
    /// Dynamic entries whose end has come, and the second in which this was seen.
    late: BTreeMap<String, u64>,
    /// The steps so far, printed with a failure.
    pub steps: Vec<String>,
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let template = template();
        let sizes = 1 + random.below(6) as u32;
        let around = Surroundings {
            clock: Arc::new(SimulatedClock::new(random.branch())),
            events: Events::default(),
            ordered: Ordered::default(),
            index_slice: 1 + random.below(8) as usize,
            reclaim_sizes: ReclaimSizes {
                idle_entries: sizes,
                busy_entries: sizes.div_ceil(2),
            },
        };
        let mut node = Node::open(template.copy(), &around);
        node.begin();
        World {
            random,
            node: Some(node),
            around,
            copy: Some(Copy::new(template)),
            judge: Judge::new(template.model.clone(), template.digest),
            late: BTreeMap::new(),
            steps: Vec::new(),
        }
    }

    /// All steps of the run. Returns the digests of the states in between, by position.
    pub fn run(&mut self) -> BTreeMap<u64, u128> {
        for _ in 0..self.random.below(40) + 10 {
            self.step();
        }
        self.finish();
        std::mem::take(&mut self.judge.digests)
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..50 => self.write(),
            50..58 => self.work(),
            58..70 => self.pass_time(),
            70..75 => self.checkpoint(),
            75..84 => self.follow(),
            84..87 => self.trouble(),
            87..92 => self.compare(),
            92..94 => self.restart(),
            94..97 => self.cut(),
            _ => self.break_disk(),
        }
    }

    fn node(&mut self) -> &mut Node {
        self.node.as_mut().expect("a node")
    }

    fn note(&mut self, step: String) {
        let now_us = self.around.clock.now_us();
        let at_ms = now_us.saturating_sub(super::clock::START_US) / 1_000;
        let position = self.judge.model.position;
        self.steps
            .push(format!("{at_ms} ms, position {position}: {step}"));
    }

    /// Submissions of some clients, and a turn.
    fn write(&mut self) {
        self.submit();
        self.turn();
    }

    fn submit(&mut self) {
        let count = 1 + self.random.below(4);
        for _ in 0..count {
            if self.random.chance(8) {
                self.attempt();
                continue;
            }
            let catalog = self.node().catalog.load_full();
            let writes = Workload {
                random: &mut self.random,
                catalog: &catalog,
                clock: &*self.around.clock,
                model: &self.judge.model,
            }
            .submission();
            self.note(format!("submit {}", brief(&writes, &catalog.schema)));
            self.node().submit(writes);
        }
    }

    /// A password check of some entry.
    fn attempt(&mut self) {
        let catalog = self.node().catalog.load_full();
        let name = Workload {
            random: &mut self.random,
            catalog: &catalog,
            clock: &*self.around.clock,
            model: &self.judge.model,
        }
        .account();
        let kind = *self.random.pick(&[
            AttemptKind::Failed,
            AttemptKind::Failed,
            AttemptKind::Succeeded,
        ]);
        self.note(format!("attempt on {name}: {kind:?}"));
        let resolved = catalog.schema.resolve_name(&name).expect("a name");
        let now_us = self.around.clock.now_us();
        let node = self.node();
        let Lookup::Found(id) = node.look(|it| it.find(&resolved).expect("readable")) else {
            return;
        };
        let mut attempts = node.queue().attempts();
        let time_us = attempts.time_us(now_us);
        attempts.add(id, &resolved, &name, Attempt { kind, time_us });
    }

    fn turn(&mut self) {
        self.node().turn();
        self.hear();
        self.require_ends();
    }

    fn hear(&mut self) {
        let events = self.around.events.take();
        let conditions = self.conditions();
        let catalog = self.node().catalog.load_full();
        self.judge.hear(events, &catalog.schema, conditions);
        let (position, digest) = self.node().look(standing);
        let model = &self.judge.model;
        assert_eq!(position, model.position, "the position of the store");
        assert_eq!(
            Some(&digest),
            self.judge.digests.get(&position),
            "its digest"
        );
    }

    fn conditions(&mut self) -> Conditions {
        let node = self.node();
        Conditions {
            failed: node.has_failed(),
            halted: node.has_failed() && node.is_halted(),
        }
    }

    /// Dynamic entries are removed at their end, when nothing is below them; soon after, if the
    /// removal was refused.
    fn require_ends(&mut self) {
        let now_s = self.around.clock.now_us() / 1_000_000;
        if std::mem::take(&mut self.judge.refused) {
            // A removal may have been among the refused writes: it is tried again later.
            self.late.clear();
        }
        let entries = &self.judge.model.entries;
        let is_leaf = |name: &str| !entries.keys().any(|it| superior(it) == name);
        let over = entries
            .iter()
            .filter(|it| it.1.end_s.is_some_and(|it| it <= now_s));
        let over = over.filter(|it| is_leaf(it.0));
        let over = over.map(|it| {
            let since = self.late.get(it.0).copied();
            (it.0.clone(), since.unwrap_or(now_s).min(now_s))
        });
        self.late = over.collect();
        for (name, since_s) in &self.late {
            assert!(now_s <= since_s + RETRY_S, "{name} has outlived its end");
        }
    }

    fn work(&mut self) {
        self.note("work".to_owned());
        for _ in 0..=self.random.below(3) {
            self.turn();
        }
    }

    fn pass_time(&mut self) {
        let us = *self
            .random
            .pick(&[1, 1_000, 700_000, 3_000_000, 15_000_000, 40_000_000]);
        if self.random.chance(5) {
            self.note(format!("the clock is set back by {us} us"));
            return self.around.clock.set_back(us);
        }
        self.note(format!("{us} us pass"));
        self.around.clock.advance(us);
    }

    fn checkpoint(&mut self) {
        self.note("checkpoint".to_owned());
        self.node().checkpoint();
    }

    /// The second replica executes some of the records that it lacks.
    fn follow(&mut self) {
        let mut copy = self.copy.take().expect("a copy");
        if self.random.chance(20) {
            self.note("the copy is opened again".to_owned());
            copy = copy.reopen();
        }
        let behind = self.judge.model.position - copy.replayer.position;
        let until = copy.replayer.position + self.random.below(behind + 1);
        self.note(format!("the copy follows to {until}"));
        let digests = &self.judge.digests;
        copy.follow(&self.around.ordered, until, digests, &mut self.random);
        self.copy = Some(copy);
    }

    fn trouble(&mut self) {
        let trouble = match self.random.chance(50) {
            true => Trouble::Refuse,
            false => Trouble::Delay(1 + self.random.below(5_000_000)),
        };
        self.note(format!("the commit log will {trouble:?}"));
        self.around.ordered.trouble(trouble);
    }

    /// Entries and history of the node must equal those of the model.
    fn compare(&mut self) {
        self.note("compare".to_owned());
        let catalog = self.node().catalog.load_full();
        let (mut entries, history) = self
            .node()
            .look(|it| (content::entries(it, &catalog), content::history(it)));
        entries.retain(|name, _| !name.starts_with("cn=policy"));
        let model = &self.judge.model;
        for (name, entry) in &model.entries {
            assert_eq!(entries.get(name), Some(entry), "{name}");
        }
        let names: Vec<_> = entries
            .keys()
            .filter(|it| !model.entries.contains_key(*it))
            .collect();
        assert!(
            names.is_empty(),
            "entries that must not be there: {names:?}"
        );
        let last = history.last().map_or(0, |it| it.0);
        assert_eq!(last, model.position, "the last position of the history");
        for (before, after) in history.iter().zip(history.iter().skip(1)) {
            assert_eq!(before.0 + 1, after.0, "positions of the history are dense");
        }
        for (position, count) in history {
            let least = model.changes.get(&position).copied().unwrap_or(0);
            assert!(
                count >= least,
                "{count} changes at position {position}, not {least}"
            );
        }
    }

    /// A clean end, and a new process.
    fn restart(&mut self) {
        self.note("restart".to_owned());
        let folder = self.node.take().expect("a node").end();
        assert!(!Store::has_log(folder.path()), "a clean end leaves no log");
        self.open(folder);
    }

    /// The power is cut, now or at an operation of the disk in one of the next turns.
    fn cut(&mut self) {
        if self.random.chance(75) {
            let after = self.random.below(7);
            self.note(format!("power cut after {after} operations of the disk"));
            self.node().arm(after, Harm::Cut);
            match self.random.chance(15) {
                true => self.node().checkpoint(),
                false => {
                    self.submit();
                    self.node().turn();
                }
            }
        }
        self.crash();
    }

    /// An operation of the disk fails. If the node can go on, it may do so; else the process ends.
    fn break_disk(&mut self) {
        let harm = *self.random.pick(&[
            Harm::NoRoom(0),
            Harm::NoRoom(3),
            Harm::FailedWrite,
            Harm::FailedSync,
            Harm::NoRoomToSync,
        ]);
        if self.random.chance(30) {
            // If no change is newer than the last checkpoint, a checkpoint frees no space.
            self.checkpoint();
        }
        let after = self.random.below(5);
        self.note(format!("{harm:?} after {after} operations of the disk"));
        self.node().arm(after, harm);
        self.submit();
        self.node().turn();
        if self.random.chance(30) {
            self.node().turn();
        }
        if !self.conditions().halted && self.random.chance(50) {
            self.note("the disk works again".to_owned());
            self.hear();
            return self.node().mend();
        }
        self.crash();
    }

    fn crash(&mut self) {
        self.note("crash".to_owned());
        let conditions = self.conditions();
        let node = self.node.take().expect("a node");
        let catalog = node.catalog.load_full();
        let image = node.cut();
        self.judge
            .hear(self.around.events.take(), &catalog.schema, conditions);
        let survived = folder();
        let mut random = self.random.branch();
        image.survive(survived.path(), &mut random);
        if random.chance(20) {
            recover_in_part(survived.path(), &mut random);
        }
        self.open(survived);
    }

    /// Opens the node again, and compares it with the model.
    fn open(&mut self, folder: TempDir) {
        let node = Node::open(folder, &self.around);
        let (position, digest) = node.look(standing);
        self.node = Some(node);
        self.judge.recovered(position, digest);
        self.around.ordered.recovered(position);
        self.compare();
        self.late.clear();
        self.node().begin();
        self.hear();
    }

    /// Lets the node do all its remaining work, and compares node, copy and model.
    fn finish(&mut self) {
        self.note("finish".to_owned());
        self.around.ordered.calm();
        // Failed work is tried again after a write.
        self.write();
        for _ in 0..1_000 {
            self.turn();
            if !self.node().has_work() {
                break;
            }
        }
        assert!(!self.node().has_work(), "own work comes to an end");
        let left = self
            .node()
            .look(|it| it.detached_count().expect("readable"));
        assert_eq!(left, 0, "entries of deleted subtrees are removed");
        self.compare();
        let mut copy = self.copy.take().expect("a copy");
        let (until, digests) = (self.judge.model.position, &self.judge.digests);
        copy.follow(&self.around.ordered, until, digests, &mut self.random);
        copy.complete();
        let mut reader = copy.store.reader().expect("a reader");
        let its = tables(&reader.snapshot().expect("a snapshot"));
        drop(reader);
        let own = self.node().look(tables);
        assert_eq!(own, its, "the tables of node and copy");
        let folder = self.node.take().expect("a node").end();
        self.require_sound(folder.path());
        drop(copy.store);
        self.require_sound(copy.folder.path());
    }

    /// A check finds only the problems that the model predicts.
    fn require_sound(&self, folder: &Path) {
        let report = check::check(folder).expect("checked");
        let shared = |it: &String| it.contains("share the value");
        let (shared, others): (Vec<String>, Vec<String>) =
            report.problems.into_iter().partition(shared);
        assert_eq!(others, Vec::<String>::new(), "problems that a check finds");
        let shares = self.judge.model.shares_values();
        assert_eq!(!shared.is_empty(), shares, "{shared:?}");
    }
}

/// Position and digest.
fn standing(snapshot: &Snapshot<'_>) -> (u64, u128) {
    let position = snapshot.position().expect("readable");
    (position, snapshot.digest().expect("readable"))
}

/// A hash of each table but those of indexes, whose rows depend on the order of building; a check
/// compares them with the entries.
fn tables(snapshot: &Snapshot<'_>) -> Vec<(&'static str, u128)> {
    let mut tables = snapshot.table_hashes().expect("readable");
    tables.retain(|it| !["index", "posting", "order", "count"].contains(&it.0));
    tables
}

/// Begins a recovery that a second crash ends.
fn recover_in_part(folder: &Path, random: &mut random::Random) {
    let (store, recovery) = Store::recover(folder).expect("opened");
    let Some(mut recovery) = recovery else {
        return;
    };
    let mut replayer = Replayer::new(&store).expect("a catalog");
    replayer.catalog.bounds = BOUNDS;
    for _ in 0..random.below(6) {
        let Some(record) = recovery.next_record().expect("readable") else {
            return;
        };
        replayer.execute(&store, &record).expect("executed");
    }
}

/// Writes in few words.
fn brief(writes: &crate::Writes, schema: &schema::Schema) -> String {
    let one = |it: &state::write::Write| super::words::write(it, schema);
    let all: Vec<String> = writes.all().iter().map(one).collect();
    match writes {
        crate::Writes::One(_) => all.join(""),
        crate::Writes::Whole(_) => format!("together [{}]", all.join("; ")),
        crate::Writes::Each(_) => format!("each [{}]", all.join("; ")),
    }
}
