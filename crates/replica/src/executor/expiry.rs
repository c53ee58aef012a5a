//! Removes dynamic entries at their end, by ordinary writes.

use super::{Executor, in_newest};
use std::time::Duration;

impl Executor {
    /// Loads the schedule of dynamic entries, and gives an end to those without one, unless
    /// another node does.
    pub(super) fn load_expiry(&mut self) {
        if !self.parts.own.is_of_steward() {
            return;
        }
        let now_us = self.parts.clock.now_us();
        let catalog = self.parts.catalog.load_full();
        let found = in_newest(&self.parts.store, |snapshot| {
            self.expiry.load(snapshot, &catalog, now_us)
        });
        match found {
            Ok(due) if due.writes.is_empty() => {}
            Ok(due) => drop(self.perform_own(&due.writes)),
            Err(failure) => tracing::error!(%failure, "dynamic entries could not be found"),
        }
    }

    /// Removes dynamic entries past their end, by ordinary writes.
    pub(super) fn remove_expired(&mut self) {
        if !self.parts.own.is_of_steward() {
            return self.expiry.forget();
        }
        if !self.parts.own.may_submit() {
            return;
        }
        if !self.expiry.is_loaded() {
            self.load_expiry();
        }
        while self.expiry.wait(&*self.parts.clock) == Some(Duration::ZERO) {
            let now_us = self.parts.clock.now_us();
            let catalog = self.parts.catalog.load_full();
            let found = in_newest(&self.parts.store, |snapshot| {
                self.expiry.due(snapshot, &catalog, now_us)
            });
            match found {
                Ok(due) => {
                    if !due.writes.is_empty() {
                        let succeeded = self.perform_own(&due.writes);
                        self.expiry.settle(&due, &succeeded, now_us);
                    }
                }
                Err(failure) => {
                    tracing::error!(%failure, "dynamic entries could not be removed");
                    return;
                }
            }
        }
    }
}
