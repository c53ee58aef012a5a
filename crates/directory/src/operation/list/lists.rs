//! Lists of a directory that are kept for the next window or page.

use super::List;
use crate::memory::Budget;
use crate::operation::spool::Spools;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Lists at a time.
const LISTS_MAX: usize = 64;
/// Lists of one subject, so that one subject cannot take the lists of all others away.
const OF_SUBJECT_MAX: usize = 8;
/// How long a list is shown at most, in microseconds: afterwards a new one is made, in which later
/// changes have their place.
const AGE_MAX_US: u64 = 600 * 1_000_000;

/// See the top of the file.
#[derive(Debug)]
pub(crate) struct Lists {
    pub spools: Arc<Spools>,
    /// Those asked for last come last.
    kept: Mutex<Vec<Arc<List>>>,
    next: AtomicU64,
}

/// What a list is wanted for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub fingerprint: u64,
    pub schema: &'a schema::Schema,
    /// The list that the client has seen before.
    pub number: Option<u64>,
    /// The state of the directory now.
    pub version: u64,
    /// Microseconds of Unix time.
    pub now_us: u64,
}

impl Lists {
    /// Lists that make their files in this folder and have so many bytes there at most (0: no
    /// limit).
    pub fn new(folder: &Path, bytes_max: u64, memory: &Arc<Budget>) -> Lists {
        Lists {
            spools: Arc::new(Spools::of_lists(folder, bytes_max, memory)),
            kept: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    /// The list that the client has seen before, as it was then, or one that says what matches now.
    pub fn find(&self, asked: &Asked<'_>) -> Option<Arc<List>> {
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

    /// A number that no list had before.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Keeps a list that is complete.
    pub(super) fn keep(&self, list: Arc<List>) {
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

    /// Gives up the list that was not asked for the longest; false when there is none.
    pub fn give_up_oldest(&self) -> bool {
        let mut kept = self.kept();
        let is_one = !kept.is_empty();
        if is_one {
            kept.remove(0);
        }
        is_one
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<List>>> {
        // A list is put in or taken out whole: nothing is half done after a panic.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
