//! The state that the tasks of a log share: settings, the queue of events, lanes, and trouble.

use super::keys::Keys;
use super::lanes::Lanes;
use super::members::{DIGESTS_MAX, Database, Members};
use super::pool::Pool;
use super::queue::Queue;
use super::settings::{EtcdLogSettings, OpenFailure};
use super::volume::Volume;
use replica::commit_log::{LogEvent, LogFailure, LogHealth, NodeId, Standing};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Shared by the functions of the log and its tasks.
pub(super) struct Shared {
    pub(super) settings: EtcdLogSettings,
    pub(super) keys: Keys,
    /// Random name of this process, by which it knows its own registration again.
    pub(super) process: String,
    pub(super) queue: Queue,
    pub(super) pool: Pool,
    pub(super) lanes: Lanes,
    pub(super) members: Mutex<Members>,
    /// This process's registration, once there is one.
    pub(super) session: watch::Sender<Option<Session>>,
    /// Why this node can never register, once that is known.
    barred: Mutex<Option<Barred>>,
    /// The node's last report on itself.
    pub(super) own: Mutex<OwnReport>,
    /// Told when `own` changed.
    pub(super) reported: Notify,
    trouble: Mutex<Trouble>,
    /// Place of the registration that took the right to append away, `None` while it is ours.
    fenced_at: Mutex<Option<u64>>,
    /// How full etcd was when it was last asked.
    pub(super) database: Mutex<Option<Database>>,
    /// Bytes of the log, for trimming.
    pub(super) volume: Mutex<Volume>,
    /// The last place that the reader has dealt with.
    pub(super) reached: AtomicU64,
    /// The last place of the log that any answer named.
    head: AtomicU64,
    /// Told when `head` grew.
    pub(super) grown: Notify,
}

/// A registration of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    /// Its number.
    pub(super) epoch: u64,
    /// The revision of the node's key that it made.
    pub(super) revision: i64,
    /// For each lane, the number of its records before this session.
    pub(super) sequences: Vec<u64>,
}

/// The node's last words about itself, for the next report.
#[derive(Default)]
pub(super) struct OwnReport {
    /// `None` before the first.
    pub(super) standing: Option<Standing>,
    /// The last digests, oldest first.
    pub(super) digests: VecDeque<Digest>,
}

/// Digest of this node's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest {
    /// The position.
    pub(super) position: u64,
    /// The digest.
    pub(super) digest: u128,
}

impl Digest {
    /// The digest that a standing names.
    fn of(standing: &Standing) -> Digest {
        let (position, digest) = standing.digest;
        Digest { position, digest }
    }
}

/// Reasons why nothing can be appended; the first that is set is told.
#[derive(Default)]
struct Trouble {
    failed: Option<String>,
    fenced: Option<String>,
    unreachable: Option<String>,
    unregistered: Option<String>,
    busy: Option<String>,
    different: Option<String>,
    clock: Option<String>,
    /// Which of them was last logged, counted in this order.
    told: Option<usize>,
}

/// A reason why nothing can be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Another process registered as this node.
    Fenced,
    /// No member of etcd answers.
    Unreachable,
    /// This process has no registration yet.
    Unregistered,
    /// etcd's database is nearly full.
    Busy,
    /// Nodes have different states, and none is that of most nodes.
    Different,
    /// This node's clock is far from those of the others.
    Clock,
}

/// Reasons why a node can never register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Barred {
    /// It was removed from the cluster.
    Removed,
    /// It registered from another copy of its folder.
    Copied,
}

impl Barred {
    fn failure(self, node: NodeId) -> OpenFailure {
        match self {
            Barred::Removed => OpenFailure::Removed(node),
            Barred::Copied => OpenFailure::Copied(node),
        }
    }
}

impl Shared {
    /// The state of a log that has not read anything.
    ///
    /// # Errors
    /// The settings contradict themselves.
    pub(super) fn new(settings: EtcdLogSettings) -> Result<Shared, OpenFailure> {
        if settings.lanes == 0 {
            let text = "expected at least 1 lane, found 0".to_owned();
            return Err(OpenFailure::Settings(text));
        }
        let shared = Shared {
            keys: Keys::of(&settings.cluster),
            process: match settings.processes.last() {
                Some(name) => name.clone(),
                None => format!("{:032x}", u128::from_be_bytes(settings.clock.uuid())),
            },
            queue: Queue::new(settings.waiting_bytes_max),
            pool: Pool::new(&settings)?,
            lanes: Lanes::new(settings.lanes),
            members: Mutex::default(),
            session: watch::Sender::new(None),
            barred: Mutex::new(None),
            own: Mutex::default(),
            reported: Notify::new(),
            trouble: Mutex::default(),
            fenced_at: Mutex::new(None),
            database: Mutex::new(None),
            volume: Mutex::default(),
            reached: AtomicU64::new(settings.from),
            head: AtomicU64::new(settings.from),
            grown: Notify::new(),
            settings,
        };
        let unreachable = Some("etcd has not answered yet".to_owned());
        lock(&shared.trouble).unreachable = unreachable;
        Ok(shared)
    }

    /// The last place of the log, as far as this node knows.
    pub(super) fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// Notes that the log has this place.
    pub(super) fn saw_head(&self, place: u64) {
        if self.head.fetch_max(place, Ordering::AcqRel) < place {
            self.grown.notify_waiters();
        }
    }

