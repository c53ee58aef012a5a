//! The write-ahead log and its checkpoints, which make a commit durable without syncing the pages
//! that it changed.
//!
//! ```text
//! append ─► written and synced ─► commit (not synced) ─► answer
//!                                     └─ now and then: pin, sync everything, checkpoint, reuse
//! ```
//!
//! A record is durable before the transaction it describes is committed. LMDB's file is synced only
//! at checkpoints; after a crash the database goes back to the last checkpoint, and the records
//! after it are executed again. docs/formats/log.md describes the files.
//!
//! Invariants:
//! - a folder without the file `checkpoint` holds a database that is complete without a log;
//! - no commit goes unsynced before there is a checkpoint, and the pages of the checkpoint in force
//!   are pinned by a read transaction until a later one is in force;
//! - a failure that leaves unknown what the disk holds ends writing for good: the next start
//!   recovers all acknowledged writes.

pub(crate) mod checkpoint;
mod disk;
pub(crate) mod fuzz;
pub(crate) mod log;
mod reader;
mod recovery;
mod segment;
mod tail;
mod threads;

pub use disk::{Disk, SystemDisk};
pub use recovery::Recovery;
pub use tail::LogTail;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::file_system;
use crate::lmdb::ReadTransaction;
use crate::open_database::Durability;
use crate::store::Store;
use checkpoint::{Checkpoint, CheckpointFile};
use log::{Log, LogPlace, Unwritten};
use threads::{Checkpointer, Syncer, sync_all};

/// Name of the folder of segments, in the data folder.
const LOG_FOLDER: &str = "log";
/// Bytes of replaced pages between two checkpoints at most: LMDB cannot reuse them before, so the
/// file grows once by so much; as much is executed again after a crash.
const CHURN_BYTES_MAX: u64 = 256 << 20;
/// Bytes by which a writer may be ahead of the checkpoint being made before it waits.
const BACKLOG_BYTES_MAX: u64 = 8 * CHURN_BYTES_MAX;
/// Age of the oldest change without a checkpoint at which one is made, however small the change.
const INTERVAL: Duration = Duration::from_secs(60);
/// Time between two looks whether the checkpoint being made has ended.
const BUSY: Duration = Duration::from_secs(1);

/// The log of an open store, for durable writes at speed.
///
/// Before [`Journal::begin`] each commit syncs the database. From then to [`Journal::seal`] commits
/// do not sync, and a record must precede each.
#[derive(Debug)]
pub struct Journal {
    /// The open log. It stands before the store: pins end before the environment may close.
    open: Option<Open>,
    store: Store,
    disk: Arc<dyn Disk>,
    marks: Marks,
    /// Whether there is no log: the database ends with the process.
    is_volatile: bool,
}

/// Numbers of the caller's that tell how far a state has got, ascending.
#[derive(Debug, Default)]
struct Marks {
    /// That of the committed state.
    committed: u64,
    /// That of the checkpoint being made.
    making: u64,
    /// That of the checkpoint in force.
    in_force: u64,
}

#[derive(Debug)]
struct Open {
    log: Log,
    syncer: Syncer,
    checkpointer: Checkpointer,
    /// Whether the last record is still being written.
    in_flight: bool,
    /// Buffer for the next record.
    buffer: Vec<u8>,
    /// Approximate bytes of pages replaced since the last checkpoint began.
    churn: u64,
    /// Time of the first commit after the last checkpoint.
    dirty_since: Option<Instant>,
    checkpoints: u64,
    /// Files synced by every checkpoint before the log drops older records. All but the last are
    /// complete, and leave this list once synced.
    companions: Vec<Arc<File>>,
    /// Time at which the checkpoint in force was noticed to be complete.
    in_force_since: Instant,
    /// Whether overwriting may take new blocks, so that room must be kept free.
    needs_reserve: bool,
    /// Number of the first segment that a reader holds, with all later ones.
    held: Option<u64>,
}

/// Figures of a log being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalState {
    /// Bytes of the log files.
    pub bytes: u64,
    /// Time for which the last checkpoint has been in force.
    pub checkpoint_age: Duration,
}

