//! The write-ahead log and its checkpoints: what makes a commit durable without syncing the pages
//! that it changed.
//!
//! ```text
//! append ─► written and synced ─► commit (not synced) ─► answer
//!                                     └─ now and then: pin, sync everything, checkpoint, reuse
//! ```
//!
//! A record is durable before the transaction it describes is committed. LMDB's own file is synced
//! only at checkpoints; after a crash it goes back to the last one and the records after it are
//! executed again. The form of the files stands in docs/formats/log.md.
//!
//! Invariants:
//! - a folder without the file `checkpoint` holds a database that needs nothing else;
//! - no commit goes unsynced before there is a checkpoint, and the pages of the checkpoint in force
//!   are pinned by a read transaction until a later one is in force;
//! - whatever fails in a way that leaves open what the disk holds ends writing for good: the next
//!   start brings back what was acknowledged.

pub(crate) mod checkpoint;
pub(crate) mod fuzz;
pub(crate) mod log;
mod reader;
mod recovery;
mod segment;
mod tail;
mod threads;

pub use recovery::Recovery;
pub use tail::LogTail;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::file_system;
use crate::lmdb::ReadTransaction;
use crate::shared::Durability;
use crate::store::Store;
use checkpoint::{Checkpoint, CheckpointFile};
use log::{Log, Unwritten};
use threads::{Checkpointer, Syncer, sync_all};

/// The folder of segments, in the data folder.
const LOG_FOLDER: &str = "log";
/// Bytes of pages that writes may leave behind between two checkpoints: LMDB cannot use them again
/// before, so the file grows by so much, once; and so much is executed again after a crash.
const CHURN_BYTES_MAX: u64 = 256 << 20;
/// A writer that is so far ahead of the checkpoint under way waits for it.
const BACKLOG_BYTES_MAX: u64 = 8 * CHURN_BYTES_MAX;
/// Time after which what was written gets a checkpoint, however little it is.
const INTERVAL: Duration = Duration::from_secs(60);
/// How often to look whether a checkpoint under way has ended.
const BUSY: Duration = Duration::from_secs(1);

/// The log of an open store, and the one way to write to it durably at speed.
///
/// Until [`Journal::begin`] commits are synced one by one; from then to [`Journal::seal`] they are
/// not, and each must be preceded by a record.
#[derive(Debug)]
pub struct Journal {
    /// Before the store: pins end before the environment may close.
    open: Option<Open>,
    store: Store,
}

#[derive(Debug)]
struct Open {
    log: Log,
    syncer: Syncer,
    checkpointer: Checkpointer,
    /// Whether the last record is still being written.
    in_flight: bool,
    /// Memory for the next record.
    buffer: Vec<u8>,
    /// Estimated bytes of pages left behind since the last checkpoint was begun.
    churn: u64,
    /// When the first change after the last checkpoint was committed.
    dirty_since: Option<Instant>,
    checkpoints: u64,
    /// Files that every checkpoint syncs before the log forgets what came before it. Those before
    /// the last are written no more, and go when they are synced.
    companions: Vec<Arc<File>>,
    /// When the checkpoint in force was noticed to be.
    in_force_since: Instant,
    /// Whether the file system may take blocks to overwrite some.
    needs_reserve: bool,
    /// Segments from this one on are read by somebody else and stay.
    held: Option<u64>,
}

/// How a log stands that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalState {
    /// Bytes of its files.
    pub bytes: u64,
    /// How long its last checkpoint has been in force.
    pub checkpoint_age: Duration,
}

impl Journal {
    /// A journal for this store. Nothing happens before the first [`Journal::begin`].
    pub fn new(store: &Store) -> Journal {
        Journal {
            open: None,
            store: store.clone(),
        }
    }

    /// Sees to it that records can be appended: makes log and first checkpoint unless they are
    /// there. `id` is random and tells this log from all others.
    ///
    /// # Errors
    /// [`Error::Full`]; [`Error::Halted`] after a failure that only a restart can mend.
    pub fn begin(&mut self, id: [u8; 16]) -> Result<(), Error> {
        self.store.shared.refuse_halted()?;
        if self.open.is_none() {
            self.open = Some(Open::begin(&self.store, id)?);
            self.store.shared.set_durability(Durability::Logged);
        }
        self.keep_up()
    }

