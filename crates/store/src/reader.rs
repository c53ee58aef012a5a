//! A reader: the read transaction of one serving thread and what it remembers between snapshots.

use std::cell::RefCell;
use std::sync::Arc;

use crate::containers::Containers;
use crate::error::Error;
use crate::lmdb::ReadTransaction;
use crate::snapshot::Snapshot;
use crate::store::Shared;

/// Gives out snapshots. May move between threads but serves one at a time.
#[derive(Debug)]
pub struct Reader {
    /// Before `shared`: a transaction ends before its environment may close.
    transaction: ReadTransaction,
    containers: RefCell<Containers>,
    shared: Arc<Shared>,
}

impl Reader {
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Reader, Error> {
        Ok(Reader {
            transaction: ReadTransaction::begin(&shared.environment)?,
            containers: RefCell::new(Containers::default()),
            shared: Arc::clone(shared),
        })
    }

    /// The snapshot held, or after [`Reader::reset`] a new one of the newest committed state.
    ///
    /// # Errors
    /// What LMDB says.
    #[inline]
    pub fn snapshot(&mut self) -> Result<Snapshot<'_>, Error> {
        self.transaction.renew()?;
        let version = self.transaction.id();
        Ok(Snapshot::new(
            &self.transaction,
            &self.shared.tables,
            &self.containers,
            None,
            version,
        ))
    }

    /// Gives up the snapshot. Until then LMDB cannot reuse pages that were freed since, so no
    /// snapshot may live across a wait for a client.
    pub fn reset(&mut self) {
        self.transaction.reset();
    }

    /// Takes a new snapshot of the newest committed state.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.transaction.reset();
        self.transaction.renew()
    }
}