impl Journal {
    /// Returns a journal for this store. It does nothing before the first [`Journal::begin`].
    pub fn new(store: &Store) -> Journal {
        Journal::on(store, Arc::new(SystemDisk))
    }

    /// Returns a journal that writes to a given disk instead of the system's.
    pub fn on(store: &Store, disk: Arc<dyn Disk>) -> Journal {
        Journal {
            open: None,
            store: store.clone(),
            disk,
            marks: Marks::default(),
            is_volatile: false,
        }
    }

    /// Returns a journal of a database that nobody needs after the end of the process: commits do
    /// not sync, and there are neither records nor checkpoints.
    pub fn volatile(store: &Store) -> Journal {
        let mut journal = Journal::new(store);
        journal.is_volatile = true;
        journal
    }

    /// Begins the log unless it is open: makes the segment folder and the first checkpoint. `id` is
    /// random and tells this log from all others.
    ///
    /// # Errors
    /// [`Error::Full`]; [`Error::Halted`] after a failure that only a restart can mend.
    pub fn begin(&mut self, id: [u8; 16]) -> Result<(), Error> {
        self.store.shared.refuse_halted()?;
        if self.is_volatile {
            self.store.shared.set_durability(Durability::Logged);
            return Ok(());
        }
        if self.open.is_none() {
            self.open = Some(Open::begin(&self.store, id, &self.disk)?);
            self.marks.in_force = self.marks.committed;
            self.store.shared.set_durability(Durability::Logged);
        }
        self.keep_up()
    }

    /// Appends a record and begins to write it; [`Journal::sync`] waits for the write. One of
    /// `sync`, [`Journal::rewind`] and [`Journal::retract`] must follow.
    ///
    /// With `ahead`, another thread writes while the caller goes on.
    ///
    /// # Errors
    /// [`Error::Full`] when there is no room for a new segment, or too little to overwrite blocks:
    /// nothing has been appended.
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

    /// Appends a record of a log that others keep safe, without waiting for the disk: it survives
    /// the end of the process, and perhaps not that of the machine. It cannot be taken back.
    ///
    /// # Errors
    /// [`Error::Full`], or the record cannot be written: nothing has been appended.
    pub fn relay(&mut self, content: &[u8]) -> Result<(), Error> {
        if self.is_volatile {
            return Ok(());
        }
        let open = self.open.as_mut().ok_or_else(not_begun)?;
        if open.needs_reserve {
            file_system::require_reserve(self.store.folder(), content.len() as u64)?;
        }
        let staged = open.log.stage(content, std::mem::take(&mut open.buffer))?;
        let written = staged
            .disk
            .write(&staged.file, &staged.bytes, staged.offset);
        open.buffer = staged.bytes;
        match written {
            Ok(()) => open.log.keep(),
            Err(_) => open.log.rewind(),
        }
        written.map_err(Error::system("writing the log"))
    }

    /// Sets the mark of the committed state: a number that tells the caller how far the state has
    /// got, never less than the one before.
    pub fn set_mark(&mut self, mark: u64) {
        self.marks.committed = mark;
    }

    /// The mark of the newest state that a power failure cannot undo.
    pub fn synced_mark(&self) -> u64 {
        match self.open {
            Some(_) => self.marks.in_force,
            // Each commit is durable.
            None => self.marks.committed,
        }
    }

    /// Waits until the record appended last is durable.
    ///
    /// # Errors
    /// [`Error::Full`]: the record is taken back. [`Error::Undecided`]: whether the log has the
    /// record is unknown, and writing has ended.
    pub fn sync(&mut self) -> Result<(), Error> {
        let (written, is_whole) = match self.settle()? {
            Ok(()) => return Ok(()),
            Err(Unwritten::Part(error)) => (Error::system("writing the log")(error), false),
            Err(Unwritten::Unsynced(error)) => (Error::system("syncing the log")(error), true),
        };
        match written {
            // The next record overwrites the rest of a failed write. After a failed sync the
            // content of the disk is unknown.
            Error::Full => self.give_back(is_whole).and(Err(Error::Full)),
            error => Err(self.undecided("a record was not kept", &error)),
        }
    }

