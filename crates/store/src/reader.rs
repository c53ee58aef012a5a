//! A reader: the read transaction of one serving thread and what it remembers between snapshots.

use std::cell::RefCell;
use std::sync::Arc;

use crate::containers::Containers;
use crate::error::Error;
use crate::in_use::InUse;
use crate::lmdb::ReadTransaction;
use crate::shared::Shared;
use crate::snapshot::Snapshot;

/// Gives out snapshots. May move between threads but serves one at a time.
#[derive(Debug)]
pub struct Reader {
    /// Before `shared`: a transaction ends before its environment may close.
    transaction: ReadTransaction,
    /// What the transaction is of.
    in_use: Arc<InUse>,
    containers: RefCell<Containers>,
    shared: Arc<Shared>,
}

impl Reader {
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Reader, Error> {
        let in_use = shared.current.get();
        Ok(Reader {
            transaction: ReadTransaction::begin(&in_use.environment)?,
            in_use,
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
        if !self.transaction.is_active() {
            self.renew()?;
        }
        let version = self.in_use.versions_from + self.transaction.id();
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
        // The file of an environment that was replaced goes when the last reader has left it. If
        // this one cannot, the next snapshot tells why.
        if self.is_left_behind() && self.move_on().is_ok() {
            self.transaction.reset();
        }
    }

    /// Takes a new snapshot of the newest committed state.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.reset();
        self.renew()
    }

    #[inline]
    fn renew(&mut self) -> Result<(), Error> {
        match self.is_left_behind() {
            true => self.move_on(),
            false => self.transaction.renew(),
        }
    }

    /// Whether another environment is in use by now.
    #[inline]
    fn is_left_behind(&self) -> bool {
        self.in_use.number != self.shared.current.number()
    }

    /// Takes a snapshot of the environment in use and leaves the one before. What is remembered of
    /// containers stays true: a copy has the same entries and the same counter.
    #[cold]
    fn move_on(&mut self) -> Result<(), Error> {
        let in_use = self.shared.current.get();
        self.transaction = ReadTransaction::begin(&in_use.environment)?;
        self.in_use = in_use;
        Ok(())
    }
}
