//! Bundles of this process on their way through the log of a cluster, with those who wait for them.

use crate::clients::Submission;
use state::write::Write;
use std::collections::{BTreeMap, btree_map};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bundles between the orderers and the executor of a node, which share them.
pub(crate) struct InFlight<T> {
    bundles: Mutex<Bundles<T>>,
    /// Signalled when a lane becomes free.
    lane: Condvar,
    /// Whether the node's own writes have no result yet.
    pub own_wait: Arc<AtomicBool>,
    /// Position of the last record that changed the configuration. It is set after the catalog is
    /// published: whoever reads it first never has an older catalog.
    pub configuration: AtomicU64,
}

struct Bundles<T> {
    waiting: BTreeMap<u64, Waiting<T>>,
    /// Number of the last bundle.
    number: u64,
    /// Why this node executes no records any more; `None` while it does.
    halted: Option<String>,
    /// Number of orderers that have not ended.
    orderers: u8,
}

/// Submissions that share a bundle.
pub(crate) struct Waiting<T> {
    pub group: Vec<Submission<T>>,
    /// Number of the first part of the bundle; the last one has the number of the bundle.
    first_part: u64,
    /// When the bundle was handed over.
    since: Instant,
}

impl<T> InFlight<T> {
    /// No bundles yet, for a number of lanes that have an orderer each.
    pub fn new(configuration: u64, lanes: u8) -> InFlight<T> {
        let bundles = Bundles {
            waiting: BTreeMap::new(),
            number: 0,
            halted: None,
            orderers: lanes,
        };
        InFlight {
            bundles: Mutex::new(bundles),
            lane: Condvar::new(),
            own_wait: Arc::default(),
            configuration: AtomicU64::new(configuration),
        }
    }

    /// Keeps the submissions of a bundle of so many parts. Returns the number of its first part;
    /// the last one has the number of the bundle.
    ///
    /// # Errors
    /// No record is executed any more: the submissions come back.
    pub fn put(&self, parts: usize, group: Vec<Submission<T>>) -> Result<u64, Vec<Submission<T>>> {
        let mut bundles = self.lock();
        if bundles.halted.is_some() {
            return Err(group);
        }
        let first_part = bundles.number + 1;
        bundles.number += parts as u64;
        let waiting = Waiting {
            group,
            first_part,
            since: Instant::now(),
        };
        let number = bundles.number;
        bundles.waiting.insert(number, waiting);
        Ok(first_part)
    }

    /// Takes the submissions of the bundle that has a part of this number; `None` for a part that
    /// is not the last one of an executed bundle.
    pub fn take(&self, number: u64, of_any_part: bool) -> Option<Vec<Submission<T>>> {
        let mut bundles = self.lock();
        let (last, first) = bundles
            .waiting
            .range(number..)
            .next()
            .map(|(last, waiting)| (*last, waiting.first_part))?;
        let fits = last == number || (of_any_part && first <= number);
        let taken = fits.then(|| bundles.waiting.remove(&last)).flatten();
        taken.map(|it| it.group)
    }

    /// Takes the submissions of bundles that were handed over before `before` and have no place
    /// yet.
    pub fn take_overdue(&self, before: Instant) -> Vec<Vec<Submission<T>>> {
        let mut bundles = self.lock();
        // Bundles are handed over in the order of their numbers.
        let overdue = |it: btree_map::OccupiedEntry<'_, u64, Waiting<T>>| {
            (it.get().since < before).then(|| it.remove().group)
        };
        let next = || bundles.waiting.first_entry().and_then(overdue);
        std::iter::from_fn(next).collect()
    }

    /// Number of bundles.
    pub fn count(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Takes all submissions, because no record will be executed any more, for this reason.
    pub fn halt(&self, reason: String) -> Vec<Vec<Submission<T>>> {
        let mut bundles = self.lock();
        bundles.halted = Some(reason);
        let all = std::mem::take(&mut bundles.waiting);
        self.lane.notify_all();
        all.into_values().map(|it| it.group).collect()
    }

    /// Why no record is executed any more; `None` while records are.
    pub fn halted(&self) -> Option<String> {
        self.lock().halted.clone()
    }

    /// Notes that one orderer has ended.
    pub fn close(&self) {
        self.lock().orderers -= 1;
    }

    /// Whether no further bundle will come.
    pub fn is_closed(&self) -> bool {
        self.lock().orderers == 0
    }

    /// Wakes an orderer that waits for a lane.
    pub fn lane_is_free(&self) {
        // The lock orders this call behind a look at the lane that is under way.
        drop(self.lock());
        self.lane.notify_all();
    }

    /// Waits until `is_free`, or the node halts; at most until `deadline`. Returns whether it is
    /// free.
    pub fn wait_for_lane(&self, is_free: impl Fn() -> bool, deadline: Instant) -> bool {
        let mut bundles = self.lock();
        loop {
            if is_free() {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO || bundles.halted.is_some() {
                return false;
            }
            let woken = self.lane.wait_timeout(bundles, left);
            bundles = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Notes the end of submissions: the node's own next ones may come.
    pub fn note_end(&self, group: &[Submission<T>]) {
        let is_own = |it: &Submission<T>| {
            let mut writes = it.writes.all().iter();
            it.ticket.is_none() && !writes.any(Write::is_of_attempts)
        };
        if group.iter().any(is_own) {
            self.own_wait.store(false, Ordering::Release);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Bundles<T>> {
        self.bundles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