    /// Appends a record and begins to write it; [`Journal::sync`] waits for that. Ends in
    /// `sync`, [`Journal::rewind`] or [`Journal::retract`].
    ///
    /// `ahead` writes on another thread while this one goes on.
    ///
    /// # Errors
    /// [`Error::Full`] when there is no room for a new segment, or too little to overwrite what is
    /// there: nothing has been appended.
    pub fn append(&mut self, content: &[u8], ahead: bool) -> Result<(), Error> {
        let open = self.open.as_mut().ok_or_else(not_begun)?;
        if open.needs_reserve {
            file_system::require_reserve(self.store.folder(), content.len() as u64)?;
        }
        let staged = open.log.stage(content, std::mem::take(&mut open.buffer))?;
        open.in_flight = true;
        match ahead {
            true => open.syncer.send(staged),
            false => open.syncer.write(staged),
        }
    }

    /// Returns when the record appended last is durable.
    ///
    /// # Errors
    /// [`Error::Full`]: the record is taken back. [`Error::Undecided`]: nobody knows whether it is
    /// there, and writing has ended.
    pub fn sync(&mut self) -> Result<(), Error> {
        let (written, is_whole) = match self.settle()? {
            Ok(()) => return Ok(()),
            Err(Unwritten::Part(error)) => (Error::system("writing the log")(error), false),
            Err(Unwritten::Unsynced(error)) => (Error::system("syncing the log")(error), true),
        };
        match written {
            // What a failed write leaves behind can be overwritten. After a failed sync nobody
            // knows what the disk holds.
            Error::Full => self.give_back(is_whole).and(Err(Error::Full)),
            error => Err(self.undecided("a record was not kept", &error)),
        }
    }

    /// The record appended last changes nothing, whether it is executed or not: the next one takes
    /// its place.
    ///
    /// # Errors
    /// As [`Journal::sync`].
    pub fn rewind(&mut self) -> Result<(), Error> {
        self.sync()?;
        if let Some(open) = &mut self.open {
            open.log.rewind();
        }
        Ok(())
    }

    /// The record appended last will not be executed, now or after a crash.
    ///
    /// # Errors
    /// [`Error::Undecided`]: nobody knows.
    pub fn retract(&mut self) -> Result<(), Error> {
        let is_whole = !matches!(self.settle(), Ok(Err(Unwritten::Part(_))));
        self.give_back(is_whole)
    }

