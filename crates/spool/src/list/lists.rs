//! The lists of a directory that are kept for later views and pages.

use crate::list::List;
use crate::memory::Budget;
use crate::spool::Spools;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of lists.
const LISTS_MAX: usize = 64;
/// Maximum number of lists of one subject, so that no subject displaces the lists of others.
const OF_SUBJECT_MAX: usize = 8;
/// Maximum age of a list in microseconds. After it a new list is made, which shows later changes.
const AGE_MAX_US: u64 = 600 * 1_000_000;

/// The kept lists of a directory.
#[derive(Debug)]
pub struct Lists {
    /// Storage of the lists.
    pub spools: Arc<Spools>,
    /// The lists, most recently used last.
    kept: Mutex<Vec<Arc<List>>>,
    next: AtomicU64,
}

/// Conditions for finding a list.
#[derive(Debug, Clone, Copy)]
pub struct ListQuery<'a> {
    /// Fingerprint of all inputs that determine the list's content.
    pub fingerprint: u64,
    /// The schema that gives the sort keys their meaning.
    pub schema: &'a schema::Schema,
    /// Number of the list that the client has seen.
    pub number: Option<u64>,
    /// The present snapshot version.
    pub version: u64,
    /// The present time in microseconds of Unix time.
    pub now_us: u64,
}

/// A random number, so that lists of other nodes and of earlier processes have other numbers. It is
/// not 0, and neither are the numbers after it.
fn first_number() -> u64 {
    (RandomState::new().hash_one(()) >> 1) | 1
}

impl Lists {
    /// An empty set of lists whose files are made in `folder` and take at most `bytes_max` bytes (0
    /// for no limit).
    pub fn new(folder: &Path, bytes_max: u64, memory: &Arc<Budget>) -> Lists {
        Lists {
            spools: Arc::new(Spools::of_lists(folder, bytes_max, memory)),
            kept: Mutex::default(),
            next: AtomicU64::new(first_number()),
        }
    }

    /// The list that the client has seen, or one that is up to date; `None` if there is neither.
    pub fn find(&self, asked: &ListQuery<'_>) -> Option<Arc<List>> {
        let mut kept = self.kept();
        kept.retain(|it| it.origin.begun_us.saturating_add(AGE_MAX_US) > asked.now_us);
        let is_it = |it: &Arc<List>| {
            it.origin.fingerprint == asked.fingerprint && it.origin.schema.is_same(asked.schema)
        };
        let seen = |it: &Arc<List>| is_it(it) && Some(it.number) == asked.number;
        let fresh = |it: &Arc<List>| is_it(it) && it.origin.version == asked.version;
        let at = kept.iter().position(seen);
        let at = at.or_else(|| kept.iter().rposition(fresh))?;
        let list = kept.remove(at);
        kept.push(Arc::clone(&list));
        Some(list)
    }

    /// A new unique number for a list.
    pub fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps a complete list.
    pub fn keep(&self, list: Arc<List>) {
        let mut kept = self.kept();
        let subject = &list.origin.subject;
        let own = kept.iter().filter(|it| it.origin.subject == *subject);
        if own.count() >= OF_SUBJECT_MAX {
            let oldest = kept.iter().position(|it| it.origin.subject == *subject);
            kept.remove(oldest.expect("some were counted"));
        } else if kept.len() >= LISTS_MAX {
            kept.remove(0);
        }
        kept.push(list);
    }

    /// Drops the least recently used list; returns `false` if there is none.
    pub fn give_up_oldest(&self) -> bool {
        let mut kept = self.kept();
        let is_one = !kept.is_empty();
        if is_one {
            kept.remove(0);
        }
        is_one
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<List>>> {
        // A list is added or removed by one operation, so the value is consistent even after a
        // panic.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