    /// Drops the record appended last, which changes nothing whether it is executed or not: the
    /// next record takes its place.
    ///
    /// # Errors
    /// The errors of [`Journal::sync`].
    pub fn rewind(&mut self) -> Result<(), Error> {
        self.sync()?;
        if let Some(open) = &mut self.open {
            open.log.rewind();
        }
        Ok(())
    }

    /// Takes the record appended last out of the log: it will not be executed, now or after a
    /// crash.
    ///
    /// # Errors
    /// [`Error::Undecided`] when it is unknown whether the log still has the record.
    pub fn retract(&mut self) -> Result<(), Error> {
        let is_whole = !matches!(self.settle(), Ok(Err(Unwritten::Part(_))));
        self.give_back(is_whole)
    }

    /// Lets the next record take the place of the last one. A record that is there as a whole is
    /// taken out of the log first, since overwriting it may need room.
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

    /// Notes that from now on `file` is written along with the log, and files passed before are
    /// complete: each checkpoint syncs it before the log drops records.
    pub fn accompany(&mut self, file: Arc<File>) {
        if let Some(open) = &mut self.open {
            open.companions.push(file);
        }
    }

    /// Notes a commit that replaced about `churn` bytes of pages. Begins a checkpoint if one is
    /// due, and waits for one that lags far behind.
    ///
    /// # Errors
    /// A failed checkpoint: writing has ended. Committed changes are durable by their records.
    pub fn committed(&mut self, churn: u64) -> Result<(), Error> {
        if let Some(open) = &mut self.open {
            open.log.keep();
            open.churn += churn;
            open.dirty_since.get_or_insert_with(Instant::now);
        }
        self.keep_up()
    }

