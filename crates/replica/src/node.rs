//! Opens, starts and ends one node's copy of the directory.

use crate::arrivals::{Arrivals, Arrived, Goal};
use crate::audit_files::{AuditStanding, Auditing, Shown as AuditShown};
use crate::changes::{Keeper, Keeping};
use crate::clients::{Clients, Observer, Submission, Writes};
use crate::clock::Clock;
use crate::commit_log::CommitLog;
use crate::commits::Commits;
use crate::compact::{self, Compaction, Shown};
use crate::executor::{AuditPart, Executor, IndexSlices, OwnWrites, Parts};
use crate::follower::{Channels, Follower};
use crate::in_flight::InFlight;
use crate::membership::{self, ClusterMark};
use crate::order::LocalOrder;
use crate::patience::Patience;
use crate::reclaiming::Sizes as ReclaimSizes;
use crate::rehash::Rehasher;
use crate::scrub::{Scrubber, Scrubbing, Standing};
use crate::steward::Steward;
use crate::writer::{Attempts, Queue, Queues, Writer};
use crate::{failure, leftovers, recover};
use arc_swap::ArcSwap;
use policy::rehash::Rehash;
use protocol::ResultCode;
use state::bounds::Bounds;
use state::catalog::Catalog;
use state::config;
use state::lanes::Lanes;
use state::level;
use state::meta::META_TIME;
use state::stop::{Failure, Refusal};
use state::write::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;
use store::{EntryId, Reader, Snapshot, Store, SystemDisk, Usage};

/// Options for starting a node.
pub struct Options {
    /// Source of time and identifiers.
    pub clock: Arc<dyn Clock>,
    /// Whether changes are kept after the log drops them.
    pub changes: Keeping,
    /// Whether lines of the audit are written.
    pub audit: Auditing,
    /// Schedule of the scrub, which reads the whole database to find damage; `None` for never.
    pub scrub: Option<Scrubbing>,
    /// Numbers of entries of deleted subtrees that one record removes.
    pub reclaim_sizes: ReclaimSizes,
    /// The log of the node's cluster, connected from [`Opened::place`] on; `None` for a node alone.
    pub log: Option<Arc<dyn CommitLog>>,
    /// How long clients wait for that log.
    pub patience: Patience,
    /// Whether the database ends with the process: in a cluster, with data in memory.
    pub is_volatile: bool,
}

/// The database of a data folder, recovered, before the threads of the node run.
pub struct Opened {
    pub(crate) store: Store,
    pub(crate) log: LocalOrder,
    /// The catalog of the newest state. The caller sets its limits, which no database holds.
    pub catalog: Catalog,
}

/// A running node, whose clients' tickets are `T`.
pub struct Replica<T> {
    store: Store,
    /// The catalog of the newest state.
    pub catalog: Arc<ArcSwap<Catalog>>,
    /// Metrics of commits and index builds.
    pub commits: Arc<Commits>,
    writer: Writer<T>,
    compaction: Arc<Compaction>,
    scrubber: Scrubber,
    rehasher: Rehasher,
    audit: Arc<AuditStanding>,
    /// Whether the database ends with the process.
    is_volatile: bool,
    /// The log of the node's cluster, and its readers; `None` on a node alone.
    cluster: Option<Cluster>,
}

/// A running node's part in its cluster.
struct Cluster {
    log: Arc<dyn CommitLog>,
    arrivals: Arc<Arrivals>,
}

/// Summary of a directory's state.
#[derive(Debug, Clone)]
pub struct Status {
    /// Number of entries, including the configuration and detached entries that are still stored.
    pub entries: u64,
    /// The greatest entry id ever given.
    pub last_id: u64,
    /// Position of the last record.
    pub position: u64,
    /// Digest of the state, as 32 hexadecimal digits.
    pub digest: String,
    /// The indexes: attribute, kinds, whether complete, number of entries indexed so far.
    pub indexes: Vec<store::IndexState>,
    /// Number of waiting writes.
    pub waiting_writes: usize,
    /// Number of deleted subtrees whose entries are still being removed.
    pub deleted_subtrees: u64,
    /// The format level at which records are executed.
    pub level: u32,
    /// How the files of the audit stand.
    pub audit: AuditShown,
}

