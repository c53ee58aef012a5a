//! A node that executes given records, with the bounds of a release.

use super::super::super::clock::SimulatedClock;
use super::super::super::random::Random;
use super::super::super::template;
use super::super::chaos::Chaos;
use super::file::End;
use crate::clients::{Observer, Submission};
use crate::clock::Clock;
use crate::commit_log::{CommitLog, LogEvent, LogRecord};
use crate::equality;
use crate::executor::{AuditPart, Executor, IndexSlices, OwnWrites, Parts};
use crate::in_flight::InFlight;
use crate::membership::{self, ClusterMark};
use crate::node::{Opened, steward};
use crate::reclaiming::Sizes;
use crate::writer::Queue;
use arc_swap::ArcSwap;
use state::bounds::Bounds;
use state::catalog::Catalog;
use state::lanes::Lanes;
use state::level;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use store::{DATABASE_FILE, EntryId, EntryView, Snapshot, Store, SystemDisk, private};
use tempfile::TempDir;

/// Number of the node in the log: nodes from 2 on do no work of their own.
const IDLE: usize = 2;

struct Silent;

impl Observer for Silent {}

pub(super) struct GoldenNode {
    pub executor: Executor,
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<SimulatedClock>,
    pub queue: Arc<Queue<u64>>,
    pub in_flight: Arc<InFlight<u64>>,
    store: Store,
    _folder: TempDir,
}

impl GoldenNode {
    /// A node with a database that has executed nothing, and that makes no writes of its own.
    pub fn open(database: &[u8]) -> GoldenNode {
        let chaos = Chaos::new(Random::new(0));
        GoldenNode::connect(database, &Arc::new(chaos.connect(IDLE, 0)))
    }

    /// Like [`GoldenNode::open`], with this log.
    pub fn connect(database: &[u8], log: &Arc<impl CommitLog + 'static>) -> GoldenNode {
        let folder = template::folder();
        private::write(&folder.path().join(DATABASE_FILE), database).expect("written");
        let opened = Opened::open(folder.path(), Bounds::default()).expect("opened");
        let store = opened.store;
        let mark = ClusterMark {
            cluster: [1; 16],
            generation: 1,
        };
        membership::put(&store, &mark).expect("marked");
        let catalog = Arc::new(ArcSwap::from_pointee(opened.catalog));
        let clock = Arc::new(SimulatedClock::new(Random::new(1)));
        let queue = Arc::new(Queue::default());
        let in_flight = Arc::new(InFlight::new(0, 1));
        let log: Arc<dyn CommitLog> = Arc::clone(log) as Arc<dyn CommitLog>;
        let mut executor = Executor::new(Parts {
            store: store.clone(),
            catalog: Arc::clone(&catalog),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            is_volatile: false,
            own: OwnWrites::Submitted(steward(&log, &queue, &in_flight)),
            disk: Arc::new(SystemDisk),
            keeper: None,
            audit: AuditPart::none(),
            commits: Arc::default(),
            compaction: Arc::default(),
            observer: Arc::new(Silent),
            reclaim_sizes: Sizes::SMALL,
            index_slices: IndexSlices::default(),
        });
        executor.begin();
        executor.begin_following().expect("begun");
        GoldenNode {
            executor,
            catalog,
            clock,
            queue,
            in_flight,
            store,
            _folder: folder,
        }
    }

    /// Executes records in as few transactions as possible.
    pub fn execute(&mut self, records: &[LogRecord]) {
        let events = records.iter().cloned().map(LogEvent::Record);
        let mut events: VecDeque<LogEvent> = events.collect();
        while !events.is_empty() {
            self.executor.follow(&mut events).expect("executed");
        }
    }

    /// The submissions that the node itself has made.
    pub fn take_own(&self) -> Vec<Submission<u64>> {
        match self.queue.waiting() {
            0 => Vec::new(),
            _ => self.queue.take(true, None).expect("it was not stopped"),
        }
    }

    pub fn look<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> T) -> T {
        let mut reader = self.store.reader().expect("a reader");
        look(&reader.snapshot().expect("a snapshot"))
    }

    /// The state that the node has come to.
    pub fn end(&self) -> End {
        let catalog = self.catalog.load_full();
        self.look(|snapshot| {
            let lanes = Lanes::load(snapshot).expect("readable");
            let position = snapshot.position().expect("readable");
            let digest = snapshot.digest().expect("readable");
            let equality = equality::digest(snapshot, &lanes).expect("readable");
            let level = level::of(snapshot).expect("readable");
            End {
                state: format!("{position} {digest:032x} {equality:032x} {level}"),
                level,
                content: content(snapshot, &catalog),
            }
        })
    }
}

/// Every entry in the order of ids: name, then each value on a line.
fn content(snapshot: &Snapshot<'_>, catalog: &Catalog) -> String {
    let mut text = String::new();
    for found in snapshot.entries_after(EntryId::ROOT) {
        let (id, view) = found.expect("readable");
        let mut name = Vec::new();
        snapshot.write_name(&view, &mut name).expect("readable");
        let _ = writeln!(text, "{} {}", id.0, String::from_utf8_lossy(&name));
        put_values(&mut text, &view, catalog);
        put_members(&mut text, id, snapshot, catalog);
    }
    text
}

fn put_values(text: &mut String, view: &EntryView<'_>, catalog: &Catalog) {
    for attribute in view.attributes() {
        let known = catalog.schema.known(attribute.number).expect("a number");
        for value in attribute.values() {
            let _ = writeln!(text, " {}: {}", known.text, value.escape_ascii());
        }
    }
}

/// Members that are stored as links: ids, or texts.
fn put_members(text: &mut String, id: EntryId, snapshot: &Snapshot<'_>, catalog: &Catalog) {
    for set in snapshot.linked_sets(id).expect("readable") {
        let known = catalog.schema.known(set.number).expect("a number");
        let members = snapshot.members_after(set.set, EntryId::ROOT);
        for member in members.expect("readable") {
            let member = member.expect("readable");
            let said = snapshot.text(member).expect("readable");
            let said = said.map_or(String::new(), |it| it.escape_ascii().to_string());
            let _ = writeln!(text, " {}: -> {} {said}", known.text, member.0);
        }
    }
}
