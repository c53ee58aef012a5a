//! A reader: the read transaction of one serving thread, with its container cache.

use std::cell::RefCell;
use std::sync::Arc;

use crate::containers::Containers;
use crate::error::Error;
use crate::in_use::InUse;
use crate::lmdb::ReadTransaction;
use crate::open_database::OpenDatabase;
use crate::snapshot::Snapshot;

/// Gives out snapshots. A reader may move between threads but serves one at a time.
#[derive(Debug)]
pub struct Reader {
    /// The transaction. It stands before `shared`: it ends before its environment may close.
    transaction: ReadTransaction,
    /// The environment of the transaction.
    in_use: Arc<InUse>,
    containers: RefCell<Containers>,
    shared: Arc<OpenDatabase>,
}

impl Reader {
    pub(crate) fn new(shared: &Arc<OpenDatabase>) -> Result<Reader, Error> {
        let in_use = shared.current.get();
        Ok(Reader {
            transaction: ReadTransaction::begin(&in_use.environment)?,
            in_use,
            containers: RefCell::new(Containers::default()),
            shared: Arc::clone(shared),
        })
    }

    /// Returns the snapshot held, or after [`Reader::reset`] one of the newest committed state.
    ///
    /// # Errors
    /// Errors of LMDB.
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

    /// Gives up the snapshot. A held snapshot keeps LMDB from reusing pages freed since, so none
    /// may live across a wait for a client.
    pub fn reset(&mut self) {
        self.transaction.reset();
        // The file of a replaced environment is freed when the last reader has left it. If leaving
        // fails, the next snapshot reports why.
        if self.is_left_behind() && self.move_on().is_ok() {
            self.transaction.reset();
        }
    }

    /// Replaces the snapshot by one of the newest committed state.
    ///
    /// # Errors
    /// Errors of LMDB.
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

    /// Returns whether another environment is in use by now.
    #[inline]
    fn is_left_behind(&self) -> bool {
        self.in_use.number != self.shared.current.number()
    }

    /// Takes a snapshot of the environment in use and leaves the old one. The container cache stays
    /// valid: a copy has the same entries and the same counter.
    #[cold]
    fn move_on(&mut self) -> Result<(), Error> {
        let in_use = self.shared.current.get();
        self.transaction = ReadTransaction::begin(&in_use.environment)?;
        self.in_use = in_use;
        Ok(())
    }
}
