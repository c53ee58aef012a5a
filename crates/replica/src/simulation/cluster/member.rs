//! A node of the simulated cluster: orderer and executor in turns, without threads of their own.

use super::super::BOUNDS;
use super::super::clock::SimulatedClock;
use super::super::disk::{Image, SimulatedDisk};
use super::super::events::Events;
use super::chaos::Chaos;
use crate::clients::{Clients, Observer, Submission, Writes};
use crate::clock::Clock;
use crate::commit_log::CommitLog;
use crate::executor::{AuditPart, Executor, IndexSlices, OwnWrites, Parts};
use crate::follower::{Channels, Follower};
use crate::in_flight::InFlight;
use crate::membership::{self, ClusterMark};
use crate::node::{Opened, steward};
use crate::orderer::Orderer;
use crate::patience::Patience;
use crate::reclaiming::Sizes;
use crate::writer::Queues;
use arc_swap::ArcSwap;
use protocol::ResultCode;
use state::catalog::Catalog;
use state::execute::Done;
use state::lanes::Lanes;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{SliceLimits, Snapshot, Store};
use tempfile::TempDir;

/// What clients heard about the submissions of one bundle.
#[derive(Debug)]
pub(super) struct Answer {
    /// Numbers of the submissions, in order.
    pub submissions: Vec<u64>,
    pub codes: Vec<ResultCode>,
    /// Position of the state after the record; `None` if they have no place in the order.
    pub position: Option<u64>,
}

/// The state of a node.
pub(super) struct Standing {
    pub position: u64,
    pub digest: u128,
    pub last_id: u64,
    /// Every row that tells how far the node has followed the log, but for the place itself.
    pub lanes: Lanes,
}

/// What clients have heard since the last look.
#[derive(Default)]
pub(super) struct News {
    pub answers: Vec<Answer>,
    /// Numbers of submissions without a result.
    pub undecided: Vec<u64>,
}

#[derive(Default, Clone)]
struct Heard(Arc<Mutex<News>>);

impl Heard {
    fn lock(&self) -> MutexGuard<'_, News> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clients for Heard {
    type Ticket = u64;

    fn answer(
        &self,
        group: &[Submission<u64>],
        results: &mut dyn Iterator<Item = Done>,
        position: Option<u64>,
    ) {
        let units = group.iter().map(|it| it.writes.units().count()).sum();
        let codes: Vec<_> = results
            .take(units)
            .map(|it| it.outcome.result.code)
            .collect();
        assert_eq!(codes.len(), units, "each unit has a result");
        let answer = Answer {
            submissions: group.iter().filter_map(|it| it.ticket).collect(),
            codes,
            position,
        };
        self.lock().answers.push(answer);
    }

    fn undecided(&self, group: &[Submission<u64>], _: &str) {
        let tickets = group.iter().filter_map(|it| it.ticket);
        self.lock().undecided.extend(tickets);
    }
}

struct Silent;

impl Observer for Silent {}

pub(super) struct Member {
    follower: Follower<Heard>,
    orderers: Vec<Orderer<Heard>>,
    pub disk: Arc<SimulatedDisk>,
    store: Store,
    pub catalog: Arc<ArcSwap<Catalog>>,
    queues: Queues<u64>,
    in_flight: Arc<InFlight<u64>>,
    log: Arc<dyn CommitLog>,
    heard: Heard,
    /// Number of the last submission.
    submitted: u64,
    /// Numbers of the submissions whose clients have heard.
    answered: HashSet<u64>,
    folder: TempDir,
}