    /// The next record takes the place of the last one, which is taken out of the log if it is
    /// there as a whole: overwriting it may need room.
    fn give_back(&mut self, is_whole: bool) -> Result<(), Error> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if !is_whole {
            open.log.rewind();
            return Ok(());
        }
        let retracted = open.log.retract();
        retracted.map_err(|error| self.undecided("taking a record back", &error))
    }

    /// From now on this file is written with what the log holds, and no other one before it: it is
    /// synced with each checkpoint, before the log forgets anything.
    pub fn accompany(&mut self, file: Arc<File>) {
        if let Some(open) = &mut self.open {
            open.companions.push(file);
        }
    }

    /// A transaction has been committed that left about `churn` bytes of pages behind. Begins a
    /// checkpoint if it is time, and waits for one that lags far behind.
    ///
    /// # Errors
    /// A checkpoint failed: writing has ended. What was committed is durable by its record.
    pub fn committed(&mut self, churn: u64) -> Result<(), Error> {
        if let Some(open) = &mut self.open {
            open.log.keep();
            open.churn += churn;
            open.dirty_since.get_or_insert_with(Instant::now);
        }
        self.keep_up()
    }

    /// Does what is due: notices finished checkpoints and begins the next one.
    ///
    /// # Errors
    /// As [`Journal::committed`].
    pub fn keep_up(&mut self) -> Result<(), Error> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if self.store.shared.refuse_halted().is_err() {
            return Ok(());
        }
        match open.keep_up(&self.store) {
            // It is tried again later; until then the log is longer, and more pages are pinned.
            Ok(()) | Err(Error::Full) => Ok(()),
            Err(error) => Err(self.halt("making a checkpoint", error)),
        }
    }

    /// How long it is until [`Journal::keep_up`] has something to do.
    pub fn due_in(&self) -> Option<Duration> {
        let since = self.open.as_ref()?.dirty_since?;
        self.store.shared.refuse_halted().ok()?;
        // A checkpoint under way may be why the next one is late.
        Some(INTERVAL.saturating_sub(since.elapsed()).max(BUSY))
    }

    /// How the log stands; `None` while there is none.
    pub fn state(&self) -> Option<JournalState> {
        let open = self.open.as_ref()?;
        Some(JournalState {
            bytes: open.log.bytes(),
            checkpoint_age: open.in_force_since.elapsed(),
        })
    }

    /// Whether a checkpoint would give room back: pages that were left behind, and segments.
    pub fn is_behind(&self) -> bool {
        let behind = |open: &Open| open.dirty_since.is_some() || open.checkpointer.is_busy();
        self.open.as_ref().is_some_and(behind)
    }

    /// Makes a checkpoint of what is committed and returns when it is in force.
    ///
    /// # Errors
    /// [`Error::Full`]: the one before stays in force; else as [`Journal::committed`].
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let made = open
            .finish_checkpoint()
            .and_then(|()| open.begin_checkpoint(&self.store))
            .and_then(|()| open.finish_checkpoint());
        match made {
            Ok(()) | Err(Error::Full) => made,
            Err(error) => Err(self.halt("making a checkpoint", error)),
        }
    }

    /// Keeps the log from here on, whatever checkpoints come, until [`Journal::release`] or
    /// [`Journal::seal`]. What comes back reads it, on another thread if need be.
    ///
    /// # Errors
    /// The log has not been begun, or cannot be read.
    pub fn hold(&mut self) -> Result<LogTail, Error> {
        let open = self.open.as_mut().ok_or_else(not_begun)?;
        let place = open.log.place();
        let tail = LogTail::new(&log_folder(&self.store), open.log.id(), place)?;
        open.held = Some(place.segment);
        Ok(tail)
    }

    /// The log need not be kept any more.
    pub fn release(&mut self) {
        if let Some(open) = &mut self.open {
            open.held = None;
        }
    }

    /// The sequence number of the record that comes after those committed; 0 without a log.
    pub fn end(&self) -> u64 {
        let place = self.open.as_ref().map(|it| it.log.place());
        place.map_or(0, |it| it.sequence)
    }

    /// Syncs everything and ends the log: the database file needs nothing else then, until the next
    /// [`Journal::begin`] makes another log. After a failure everything stays as it is, for the
    /// next start to recover.
    ///
    /// # Errors
    /// What the system says; the log is still in force then, and writing has ended.
    pub fn seal(&mut self) -> Result<(), Error> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        self.store.shared.refuse_halted()?;
        // Until the checkpoint is gone its pages must stay.
        self.store.shared.set_durability(Durability::Halted);
        open.finish_checkpoint()?;
        sync_all(&open.companions)?;
        seal(&self.store)?;
        self.store.shared.set_durability(Durability::Synced);
        Ok(())
    }

    /// Waits for the record in flight, and returns whether it is durable.
    fn settle(&mut self) -> Result<Result<(), Unwritten>, Error> {
        let open = self.open.as_mut().ok_or_else(not_begun)?;
        if !std::mem::take(&mut open.in_flight) {
            return Ok(Ok(()));
        }
        let (buffer, written) = open.syncer.wait();
        open.buffer = buffer;
        Ok(written)
    }

    fn undecided(&mut self, doing: &str, error: &Error) -> Error {
        self.store.shared.set_durability(Durability::Halted);
        Error::Undecided {
            reason: format!("{doing}: {error}"),
        }
    }

    fn halt(&mut self, doing: &str, error: Error) -> Error {
        self.store.shared.set_durability(Durability::Halted);
        Error::Halted {
            reason: format!("{doing}: {error}"),
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Without the pins a commit could destroy the state that a crash goes back to.
        if self.open.is_some() {
            self.store.shared.set_durability(Durability::Halted);
        }
    }
}