    /// Why nothing can be appended, `None` if it can.
    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.trouble).first()
    }

    /// Notes that a reason holds, or with `None` that it does not any longer.
    pub(super) fn set(&self, reason: Reason, text: Option<String>) {
        let mut trouble = lock(&self.trouble);
        let place = match reason {
            Reason::Fenced => &mut trouble.fenced,
            Reason::Unreachable => &mut trouble.unreachable,
            Reason::Unregistered => &mut trouble.unregistered,
            Reason::Busy => &mut trouble.busy,
            Reason::Different => &mut trouble.different,
            Reason::Clock => &mut trouble.clock,
        };
        *place = text;
        trouble.tell();
    }

    /// Whether a bundle must be refused at once, with the reason.
    pub(super) fn refusal(&self) -> Option<String> {
        let trouble = lock(&self.trouble);
        let hopeless = [
            &trouble.failed,
            &trouble.fenced,
            &trouble.busy,
            &trouble.different,
            &trouble.clock,
        ];
        hopeless.into_iter().flatten().next().cloned()
    }

    /// Whether etcd's database is nearly full.
    pub(super) fn is_busy(&self) -> bool {
        lock(&self.trouble).busy.is_some()
    }

    /// Notes that this node can never register, and follows the log no longer.
    pub(super) fn bar(&self, barred: Barred) {
        *lock(&self.barred) = Some(barred);
        let failure = barred.failure(self.settings.node);
        self.fail(LogFailure::Strange(failure.to_string()));
    }

    /// Why this node can never register; `None` if nothing of that kind is known.
    pub(super) fn barred(&self) -> Option<OpenFailure> {
        let barred = *lock(&self.barred);
        barred.map(|it| it.failure(self.settings.node))
    }

    /// This node cannot follow the log any longer.
    pub(super) fn fail(&self, failure: LogFailure) {
        // Told before it can be noticed: who sees the failure finds the reason here.
        let mut trouble = lock(&self.trouble);
        trouble.failed.get_or_insert_with(|| failure.to_string());
        trouble.tell();
        drop(trouble);
        self.queue.fail(failure);
    }

    /// Another process registered as this node at this place, with this text about it: nothing is
    /// appended any longer.
    pub(super) fn fence(&self, text: String, place: u64) {
        self.set(Reason::Fenced, Some(text));
        self.lanes.fence();
        let mut fenced_at = lock(&self.fenced_at);
        *fenced_at = Some(fenced_at.map_or(place, |it| it.min(place)));
        drop(fenced_at);
        self.settle_fence();
    }

    /// The reader has dealt with everything up to this place.
    pub(super) fn reach(&self, place: u64) {
        self.reached.store(place, Ordering::Release);
        self.saw_head(place);
        self.settle_fence();
    }

    /// Refuses what was sent and is not in the log, once it cannot come any more: the reader has
    /// passed the place of the other process's registration.
    fn settle_fence(&self) {
        let fenced_at = *lock(&self.fenced_at);
        let reached = self.reached.load(Ordering::Acquire);
        if fenced_at.is_none_or(|it| reached < it) {
            return;
        }
        let reason = self.refusal().unwrap_or_default();
        for number in self.lanes.give_up() {
            self.refuse(number, &reason);
        }
    }

    /// Says that a bundle is not in the log and never will be.
    pub(super) fn refuse(&self, number: u64, reason: &str) {
        let reason = reason.to_owned();
        self.queue.push(LogEvent::Refused { number, reason });
    }

    /// Takes what this node says of itself.
    pub(super) fn report(&self, standing: Standing) {
        let mut own = lock(&self.own);
        let digest = Digest::of(&standing);
        if own.digests.back() != Some(&digest) {
            own.digests.push_back(digest);
            if own.digests.len() > DIGESTS_MAX {
                own.digests.pop_front();
            }
        }
        own.standing = Some(standing);
        drop(own);
        self.reported.notify_one();
    }

    /// State of the connection.
    pub(super) fn health(&self) -> LogHealth {
        let trouble = lock(&self.trouble);
        LogHealth {
            trouble: trouble.first(),
            is_silent: trouble.unreachable.is_some() || trouble.failed.is_some(),
            head: self.head(),
        }
    }
}

impl Trouble {
    /// The reasons, the one to tell first.
    fn reasons(&self) -> [&Option<String>; 7] {
        [
            &self.failed,
            &self.fenced,
            &self.unreachable,
            &self.unregistered,
            &self.busy,
            &self.different,
            &self.clock,
        ]
    }

    /// The reason to tell.
    fn first(&self) -> Option<String> {
        self.reasons().into_iter().flatten().next().cloned()
    }

    /// Logs the reason if it is of another kind than before: texts change with each attempt.
    fn tell(&mut self) {
        let now = self.reasons().into_iter().position(Option::is_some);
        if now == self.told {
            return;
        }
        match self.first() {
            Some(trouble) => tracing::warn!(%trouble, "nothing can be appended to the commit log"),
            None => tracing::info!("the commit log takes writes"),
        }
        self.told = now;
    }
}

/// Locks what no panic leaves half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a revision of etcd: the same number.
pub(super) fn place(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(0)
}

/// The revision of a place.
pub(super) fn revision(place: u64) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}