    /// Does the work that is due: notices finished checkpoints and begins the next one.
    ///
    /// # Errors
    /// The errors of [`Journal::committed`].
    pub fn keep_up(&mut self) -> Result<(), Error> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if self.store.shared.refuse_halted().is_err() {
            return Ok(());
        }
        match open.keep_up(&self.store, &mut self.marks) {
            // The checkpoint is tried again later; until then the log is longer, and more pages are
            // pinned.
            Ok(()) | Err(Error::Full) => Ok(()),
            Err(error) => Err(self.halt("making a checkpoint", error)),
        }
    }

    /// Time until [`Journal::keep_up`] has work; `None` when nothing is due.
    pub fn due_in(&self) -> Option<Duration> {
        let since = self.open.as_ref()?.dirty_since?;
        self.store.shared.refuse_halted().ok()?;
        // A checkpoint being made may be the reason why the next one is late.
        Some(INTERVAL.saturating_sub(since.elapsed()).max(BUSY))
    }

    /// Figures of the log; `None` before it is begun.
    pub fn state(&self) -> Option<JournalState> {
        let open = self.open.as_ref()?;
        Some(JournalState {
            bytes: open.log.bytes(),
            checkpoint_age: open.in_force_since.elapsed(),
        })
    }

    /// Returns whether a checkpoint would free pages and segments.
    pub fn is_behind(&self) -> bool {
        let behind = |open: &Open| open.dirty_since.is_some() || open.checkpointer.is_busy();
        self.open.as_ref().is_some_and(behind)
    }

    /// Makes a checkpoint of the committed state and waits until it is in force.
    ///
    /// # Errors
    /// [`Error::Full`]: the previous checkpoint stays in force; otherwise the errors of
    /// [`Journal::committed`].
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let made = open
            .finish_checkpoint(&mut self.marks)
            .and_then(|()| open.begin_checkpoint(&self.store, &mut self.marks))
            .and_then(|()| open.finish_checkpoint(&mut self.marks));
        match made {
            Ok(()) | Err(Error::Full) => made,
            Err(error) => Err(self.halt("making a checkpoint", error)),
        }
    }

    /// Keeps the log from here on, across checkpoints, until [`Journal::release`] or
    /// [`Journal::seal`]. The returned reader may read it on another thread.
    ///
    /// # Errors
    /// [`Error::Conflict`] before [`Journal::begin`]; the log cannot be read.
    pub fn hold(&mut self) -> Result<LogTail, Error> {
        let open = self.open.as_mut().ok_or_else(not_begun)?;
        let place = open.log.place();
        let tail = LogTail::new(&log_folder(&self.store), open.log.id(), place)?;
        open.held = Some(place.segment);
        Ok(tail)
    }

    /// Ends [`Journal::hold`]: checkpoints drop old segments again.
    pub fn release(&mut self) {
        if let Some(open) = &mut self.open {
            open.held = None;
        }
    }

    /// Sequence number of the record after the committed ones; 0 without a log.
    pub fn end(&self) -> u64 {
        let place = self.open.as_ref().map(|it| it.log.place());
        place.map_or(0, |it| it.sequence)
    }

    /// Syncs the database and ends the log: the database file is complete by itself until the next
    /// [`Journal::begin`] makes another log. After a failure all files stay as they are, for the
    /// next start to recover.
    ///
    /// # Errors
    /// Errors of the operating system; the log is still in force then, and writing has ended.
    pub fn seal(&mut self) -> Result<(), Error> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        self.store.shared.refuse_halted()?;
        // Until the checkpoint file is gone, no commit may reuse the pages of the checkpoint.
        self.store.shared.set_durability(Durability::Halted);
        open.finish_checkpoint(&mut self.marks)?;
        sync_all(&open.companions)?;
        seal(&self.store)?;
        self.store.shared.set_durability(Durability::Synced);
        Ok(())
    }

    /// Waits for the record in flight and returns the outcome of its write.
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
    fn begin(store: &Store, id: [u8; 16], disk: &Arc<dyn Disk>) -> Result<Open, Error> {
        let folder = store.folder();
        disk.sync_database(&|| store.sync())?;
        let log = Log::begin(&log_folder(store), id, disk)?;
        checkpoint::mark(folder, id)?;
        let pin = ReadTransaction::begin(&store.shared.environment())?;
        let first = checkpoint_of(store, &pin, &log, 1)?;
        let file = CheckpointFile::create(folder, &first, disk)?;
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

    fn keep_up(&mut self, store: &Store, marks: &mut Marks) -> Result<(), Error> {
        if let Some(done) = self.checkpointer.finished(false) {
            self.checkpointed(done, marks)?;
        }
        if self.churn >= BACKLOG_BYTES_MAX {
            self.finish_checkpoint(marks)?;
        }
        let due = self.dirty_since.is_some_and(|it| it.elapsed() >= INTERVAL);
        if (self.churn >= CHURN_BYTES_MAX || due) && !self.checkpointer.is_busy() {
            self.begin_checkpoint(store, marks)?;
        }
        Ok(())
    }

    fn begin_checkpoint(&mut self, store: &Store, marks: &mut Marks) -> Result<(), Error> {
        let pin = ReadTransaction::begin(&store.shared.environment())?;
        self.checkpoints += 1;
        let next = checkpoint_of(store, &pin, &self.log, self.checkpoints)?;
        self.checkpointer.send(pin, next, self.companions.clone());
        marks.making = marks.committed;
        let written_no_more = self.companions.len().saturating_sub(1);
        self.companions.drain(..written_no_more);
        self.churn = 0;
        self.dirty_since = None;
        Ok(())
    }

    /// Waits for the checkpoint being made, if any.
    fn finish_checkpoint(&mut self, marks: &mut Marks) -> Result<(), Error> {
        match self.checkpointer.finished(true) {
            Some(done) => self.checkpointed(done, marks),
            None => Ok(()),
        }
    }

    /// Handles the end of a checkpoint. Once it is in force, segments before its own are dropped;
    /// without room for it, the next checkpoint gets its number, and so its slot.
    fn checkpointed(
        &mut self,
        done: Result<LogPlace, Error>,
        marks: &mut Marks,
    ) -> Result<(), Error> {
        if let Err(Error::Full) = done {
            self.checkpoints -= 1;
            self.dirty_since = Some(Instant::now());
        }
        let LogPlace { segment, .. } = done?;
        self.in_force_since = Instant::now();
        marks.in_force = marks.making;
        let needed = self.held.map_or(segment, |held| held.min(segment));
        self.log.release_before(needed)
    }
}

fn log_folder(store: &Store) -> PathBuf {
    store.folder().join(LOG_FOLDER)
}

/// Returns the checkpoint of the newest state, which `pin` holds.
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

/// Makes the database file complete without a log.
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