impl Open {
    fn begin(store: &Store, id: [u8; 16]) -> Result<Open, Error> {
        let folder = store.folder();
        store.sync()?;
        let log = Log::begin(&log_folder(store), id)?;
        checkpoint::mark(folder, id)?;
        let pin = ReadTransaction::begin(&store.shared.environment())?;
        let first = checkpoint_of(store, &pin, &log, 1)?;
        let file = CheckpointFile::create(folder, &first)?;
        let start = Error::system("starting a thread");
        let checkpointer = Checkpointer::start(store, file, pin).map_err(start)?;
        let syncer = Syncer::start().map_err(Error::system("starting a thread"))?;
        Ok(Open {
            log,
            syncer,
            checkpointer,
            in_flight: false,
            buffer: Vec::new(),
            churn: 0,
            dirty_since: None,
            checkpoints: 1,
            companions: Vec::new(),
            in_force_since: Instant::now(),
            needs_reserve: file_system::takes_blocks(folder),
            held: None,
        })
    }

    fn keep_up(&mut self, store: &Store) -> Result<(), Error> {
        if let Some(done) = self.checkpointer.finished(false) {
            self.checkpointed(done)?;
        }
        if self.churn >= BACKLOG_BYTES_MAX {
            self.finish_checkpoint()?;
        }
        let due = self.dirty_since.is_some_and(|it| it.elapsed() >= INTERVAL);
        if (self.churn >= CHURN_BYTES_MAX || due) && !self.checkpointer.is_busy() {
            self.begin_checkpoint(store)?;
        }
        Ok(())
    }

    fn begin_checkpoint(&mut self, store: &Store) -> Result<(), Error> {
        let pin = ReadTransaction::begin(&store.shared.environment())?;
        self.checkpoints += 1;
        let next = checkpoint_of(store, &pin, &self.log, self.checkpoints)?;
        self.checkpointer.send(pin, next, self.companions.clone());
        let written_no_more = self.companions.len().saturating_sub(1);
        self.companions.drain(..written_no_more);
        self.churn = 0;
        self.dirty_since = None;
        Ok(())
    }

    /// Waits for the checkpoint under way, if there is one.
    fn finish_checkpoint(&mut self) -> Result<(), Error> {
        match self.checkpointer.finished(true) {
            Some(done) => self.checkpointed(done),
            None => Ok(()),
        }
    }

    /// A checkpoint has ended. If it is in force, segments before its own are needed no more; if
    /// there was no room for it, the next one gets its number, and so its slot.
    fn checkpointed(&mut self, done: Result<u64, Error>) -> Result<(), Error> {
        if let Err(Error::Full) = done {
            self.checkpoints -= 1;
            self.dirty_since = Some(Instant::now());
        }
        let segment = done?;
        self.in_force_since = Instant::now();
        let needed = self.held.map_or(segment, |held| held.min(segment));
        self.log.release_before(needed)
    }
}

fn log_folder(store: &Store) -> PathBuf {
    store.folder().join(LOG_FOLDER)
}

/// The checkpoint of the newest state, which `pin` holds.
fn checkpoint_of(
    store: &Store,
    pin: &ReadTransaction,
    log: &Log,
    number: u64,
) -> Result<Checkpoint, Error> {
    let transaction = pin.id();
    Ok(Checkpoint {
        id: log.id(),
        number,
        transaction,
        place: log.place(),
        meta: checkpoint::meta_of(store.folder(), transaction)?,
    })
}

/// Makes the database file stand for itself.
fn seal(store: &Store) -> Result<(), Error> {
    store.sync()?;
    checkpoint::remove(store.folder())?;
    log::remove_folder(&log_folder(store))
}

fn not_begun() -> Error {
    Error::conflict("the log has not been begun")
}

#[cfg(test)]
mod tests;
