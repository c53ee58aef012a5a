//! No-op writes (draft-zeilenga-ldap-noop): executed in a transaction of their own, which is
//! aborted. They get no place in the order and are not logged.

use super::Executor;
use protocol::{LdapResult, ResultCode};
use state::apply::{Occasion, apply};
use state::execute::Done;
use state::stop::Failure;
use state::write::Record;
use state::write::Write;

impl Executor {
    /// The result that the write would have, with `noOperation` instead of success.
    pub fn rehearse(&mut self, write: &Write) -> Result<Done, Failure> {
        let catalog = self.parts.catalog.load_full();
        let mut batch = self.parts.store.begin(&catalog.indexes)?;
        let record = Record {
            position: batch.snapshot().position()? + 1,
            time_us: self.parts.clock.now_us(),
            units: vec![std::slice::from_ref(write)],
        };
        let applied = apply(&mut batch, &catalog, &record, Occasion::First)?;
        let refusals = applied.results.into_iter();
        let mut refusals = refusals.filter(|it| it.outcome.result.code != ResultCode::SUCCESS);
        let text = "nothing was found wrong, and nothing was changed";
        let fine = || LdapResult::new(ResultCode::NO_OPERATION, text).into();
        Ok(refusals.next().unwrap_or_else(fine))
    }
}
