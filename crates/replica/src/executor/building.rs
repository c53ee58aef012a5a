//! Builds indexes in slices, between writes and while there are none.

use super::{COMMIT_CHURN_BYTES, Executor, WRITE_CHURN_BYTES};
use state::catalog::{self, Catalog};
use state::stop::Failure;
use std::time::Duration;
use store::{IndexSet, IndexState, Progress, SliceLimits};

/// Work on an index in one slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexSlices {
    /// Limits of a slice while no write waits; a write that arrives waits for the end of the slice.
    pub idle: SliceLimits,
    /// Limits of a slice between two groups of writes, which wait for it: the build must progress
    /// under any load.
    pub between: SliceLimits,
}

impl Default for IndexSlices {
    fn default() -> IndexSlices {
        IndexSlices {
            idle: SliceLimits {
                entries: 1_000,
                time: Duration::from_millis(20),
            },
            between: SliceLimits {
                entries: 100,
                time: Duration::from_millis(5),
            },
        }
    }
}

impl Executor {
    /// Runs one slice of the work on indexes: adds keys of entries, or removes rows of a dropped
    /// index. Returns whether work is left.
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
        let before = self.parts.catalog.load_full();
        let mut batch = self.parts.store.begin(&before.indexes)?;
        let progress = batch.build_indexes(limits)?;
        let states = batch.snapshot().index_states()?;
        let version = batch.snapshot().version();
        batch.commit()?;
        self.tell_of_build(&progress, version);
        self.count_churn(progress.taken as u64 * WRITE_CHURN_BYTES + COMMIT_CHURN_BYTES);
        self.publish_indexes(&states)?;
        if is_complete(&before.indexes, &states) {
            // The log has no index builds. If the following writes were executed again on a state
            // without the index, each would read all entries.
            self.checkpoint()?;
        }
        Ok(!progress.is_finished())
    }

    /// Makes the indexes of the newest state available to searches.
    pub(super) fn publish_indexes(&self, states: &[IndexState]) -> Result<(), Failure> {
        // After the commit, because a search must not use an index that its snapshot does not have.
        // The version is read from the store, because a transaction without changes makes no new
        // version.
        let version = self.parts.store.reader()?.snapshot()?.version();
        let mut next = Catalog::clone(&self.parts.catalog.load_full());
        next.indexes = IndexSet::from_states(next.schema.clone(), states);
        next.indexing = states.iter().any(IndexState::has_work);
        next.least_version = version;
        catalog::publish(&self.parts.catalog, next);
        Ok(())
    }

    fn tell_of_build(&self, progress: &Progress, version: u64) {
        let now_us = self.parts.clock.now_us();
        let attribute = progress.attribute.as_deref();
        let building = attribute.filter(|_| !progress.removing);
        let commits = &self.parts.commits;
        commits.built(
            building.map(|it| (it, progress.done, progress.total)),
            now_us,
        );
        commits.remember(version, now_us);
    }
}

/// Whether an index that was being built is complete now.
fn is_complete(before: &IndexSet, states: &[IndexState]) -> bool {
    let mut building = before.definitions.iter().filter(|it| !it.ready);
    building.any(|it| {
        let state = states.iter().find(|state| state.attribute == it.attribute);
        state.is_some_and(|state| state.building.is_empty() && state.ready & it.kinds == it.kinds)
    })
}