impl Opened {
    /// Opens the database of a data folder after removing files of an unfinished import or
    /// compaction, and executes the log of a process that was not stopped. Logs an error if there
    /// is no room for writes.
    ///
    /// # Errors
    /// There is no database, another process has it open, or it is damaged.
    pub fn open(data: &Path, bounds: Bounds) -> Result<Opened, Failure> {
        let (store, _) = recover::open_store_within(data, bounds)?;
        leftovers::remove_leftovers(data)?;
        compact::remove_leftovers(data)?;
        if !Store::has_room(data) {
            failure::tell_full_at_start(data);
        }
        let mut reader = store.reader()?;
        let snapshot = reader.snapshot()?;
        let dictionary = config::stored_dictionary(&snapshot)?;
        let mut catalog = config::load(&snapshot, &dictionary)?;
        catalog.bounds = bounds;
        let log = order_of(&snapshot)?;
        drop(reader);
        Ok(Opened {
            store,
            log,
            catalog,
        })
    }

    /// The value of a metadata row; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn meta(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let mut reader = self.store.reader()?;
        Ok(reader.snapshot()?.meta(key)?.map(<[u8]>::to_vec))
    }

    /// Place in the log of the node's cluster up to which every record was executed; 0 on a node
    /// alone.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn place(&self) -> Result<u64, Failure> {
        let mut reader = self.store.reader()?;
        Ok(Lanes::load(&reader.snapshot()?)?.place)
    }

    /// The cluster that the database belongs to; `None` for that of a node alone.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn membership(&self) -> Result<Option<ClusterMark>, Failure> {
        let mut reader = self.store.reader()?;
        membership::of(&reader.snapshot()?)
    }

    /// Starts the threads of the node.
    ///
    /// # Errors
    /// The system has no thread left, or the folder of kept changes cannot be made or read.
    pub fn start<C>(
        self,
        options: Options,
        clients: C,
        observer: Arc<dyn Observer>,
    ) -> Result<Replica<C::Ticket>, Failure>
    where
        C: Clients + 'static,
    {
        let (store, log, catalog) = (self.store, self.log, self.catalog);
        let keeper = Keeper::open(store.folder(), options.changes, log.position())?;
        let audit = AuditPart::open(&store, options.audit)?;
        let audit_standing = Arc::clone(&audit.standing);
        let lanes = Lanes::load(&store.reader()?.snapshot()?)?;
        let catalog = Arc::new(ArcSwap::from_pointee(catalog));
        let (commits, compaction) = (Arc::default(), Arc::default());
        let count = options.log.as_ref().map_or(1, |log| log.lanes());
        let queues = Queues::new(count);
        let in_flight = Arc::new(InFlight::new(lanes.configuration, count));
        let own = match &options.log {
            None => OwnWrites::Ordered(Box::new(log)),
            Some(log) => OwnWrites::Submitted(steward(log, queues.first(), &in_flight)),
        };
        let executor = Executor::new(Parts {
            store: store.clone(),
            catalog: Arc::clone(&catalog),
            clock: Arc::clone(&options.clock),
            own,
            disk: Arc::new(SystemDisk),
            keeper,
            audit,
            commits: Arc::clone(&commits),
            compaction: Arc::clone(&compaction),
            observer,
            reclaim_sizes: options.reclaim_sizes,
            index_slices: IndexSlices::default(),
            is_volatile: options.is_volatile,
        });
        let cluster = options.log.map(Cluster::of);
        let writer = match &cluster {
            None => Writer::start(executor, clients, queues),
            Some(cluster) => Cluster::start_writer(
                executor,
                Channels {
                    log: Arc::clone(&cluster.log),
                    queues,
                    in_flight,
                    clients: Arc::new(clients),
                    arrivals: Arc::clone(&cluster.arrivals),
                    patience: options.patience,
                },
            ),
        };
        let writer = writer.map_err(|source| Failure::file("starting a thread", source))?;
        let scrubber = Scrubber::start(options.scrub, &store, &catalog, &options.clock)?;
        Ok(Replica {
            rehasher: Rehasher::new(&catalog.load()),
            store,
            catalog,
            commits,
            writer,
            compaction,
            scrubber,
            audit: audit_standing,
            is_volatile: options.is_volatile,
            cluster,
        })
    }
}

