//! A node under the simulation: the executor with the writer's turns, without a thread of its own.

use super::BOUNDS;
use super::clock::SimulatedClock;
use super::disk::{Harm, Image, SimulatedDisk};
use super::events::{Answers, Commits, Events};
use super::log::{Ordered, SimulatedLog};
use crate::clients::{Submission, Writes};
use crate::clock::Clock;
use crate::executor::{AuditPart, Executor, IndexSlices, OwnWrites, Parts};
use crate::node::Opened;
use crate::reclaiming::Sizes as ReclaimSizes;
use crate::writer::{Queue, Thread};
use arc_swap::ArcSwap;
use state::catalog::Catalog;
use std::sync::Arc;
use store::{Error, SliceLimits, Snapshot, Store};
use tempfile::TempDir;

/// Parts of the simulation that outlive the process of a node.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub clock: Arc<SimulatedClock>,
    pub events: Events,
    pub ordered: Ordered,
    /// Entries whose index keys one slice adds.
    pub index_slice: usize,
    pub reclaim_sizes: ReclaimSizes,
}

pub(super) struct Node {
    thread: Thread<Answers>,
    queue: Queue<()>,
    call: Arc<dyn Fn() + Send + Sync>,
    disk: Arc<SimulatedDisk>,
    store: Store,
    pub catalog: Arc<ArcSwap<Catalog>>,
    folder: TempDir,
}

impl Node {
    /// Opens the database of a folder, after recovery if it was not closed.
    pub fn open(folder: TempDir, around: &Surroundings) -> Node {
        let opened = Opened::open(folder.path(), BOUNDS).expect("opened");
        let store = opened.store;
        let catalog = Arc::new(ArcSwap::from_pointee(opened.catalog));
        let disk = Arc::new(SimulatedDisk::new(folder.path(), around.events.clone()));
        let log = SimulatedLog {
            order: opened.log,
            ordered: around.ordered.clone(),
            events: around.events.clone(),
            clock: Arc::clone(&around.clock),
            catalog: Arc::clone(&catalog),
            store: store.clone(),
        };
        let executor = Executor::new(Parts {
            store: store.clone(),
            catalog: Arc::clone(&catalog),
            clock: Arc::clone(&around.clock) as Arc<dyn Clock>,
            own: OwnWrites::Ordered(Box::new(log)),
            disk: Arc::clone(&disk) as Arc<dyn store::Disk>,
            keeper: None,
            audit: AuditPart::none(),
            commits: Arc::default(),
            compaction: Arc::default(),
            observer: Arc::new(Commits {
                events: around.events.clone(),
                store: store.clone(),
            }),
            reclaim_sizes: around.reclaim_sizes,
            index_slices: IndexSlices {
                idle: SliceLimits::entries(around.index_slice),
                between: SliceLimits::entries(around.index_slice),
            },
            is_volatile: false,
        });
        Node {
            thread: Thread {
                executor,
                clients: Answers(around.events.clone()),
            },
            queue: Queue::default(),
            call: Arc::new(|| ()),
            disk,
            store,
            catalog,
            folder,
        }
    }

    /// Begins work, as the writer thread does.
    pub fn begin(&mut self) {
        self.thread.executor.begin();
    }

    pub fn submit(&self, writes: Writes) {
        self.queue.submit(Submission {
            writes,
            client: 0,
            ticket: Some(()),
        });
    }

    pub fn queue(&self) -> &Queue<()> {
        &self.queue
    }

    /// One turn of the writer: own work, then the writes that wait.
    pub fn turn(&mut self) {
        let taken = self.queue.take(true, None).expect("it was not stopped");
        self.thread.turn(&self.queue, &self.call, &taken);
    }

    pub fn has_work(&self) -> bool {
        self.thread.executor.has_work()
    }

    /// Makes a checkpoint; a failure is that of the disk.
    pub fn checkpoint(&mut self) {
        let made = self.thread.executor.checkpoint();
        assert!(made.is_ok() || self.disk.has_failed(), "{made:?}");
    }

    pub fn arm(&self, after: u64, harm: Harm) {
        self.disk.arm(after, harm);
    }

    pub fn mend(&self) {
        self.disk.mend();
    }

    pub fn has_failed(&self) -> bool {
        self.disk.has_failed()
    }

    /// Whether the store takes no more writes until it is opened again.
    pub fn is_halted(&self) -> bool {
        let begun = self.store.begin(&self.catalog.load().indexes);
        matches!(begun, Err(Error::Halted { .. }))
    }

    pub fn look<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> T) -> T {
        let mut reader = self.store.reader().expect("a reader");
        look(&reader.snapshot().expect("a snapshot"))
    }

    /// Ends the process at once; returns the content of the disk at the moment of the cut.
    pub fn cut(self) -> Image {
        self.disk.cut()
    }

    /// Ends all work and closes the database.
    pub fn end(mut self) -> TempDir {
        self.thread.executor.end();
        self.folder
    }
}
