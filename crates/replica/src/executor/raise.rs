//! Raises the format level of the database by an ordinary write: a node alone does so at its start,
//! because nobody else must know the level; in a cluster the steward does so when the operator has
//! asked for it and every node knows the level.

use super::{Executor, OwnWrites};
use state::level;
use state::write::{Change, Write};

impl Executor {
    /// Raises the level of a node alone to the highest that this program executes.
    pub(super) fn raise_alone(&mut self) {
        let (from, to) = (self.parts.catalog.load().level, level::highest());
        if matches!(self.parts.own, OwnWrites::Submitted(_)) || to <= from {
            return;
        }
        match self.perform_own(&[Write::of_no_entry(Change::Level(to))])[..] {
            [true] => tracing::warn!(
                from,
                to,
                "the format level of the database was raised: older programs can serve it no more"
            ),
            _ => tracing::error!(from, to, "the next start raises the format level"),
        }
    }

    /// Submits the write that raises the level of a cluster, if its time has come.
    pub(super) fn raise_as_agreed(&mut self) {
        let OwnWrites::Submitted(steward) = &self.parts.own else {
            return;
        };
        let level = self.parts.catalog.load().level;
        let agreed = steward.agreed_level().filter(|it| *it > level);
        if let Some(agreed) = agreed
            && steward.is_free()
        {
            steward.submit(vec![Write::of_no_entry(Change::Level(agreed))]);
        }
    }
}
