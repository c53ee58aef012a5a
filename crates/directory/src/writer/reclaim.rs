//! Doing what writes have left: removing deleted subtrees and sets of links, and changing groups
//! whose members were renamed. These are writes like any other, of some hundred entries each, which
//! the writer makes for as long as there is something left.
//!
//! What is left stands in the database: entries below [`store::EntryId::DETACHED`], sets that
//! nobody owns, ways to groups under [`META_TOURS`]. So nothing has to be remembered over a
//! restart, and after a crash the work goes on where the log ends.

use super::Desk;
use crate::bundle::{Bundle, Submission};
use crate::flow::{Completion, Mailbox, Reply};
use protocol::{ResultCode, ResultKind};
use schema::Name;
use state::execute::META_TOURS;
use state::grant::Grant;
use state::stop::Failure;
use state::write::{Change, Write};
use std::sync::Arc;
use std::time::Instant;

/// Entries removed by one record while nothing else is to do: what comes meanwhile waits that long,
/// some 50 ms. Few in unit tests, which want several records.
const IDLE_ENTRIES: u32 = if cfg!(test) { 4 } else { 512 };
/// The same while others write: the sync takes as long as the removal.
const BUSY_ENTRIES: u32 = if cfg!(test) { 4 } else { 64 };

/// How far the removal has come.
#[derive(Debug, Default)]
pub(crate) struct Reclaiming {
    /// Something is left.
    left: bool,
    /// The last try failed: it waits for the next write.
    stalled: bool,
    /// That was said already.
    complained: bool,
    /// Others wrote since the last slice.
    busy: bool,
    /// Since when the writer is at it.
    since: Option<Instant>,
    entries: u64,
}

impl Reclaiming {
    /// Whether the writer should go on with it when nothing else is to do.
    pub fn is_due(&self) -> bool {
        self.left && !self.stalled
    }

    /// A write went through: perhaps this does, too.
    pub fn try_again(&mut self) {
        self.stalled = false;
    }

    /// What a commit brought.
    pub fn note(&mut self, left_work: bool, reclaimed: u32) {
        if left_work {
            self.begin();
        }
        self.entries += u64::from(reclaimed);
    }

    fn begin(&mut self) {
        self.left = true;
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) {
        let seconds = self.since.map_or(0.0, |it| it.elapsed().as_secs_f64());
        match self.entries {
            0 => tracing::info!(seconds, "what former writes left is done"),
            entries => {
                tracing::info!(
                    entries,
                    seconds,
                    "the entries of deleted subtrees are removed"
                );
            }
        }
        *self = Reclaiming::default();
    }
}

/// Nobody waits for the result.
pub(super) struct Nobody;

impl Mailbox for Nobody {
    fn deliver(&self, _: Vec<Completion>) {}
}

impl Desk {
    /// Learns whether something was left by the run before.
    pub(super) fn load_reclaiming(&mut self) {
        match self.is_left() {
            Ok(false) => {}
            Ok(true) => {
                tracing::info!("going on with what former writes left to be done");
                self.reclaiming.begin();
            }
            Err(failure) => {
                tracing::error!(%failure, "what former writes left to be done could not be found")
            }
        }
    }

    /// Does one slice, if something is left; a small one when others wait or have just written.
    pub(super) fn reclaim_some(&mut self, others_wait: bool) {
        if !self.reclaiming.is_due() {
            return;
        }
        let busy = std::mem::replace(&mut self.reclaiming.busy, others_wait) || others_wait;
        let most = if busy { BUSY_ENTRIES } else { IDLE_ENTRIES };
        let left = self
            .perform(&[submission(most)])
            .map(|(done, _)| {
                done.iter()
                    .all(|it| it.outcome.result.code == ResultCode::SUCCESS)
            })
            .and_then(|more| Ok(more && self.is_left()?));
        match left {
            Ok(true) => self.reclaiming.complained = false,
            Ok(false) => self.reclaiming.end(),
            Err(failure) => {
                if !self.reclaiming.complained {
                    tracing::error!(
                        %failure,
                        "what former writes left to be done is tried again after each write"
                    );
                }
                self.reclaiming.stalled = true;
                self.reclaiming.complained = true;
            }
        }
    }

    /// Whether entries of deleted subtrees, members of sets that nobody owns, or groups whose
    /// members were renamed are left.
    fn is_left(&self) -> Result<bool, Failure> {
        let mut reader = self.store.reader()?;
        let snapshot = reader.snapshot()?;
        Ok(snapshot.detached_count()? > 0
            || snapshot.detached_set()?.is_some()
            || snapshot.first_meta(META_TOURS)?.is_some())
    }
}

fn submission(most: u32) -> Submission {
    let write = Write {
        grant: Grant::of_server(String::new(), Name::root()),
        spelled: String::new(),
        manage_dsa_it: true,
        options: None,
        change: Change::Reclaim(most),
    };
    Submission {
        bundle: Bundle::One(write),
        session: 0,
        id: 0,
        kind: ResultKind::Delete,
        reply: Reply::default(),
        mailbox: Arc::new(Nobody),
    }
}