impl<T: Send + 'static> Replica<T> {
    /// A reader for one thread.
    ///
    /// # Errors
    /// No more read transactions are available.
    pub fn reader(&self) -> Result<Reader, Failure> {
        Ok(self.store.reader()?)
    }

    /// Queues a submission for the writer.
    pub fn submit(&self, submission: Submission<T>) {
        self.writer.submit(submission);
    }

    /// Has the right password of an entry, made by `rehash`, stored in another form later, if few
    /// wait for that.
    pub fn rehash(&self, entry: EntryId, rehash: impl FnOnce() -> Rehash)
    where
        T: Send + 'static,
    {
        self.rehasher.add(entry.0, self.writer.queue(), rehash);
    }

    /// Attempts on accounts that may not be in the store yet. Call
    /// [`attempts_added`](Self::attempts_added) after adding to them.
    pub fn attempts(&self) -> MutexGuard<'_, Attempts> {
        self.writer.attempts()
    }

    /// Wakes the writer, which stores the attempts.
    pub fn attempts_added(&self) {
        self.writer.wake();
    }

    /// Whether the log of the cluster answers no questions at present.
    pub fn is_log_silent(&self) -> bool {
        let health = self.cluster.as_ref().map(|it| it.log.health());
        health.is_some_and(|it| it.is_silent)
    }

    /// Whether the node follows the log of a cluster, so that other nodes may have executed more.
    pub fn is_of_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// Calls `then` when this node shows every write that any node acknowledged before this call,
    /// or with a reason why it does not until `until`.
    pub fn fence(&self, until: Instant, then: Arrived) {
        let Some(Cluster { log, arrivals }) = &self.cluster else {
            return then(Ok(()));
        };
        let arrivals = Arc::clone(arrivals);
        log.fence(Box::new(move |end| match end {
            Ok(place) => arrivals.wait(Goal::Place(place), until, then),
            Err(unreachable) => then(Err(unreachable.to_string())),
        }));
    }

    /// Calls `then` when this node has reached a position, or with a reason why it has not until
    /// `until`. A node alone, which nothing but its own writes brings further, does not wait.
    pub fn wait_for(&self, position: u64, until: Instant, then: Arrived) {
        match &self.cluster {
            Some(it) => it.arrivals.wait(Goal::Position(position), until, then),
            None => then(Ok(())),
        }
    }

    /// Calls `then` with the position of this node as soon as that is at least `position`, or with
    /// the one that it has at `until`. Positions of a node alone are not followed: 0.
    pub fn when_reached(
        &self,
        position: u64,
        until: Instant,
        then: impl FnOnce(u64) + Send + 'static,
    ) {
        let Some(Cluster { arrivals, .. }) = &self.cluster else {
            return then(0);
        };
        let reached = Arc::clone(arrivals);
        let then: Arrived = Box::new(move |_| then(reached.position()));
        arrivals.wait(Goal::Position(position), until, then);
    }

    /// Begins to compact the database while it is served.
    ///
    /// # Errors
    /// A compaction is under way, there is no room for the copy, or the data are in memory.
    pub fn compact(&self) -> Result<(), Refusal> {
        if self.is_volatile {
            return Err(Refusal::new(
                ResultCode::UNWILLING_TO_PERFORM,
                "the data of this node are in memory, without the log that a compaction needs: \
                 serve the node anew, which fetches a compact copy",
            ));
        }
        compact::online::ask(&self.store, &self.compaction)?;
        self.writer.call();
        Ok(())
    }

    /// Cancels the compaction under way; returns whether there was one.
    pub fn cancel_compaction(&self) -> bool {
        self.compaction.cancel()
    }

    /// Progress of the last compaction; `None` if there was none since the start.
    pub fn compaction(&self) -> Option<Shown> {
        self.compaction.shown()
    }

    /// Progress of the scrub.
    pub fn scrub_standing(&self) -> Standing {
        self.scrubber.standing()
    }

    /// Whether a scrub is scheduled.
    pub fn scrubs(&self) -> bool {
        self.scrubber.is_on()
    }

    /// Writes a copy of the newest state without free pages, from the first byte to the last.
    ///
    /// # Errors
    /// The store cannot be read, or nobody reads the copy any more.
    pub fn copy_to(&self, output: BorrowedFd<'_>) -> Result<(), Failure> {
        Ok(self.store.copy_to(output)?)
    }

    /// Size of the database file, free pages, readers and their snapshots.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn usage(&self) -> Result<Usage, Failure> {
        Ok(self.store.usage()?)
    }

    /// Size of the used part of the database file in bytes.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn bytes(&self) -> Result<u64, Failure> {
        Ok(self.store.sizes()?.0)
    }

    /// Reads the database into memory, so that the first searches need not wait for the disk; stops
    /// when `wanted` becomes false. Returns the number of bytes read; `None` if there are more than
    /// `bytes_max`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn warm_up(
        &self,
        bytes_max: u64,
        wanted: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, Failure> {
        Ok(self.store.warm_up(bytes_max, wanted)?)
    }

    /// The present state in summary.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn status(&self) -> Result<Status, Failure> {
        let mut reader = self.store.reader()?;
        let snapshot = reader.snapshot()?;
        Ok(Status {
            entries: snapshot.entry_count()?,
            last_id: snapshot.last_id()?.0,
            position: snapshot.position()?,
            digest: format!("{:032x}", snapshot.digest()?),
            indexes: snapshot.index_states()?,
            waiting_writes: self.writer.waiting(),
            deleted_subtrees: snapshot.detached_count()?,
            level: level::of(&snapshot)?,
            audit: self.audit.shown(),
        })
    }

    /// Executes and answers waiting writes, then ends the threads. Writes submitted later get no
    /// answer.
    pub fn shutdown(&self) {
        self.scrubber.stop();
        self.rehasher.stop();
        self.writer.stop();
    }
}