impl Member {
    /// Opens the database of a folder, after recovery if it was not closed.
    pub fn open(
        number: usize,
        folder: TempDir,
        clock: &Arc<SimulatedClock>,
        chaos: &Chaos,
    ) -> Member {
        let opened = Opened::open(folder.path(), BOUNDS).expect("opened");
        let place = opened.place().expect("readable");
        let store = opened.store;
        if place == 0 {
            mark(&store);
        }
        let catalog = Arc::new(ArcSwap::from_pointee(opened.catalog));
        let log: Arc<dyn CommitLog> = Arc::new(chaos.connect(number, place));
        let disk = Arc::new(SimulatedDisk::new(folder.path(), Events::default()));
        let (queues, heard) = (Queues::new(log.lanes()), Heard::default());
        let in_flight = Arc::new(InFlight::new(load(&store).configuration, log.lanes()));
        let slice = SliceLimits::entries(1 + number);
        let clock: Arc<dyn Clock> = Arc::clone(clock) as Arc<dyn Clock>;
        let executor = Executor::new(Parts {
            store: store.clone(),
            catalog: Arc::clone(&catalog),
            clock: Arc::clone(&clock),
            own: OwnWrites::Submitted(steward(&log, queues.first(), &in_flight)),
            disk: Arc::clone(&disk) as Arc<dyn store::Disk>,
            keeper: None,
            audit: AuditPart::none(),
            commits: Arc::default(),
            compaction: Arc::default(),
            observer: Arc::new(Silent),
            reclaim_sizes: Sizes::SMALL,
            index_slices: IndexSlices {
                idle: slice,
                between: slice,
            },
            is_volatile: false,
        });
        let channels = Channels {
            log: Arc::clone(&log),
            queues: queues.clone(),
            in_flight: Arc::clone(&in_flight),
            clients: Arc::new(heard.clone()),
            arrivals: Arc::default(),
            patience: Patience::default(),
        };
        let orderers = channels.orderers(&executor);
        let mut follower = Follower::new(executor, channels);
        follower.begin();
        Member {
            follower,
            orderers,
            disk,
            store,
            catalog,
            queues,
            in_flight,
            log,
            heard,
            submitted: 0,
            answered: HashSet::new(),
            folder,
        }
    }

    pub fn submit(&mut self, writes: Writes) {
        self.submitted += 1;
        // Each is of another client than the one before.
        let client = self.submitted;
        self.queues.of(client).submit(Submission {
            writes,
            client,
            ticket: Some(self.submitted),
        });
    }

    /// Hands over what waits, if the log takes it, or refuses it.
    pub fn order(&mut self) {
        let halted = self.halted().is_some();
        for orderer in &mut self.orderers {
            if halted || self.log.is_free(orderer.lane) {
                orderer.turn(Instant::now());
            }
        }
    }

    /// Executes some of the records that have come, and does a slice of the node's own work.
    pub fn execute(&mut self) {
        let call: Arc<dyn Fn() + Send + Sync> = Arc::new(|| ());
        self.follower.turn(Duration::ZERO, &call);
    }

    /// Tells the log how far this node is.
    pub fn report(&mut self) {
        self.follower.report_now();
    }

    /// Why this node follows the log no more; `None` while it does.
    pub fn halted(&self) -> Option<String> {
        self.in_flight.halted()
    }

    pub fn checkpoint(&mut self) {
        self.follower.checkpoint();
    }

    /// Whether nothing waits on this node.
    pub fn is_done(&self) -> bool {
        let waiting = self.in_flight.count() + self.queues.waiting();
        waiting == 0 && self.queues.first().attempts().is_empty()
    }

    /// Place up to which every record was executed.
    pub fn place(&self) -> u64 {
        load(&self.store).place
    }

    pub fn take_heard(&mut self) -> News {
        let taken = std::mem::take(&mut *self.heard.lock());
        let answered = taken.answers.iter().flat_map(|it| &it.submissions);
        for number in answered.chain(&taken.undecided) {
            assert!(
                self.answered.insert(*number),
                "submission {number} is answered twice"
            );
        }
        taken
    }

    pub fn standing(&self) -> Standing {
        self.look(|it| Standing {
            position: it.position().expect("readable"),
            digest: it.digest().expect("readable"),
            last_id: it.last_id().expect("readable").0,
            lanes: Lanes::load(it).expect("readable"),
        })
    }

    pub fn look<T>(&self, look: impl FnOnce(&Snapshot<'_>) -> T) -> T {
        let mut reader = self.store.reader().expect("a reader");
        look(&reader.snapshot().expect("a snapshot"))
    }

    /// Ends all work and closes the database.
    pub fn end(mut self) -> TempDir {
        self.follower.end();
        self.folder
    }

    /// Ends the process at once; returns the folder as the system has it, and the place reached.
    pub fn kill(self) -> (TempDir, u64) {
        let place = self.follower.logged_place();
        (self.folder, place)
    }

    /// Ends the process and the system's memory at once.
    pub fn cut(self) -> Image {
        self.disk.cut()
    }
}

/// Marks a database that follows no log yet.
fn mark(store: &Store) {
    let membership = ClusterMark {
        cluster: [1; 16],
        generation: 1,
    };
    membership::put(store, &membership).expect("marked");
}

fn load(store: &Store) -> Lanes {
    let mut reader = store.reader().expect("a reader");
    Lanes::load(&reader.snapshot().expect("a snapshot")).expect("readable")
}
