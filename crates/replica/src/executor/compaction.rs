//! The writer's part in a compaction: keeps the log for it, and replaces the database by the copy
//! between two writes.
//!
//! The database is replaced as if closed. The log is sealed, so the old file is complete; then the
//! copy, which has the same state and is synced, gets its name; then the next log begins. If the
//! process ends in between, one of the two files is there with every acknowledged write.

use super::{Executor, OwnWrites};
use crate::compact::online::{Ready, Work, start};
use crate::compact::{Stage, Verdict};
use state::stop::Failure;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{IndexSet, Retired};

/// Time for which a writer that ends or has no room waits for the cancellation of a compaction.
const PATIENCE: Duration = Duration::from_secs(5);

impl Executor {
    /// Begins a requested compaction, or puts a finished copy in use. Returns whether the database
    /// was replaced, so that indexes may have to be built.
    pub(super) fn compact(&mut self, call: &Arc<dyn Fn() + Send + Sync>) -> bool {
        if !self.parts.compaction.is_under_way() {
            self.journal.release();
            return false;
        }
        if self.parts.compaction.take_wanted()
            && let Err(failure) = self.begin_compaction(call)
        {
            self.journal.release();
            tracing::error!(%failure, "the database could not be compacted");
            self.parts
                .compaction
                .ended(Stage::Failed(failure.to_string()));
        }
        let Some(ready) = self.parts.compaction.take_ready() else {
            return false;
        };
        let verdict = self.take_over(ready);
        let replaced = matches!(verdict, Verdict::Replaced(_));
        self.parts.compaction.decide(verdict);
        replaced
    }

    /// Cancels the compaction under way and waits until it holds no resource.
    pub(super) fn end_compaction(&mut self) {
        if !self.parts.compaction.is_under_way() {
            return;
        }
        match self.parts.compaction.take_wanted() {
            true => self.parts.compaction.ended(Stage::Cancelled),
            false => {
                self.parts.compaction.cancel();
                self.parts.compaction.await_end(PATIENCE);
            }
        }
        self.journal.release();
    }

    fn begin_compaction(&mut self, call: &Arc<dyn Fn() + Send + Sync>) -> Result<(), Failure> {
        self.journal.begin(self.parts.clock.uuid())?;
        let tail = self.journal.hold()?;
        self.parts.compaction.appended(0, self.journal.end());
        let call = Arc::clone(call);
        start(Work {
            store: self.parts.store.clone(),
            tail,
            compaction: Arc::clone(&self.parts.compaction),
            call,
        })
    }

    fn take_over(&mut self, mut ready: Box<Ready>) -> Verdict {
        let started = Instant::now();
        if let Err(failure) = ready.advance(self.journal.end(), &self.parts.compaction) {
            return Verdict::Failed(failure);
        }
        if !self.is_indexed_in(ready.replayer.indexes()) {
            return Verdict::Again(ready);
        }
        let replaced = self.replace(*ready);
        let pause_us = started.elapsed().as_micros() as u64;
        self.parts
            .compaction
            .show(|shown| shown.pause_us = pause_us);
        match replaced {
            Ok(retired) => Verdict::Replaced(retired),
            Err(failure) => Verdict::Failed(failure),
        }
    }

    /// Whether a copy has every index that searches use.
    fn is_indexed_in(&self, copy: &IndexSet) -> bool {
        let catalog = self.parts.catalog.load();
        let mut used = catalog.indexes.definitions.iter().filter(|it| it.ready);
        used.all(|it| {
            let mut kinds = it.kinds.iter();
            kinds.all(|kind| copy.is_ready(it.type_id, kind))
        })
    }

    fn replace(&mut self, ready: Ready) -> Result<Retired, Failure> {
        let states = ready.copy.reader()?.snapshot()?.index_states()?;
        if let OwnWrites::Submitted(_) = self.parts.own {
            self.following
                .complete(&ready.copy, ready.replayer.indexes())?;
        }
        ready.copy.sync()?;
        self.journal.seal()?;
        if let Some(keeper) = &mut self.parts.keeper {
            keeper.begin_another();
        }
        if let Some(keeper) = &mut self.parts.audit.keeper {
            keeper.begin_another_log();
        }
        let retired = self.parts.store.replace_with(ready.copy)?;
        // The copy has at least the indexes that searches use, so the previous catalog's are valid
        // too.
        let published = self.publish_indexes(&states);
        self.parts.observer.release_snapshots();
        // The log is begun now, so that the first write need not wait. If there is no room, that
        // write reports it.
        let begun = self.journal.begin(self.parts.clock.uuid());
        if let Err(error) = published.and(begun.map_err(Failure::from)) {
            tracing::error!(%error, "after the compacted copy took the place of the database");
        }
        self.tell_of_log();
        Ok(retired)
    }
}
