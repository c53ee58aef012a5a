//! Does work left by writes: removes deleted subtrees and sets of links, and changes groups whose
//! members were renamed. It does so by ordinary writes of some hundred entries each, until no work
//! is left.
//!
//! The remaining work is recorded in the database: entries below [`store::EntryId::DETACHED`], sets
//! without an owner, tours under [`META_TOURS`]. So nothing has to be remembered over a restart,
//! and after a crash the work continues where the log ends.

use super::{Executor, OwnWrites};
use protocol::ResultCode;
use state::execute::META_TOURS;
use state::stop::Failure;
use state::write::{Change, Write};

impl Executor {
    /// Finds out whether an earlier process left work.
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

    /// Runs one slice if work is left; a small slice if other writes wait or were just executed.
    pub(super) fn reclaim_some(&mut self, others_wait: bool) {
        if !self.reclaiming.is_due() || !self.parts.own.may_submit() {
            return;
        }
        if let OwnWrites::Submitted(_) = &self.parts.own {
            // Another node may have done it.
            self.reclaimed();
            if !self.reclaiming.is_due() {
                return;
            }
        }
        let most = self.reclaiming.begin_slice(others_wait);
        let write = Write::of_no_entry(Change::Reclaim(most));
        if let OwnWrites::Submitted(steward) = &self.parts.own {
            return steward.submit(vec![write]);
        }
        let left = self
            .perform(&[std::slice::from_ref(&write)])
            .map(|executed| {
                let mut codes = executed.results.iter().map(|it| it.outcome.result.code);
                codes.all(|it| it == ResultCode::SUCCESS)
            })
            .and_then(|more| Ok(more && self.is_left()?));
        match left {
            Ok(true) => self.reclaiming.went_on(),
            Ok(false) => self.reclaiming.end(),
            Err(failure) => {
                if self.reclaiming.stall() {
                    tracing::error!(
                        %failure,
                        "what former writes left to be done is tried again after each write"
                    );
                }
            }
        }
    }

    /// Finds out, after a record of a cluster's log that removed entries, whether it was the last.
    pub(super) fn reclaimed(&mut self) {
        match self.is_left() {
            Ok(true) => self.reclaiming.went_on(),
            Ok(false) => self.reclaiming.end(),
            Err(failure) => tracing::error!(%failure, "the store could not be read"),
        }
    }

    /// Whether there are entries of deleted subtrees, members of sets without an owner, or groups
    /// with renamed members left.
    fn is_left(&self) -> Result<bool, Failure> {
        let mut reader = self.parts.store.reader()?;
        let snapshot = reader.snapshot()?;
        Ok(snapshot.detached_count()? > 0
            || snapshot.detached_set()?.is_some()
            || snapshot.first_meta(META_TOURS)?.is_some())
    }
}
