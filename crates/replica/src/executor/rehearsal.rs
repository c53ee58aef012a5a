//! No-op writes (draft-zeilenga-ldap-noop): executed in a transaction of their own, which is
//! aborted. They get no place in the order and are not logged.

use super::Executor;
use protocol::{LdapResult, ResultCode};
use state::apply::{Occasion, apply};
use state::catalog::Catalog;
use state::execute::Done;
use state::stop::Failure;
use state::write::{Record, Unit, Write};
use store::Store;

impl Executor {
    /// The result that the write would have, with `noOperation` instead of success.
    pub fn rehearse(&mut self, write: &Write) -> Result<Done, Failure> {
        let catalog = self.parts.catalog.load_full();
        let now_us = self.parts.clock.now_us();
        let units = vec![std::slice::from_ref(write)];
        let refused = rehearse(&self.parts.store, &catalog, now_us, units)?;
        Ok(refused
            .and_then(|it| it.into_iter().next())
            .unwrap_or_else(no_operation))
    }
}

/// The result of a no-op write that would succeed.
pub(crate) fn no_operation() -> Done {
    let text = "nothing was found wrong, and nothing was changed";
    LdapResult::new(ResultCode::NO_OPERATION, text).into()
}

/// The results that the units would have, if one of them is refused; `None` if all would succeed.
/// Nothing is changed.
pub(crate) fn rehearse(
    store: &Store,
    catalog: &Catalog,
    now_us: u64,
    units: Vec<Unit<'_>>,
) -> Result<Option<Vec<Done>>, Failure> {
    let mut batch = store.begin(&catalog.indexes)?;
    let record = Record {
        position: batch.snapshot().position()? + 1,
        time_us: now_us,
        units,
    };
    let results = apply(&mut batch, catalog, &record, Occasion::First)?.results;
    let refused = |it: &Done| it.outcome.result.code != ResultCode::SUCCESS;
    Ok(results.iter().any(refused).then_some(results))
}