impl Cluster {
    fn of(log: Arc<dyn CommitLog>) -> Cluster {
        Cluster {
            log,
            arrivals: Arc::default(),
        }
    }

    /// Starts the threads of the writer: an orderer for each lane, and the executor.
    fn start_writer<C: Clients + 'static>(
        executor: Executor,
        channels: Channels<C>,
    ) -> std::io::Result<Writer<C::Ticket>> {
        let queues = channels.queues.clone();
        let in_flight = Arc::clone(&channels.in_flight);
        let orderers = channels.orderers(&executor);
        let woken = move || in_flight.lane_is_free();
        channels.log.on_free(Arc::new(woken));
        let follower = Follower::new(executor, channels);
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let mut threads = vec![named("executor").spawn(move || follower.run())?];
        for orderer in orderers {
            threads.push(named("orderer").spawn(move || orderer.run())?);
        }
        Ok(Writer::of(queues, threads))
    }
}

/// The way of the node's own writes to the log of its cluster.
pub(crate) fn steward<T: Send + 'static>(
    log: &Arc<dyn CommitLog>,
    queue: &Arc<Queue<T>>,
    in_flight: &Arc<InFlight<T>>,
) -> Steward {
    let queue = Arc::clone(queue);
    let submit = move |writes: Vec<Write>| {
        queue.submit(Submission {
            writes: Writes::Each(writes),
            client: 0,
            ticket: None,
        });
    };
    let waits = Arc::clone(&in_flight.own_wait);
    Steward::new(Arc::clone(log), Box::new(submit), waits)
}

/// The order of writes, continued from the newest state.
fn order_of(snapshot: &Snapshot<'_>) -> Result<LocalOrder, Failure> {
    let time_us = snapshot.meta(META_TIME)?.and_then(|it| it.try_into().ok());
    let time_us = time_us.map_or(0, u64::from_be_bytes);
    Ok(LocalOrder::new(snapshot.position()?, time_us))
}
