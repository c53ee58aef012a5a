//! Building indexes, slice by slice, between other writes and while there are none.

use super::{COMMIT_CHURN_BYTES, Desk, WRITE_CHURN_BYTES};
use state::catalog::{self, Catalog};
use state::stop::Failure;
use store::{IndexSet, IndexState, Progress, SliceLimits};

impl Desk {
    /// Does a slice of the work on indexes: adds keys of entries, or removes rows of an index that
    /// was dropped. Returns whether there is more to do.
    pub(super) fn build_indexes(&mut self, limits: SliceLimits) -> bool {
        let done = self.try_build_indexes(limits);
        match done {
            Ok(more) => more,
            Err(failure) => {
                tracing::error!(%failure, "building an index stopped until the next write");
                false
            }
        }
    }

    fn try_build_indexes(&mut self, limits: SliceLimits) -> Result<bool, Failure> {
        let before = self.catalog.load_full();
        let mut batch = self.store.begin(&before.indexes)?;
        let progress = batch.build_indexes(limits)?;
        let states = batch.snapshot().index_states()?;
        let version = batch.snapshot().version();
        batch.commit()?;
        self.tell_of_build(&progress, version);
        self.committed(progress.taken as u64 * WRITE_CHURN_BYTES + COMMIT_CHURN_BYTES);
        self.publish_indexes(&states)?;
        if is_complete(&before.indexes, &states) {
            // The log says nothing of builds. Were the writes that come now executed again on a
            // state without the index, each would look at all entries.
            self.journal.checkpoint()?;
        }
        Ok(!progress.is_finished())
    }

    /// Lets searches use the indexes of the newest state.
    pub(super) fn publish_indexes(&self, states: &[IndexState]) -> Result<(), Failure> {
        // After the commit: a search must not use an index that its snapshot has not finished. Read
        // back, since a transaction that changed nothing leaves no version of its own.
        let version = self.store.reader()?.snapshot()?.version();
        let mut next = Catalog::clone(&self.catalog.load_full());
        next.indexes = IndexSet::from_states(next.schema.clone(), states);
        next.indexing = states.iter().any(IndexState::has_work);
        next.least_version = version;
        catalog::publish(&self.catalog, next);
        Ok(())
    }

    fn tell_of_build(&self, progress: &Progress, version: u64) {
        let now_us = self.clock.now_us();
        let attribute = progress.attribute.as_deref();
        let building = attribute.filter(|_| !progress.removing);
        let commits = &self.monitor.commits;
        commits.built(
            building.map(|it| (it, progress.done, progress.total)),
            now_us,
        );
        commits.remember(version, now_us);
    }
}

/// Whether an index that was being built is there now.
fn is_complete(before: &IndexSet, states: &[IndexState]) -> bool {
    let mut building = before.definitions.iter().filter(|it| !it.ready);
    building.any(|it| {
        let state = states.iter().find(|state| state.attribute == it.attribute);
        state.is_some_and(|state| state.building.is_empty() && state.ready & it.kinds == it.kinds)
    })
}
