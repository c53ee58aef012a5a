//! The store: one folder, one database file, one process.

use crate::private;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::batch::Batch;
use crate::error::Error;
use crate::file_system::overwrite_in_place;
use crate::in_use::{Current, InUse};
use crate::index_set::IndexSet;
use crate::journal::{self, Recovery};
use crate::lmdb::{
    self, CommitSync, Environment, EnvironmentOptions, Put, ReadTransaction, WriteTransaction,
};
use crate::lock::{self, Lock, Taken, lock_folder};
use crate::page_file::{self, PageProblems};
use crate::reader::Reader;
use crate::reader_table::{READERS_MAX, ReaderTable, require_visible};
use crate::state::{FORMAT, FORMAT_KEY, STATE_KEY, State};
use crate::tables::{TABLES_MAX, Tables};

/// The database file in its folder.
pub const DATABASE_FILE: &str = "pando.mdb";

/// Written and removed to learn whether the disk is full.
const PROBE_FILE: &str = "probe";
/// More than one write of LMDB, which hands the system at most 64 pages at a time.
const PROBE_BYTES: usize = 512 << 10;
/// Bytes that are read into memory at a time after a start.
const WARM_UP_BYTES: u64 = 16 << 20;
/// Address space to reserve: a limit nobody meets, and no memory or disk is taken for it.
const MAP_BYTES: usize = 1 << 40;
/// The smallest map worth trying where address space is scarce.
const MAP_BYTES_MIN: usize = 1 << 30;
/// Holders up to which a bucket is shorter and faster than a posting: 12 bytes each, 48 KiB.
pub(crate) const HOLDERS_MAX: u32 = 4096;

/// An open database. Clones share it; it is closed when the last one and all readers are gone.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    /// Before the lock, so that the file is closed before another process may open it.
    pub current: Current,
    /// The same in every environment that is in use one after the other.
    pub tables: Tables,
    pub holders_max: u64,
    pub folder: PathBuf,
    durability: AtomicU8,
    /// `None` for a folder of another process.
    #[expect(dead_code, reason = "held, not used")]
    reader_table: Option<ReaderTable>,
    pub lock: Lock,
}

/// What makes commits durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Durability {
    /// Each commit syncs.
    Synced,
    /// The journal's records: commits do not sync.
    Logged,
    /// Nothing any more: there are no commits.
    Halted,
}

/// Settings for tests and tools; servers use the defaults.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// Bytes the database may grow to; reserved as address space.
    pub map_bytes: usize,
    /// Whether `map_bytes` may be lowered where address space is scarce, and raised for a file
    /// that has grown near it.
    pub map_adapts: bool,
    /// Leave syncing to [`Store::sync`]: for a file nobody relies on yet.
    pub no_sync: bool,
    /// Entries from which on the holders of a value move to the posting table.
    pub holders_max: u32,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            map_bytes: MAP_BYTES,
            map_adapts: true,
            no_sync: false,
            holders_max: HOLDERS_MAX,
        }
    }
}

impl Store {
    /// Makes an empty database in `folder`, which is created if it is missing.
    ///
    /// # Errors
    /// [`Error::Exists`] when there is one already; otherwise as [`Store::open`].
    pub fn create(folder: &Path) -> Result<Store, Error> {
        Store::create_with(folder, &StoreOptions::default())
    }

    /// As [`Store::create`], with settings.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create_with(folder: &Path, options: &StoreOptions) -> Result<Store, Error> {
        private::create_folders(folder).map_err(Error::system("creating the data folder"))?;
        overwrite_in_place(folder);
        let lock = lock_folder(folder)?;
        let file = folder.join(DATABASE_FILE);
        if file.exists() {
            return Err(Error::Exists { file });
        }
        Store::open_locked(folder, lock, options)
    }

    /// Opens the database in `folder`.
    ///
    /// # Errors
    /// [`Error::Missing`] without a database, [`Error::Locked`] when a process has it open,
    /// [`Error::Format`] for a database of another format, or what the system says.
    pub fn open(folder: &Path) -> Result<Store, Error> {
        Store::open_with(folder, &StoreOptions::default())
    }

    /// As [`Store::open`], with settings.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(folder: &Path, options: &StoreOptions) -> Result<Store, Error> {
        whole_file(folder)?;
        let lock = lock_folder(folder)?;
        if journal::is_open(folder) {
            return Err(Error::Unrecovered {
                folder: folder.to_path_buf(),
            });
        }
        Store::open_locked(folder, lock, options)
    }

    /// As [`Store::open`], also when the folder was not closed: then the store stands at its last
    /// checkpoint, and nothing may be done with it before the recovery is finished.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Corrupt`] when checkpoint, log and database do not belong
    /// together.
    pub fn recover(folder: &Path) -> Result<(Store, Option<Recovery>), Error> {
        whole_file(folder)?;
        let lock = lock_folder(folder)?;
        let checkpoint = journal::go_back(folder)?;
        let (store, pin) = Store::open_pinned(folder, lock, &StoreOptions::default())?;
        let recovery = checkpoint.map(|checkpoint| Recovery::new(&store, pin, &checkpoint));
        Ok((store, recovery.transpose()?))
    }

    /// Refuses a folder that was not closed and whose log ends before a write that the database
    /// says was acknowledged. To be asked before [`Store::recover`], which forgets the evidence.
    /// `position_of` reads the position in a record.
    ///
    /// # Errors
    /// [`Error::LostRecords`], [`Error::Locked`], or the log cannot be read.
    pub fn refuse_lost_records(
        folder: &Path,
        position_of: impl Fn(&[u8]) -> Option<u64>,
    ) -> Result<(), Error> {
        if !journal::is_open(folder) {
            return Ok(());
        }
        let _lock = lock_folder(folder)?;
        journal::refuse_lost_records(folder, position_of)
    }

    /// Opens a database to read all of it. With `beside` another process may have it open: then
    /// the table of readers keeps that one from overwriting what is looked at here, and when all
    /// is read, [`Store::require_same_holder`] says whether it counts.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Locked`] only without `beside`.
    pub fn read_only(folder: &Path, beside: bool) -> Result<Store, Error> {
        let file = whole_file(folder)?;
        let open_beside = || {
            require_visible(folder)?;
            open_to_read(&file, false)
        };
        let (lock, reader_table, (environment, tables)) = match lock_folder(folder) {
            Err(Error::Locked { .. }) if beside => {
                let (holder, opened) = lock::beside(folder, open_beside)?;
                (Lock::Other(holder), None, opened)
            }
            Ok(_) if journal::is_open(folder) => {
                return Err(Error::Unrecovered {
                    folder: folder.to_path_buf(),
                });
            }
            lock => {
                let lock = lock?;
                let table = ReaderTable::prepare(folder, &lock)?;
                (Lock::Own(lock), Some(table), open_to_read(&file, true)?)
            }
        };
        let read = ReadTransaction::begin(&environment)?;
        let format = read.get(tables.meta, FORMAT_KEY)?;
        require_format(format.unwrap_or_default())?;
        drop(read);
        let shared = Shared {
            current: Current::new(environment),
            tables,
            holders_max: u64::from(HOLDERS_MAX),
            folder: folder.to_path_buf(),
            durability: AtomicU8::new(Durability::Halted as u8),
            reader_table,
            lock,
        };
        let shared = Arc::new(shared);
        Ok(Store { shared })
    }

    /// Looks at the pages of a folder's database, which nobody has open, before they are walked
    /// over, and at the entries in them if something is wrong.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Locked`], [`Error::DamagedFile`] when the file has no state
    /// that could be looked at, or what the system says.
    pub fn examine_pages(folder: &Path) -> Result<PageProblems, Error> {
        whole_file(folder)?;
        let _lock = lock_folder(folder)?;
        page_file::examine(folder, None)
    }

    /// The same of the newest state of this store, whose pages are kept meanwhile.
    ///
    /// # Errors
    /// As [`Store::examine_pages`].
    pub fn examine_own_pages(&self) -> Result<PageProblems, Error> {
        // A state is passed when two more are committed between two lines.
        const TRIES_MAX: usize = 1_000;
        let environment = self.shared.environment();
        for _ in 1..TRIES_MAX {
            let held = ReadTransaction::begin(&environment)?;
            match page_file::examine(self.folder(), Some(held.id())) {
                Err(Error::Conflict { .. }) => {}
                examined => return examined,
            }
        }
        Err(Error::conflict(
            "writes came too fast to look at the pages of a state; try again",
        ))
    }

    /// Whether a folder has the log of a database that was not closed, which belongs to no other.
    pub fn has_log(folder: &Path) -> bool {
        journal::is_open(folder)
    }

    /// Whether another process has the database open, which may write to it.
    pub fn is_beside(&self) -> bool {
        matches!(self.shared.lock, Lock::Other(_))
    }

    /// Refuses when the process that has the folder is no longer the one it was when the store was
    /// opened beside it: its start may have gone back behind what was read here.
    ///
    /// # Errors
    /// [`Error::Conflict`]
    pub fn require_same_holder(&self) -> Result<(), Error> {
        match &self.shared.lock {
            Lock::Other(before) if !before.still_holds(&self.shared.folder)? => Err(
                Error::conflict("the server was restarted while its database was read; try again"),
            ),
            _ => Ok(()),
        }
    }

    /// As [`Store::open_with`], holding the state found before anything is committed.
    pub(crate) fn open_with_pin(
        folder: &Path,
        options: &StoreOptions,
    ) -> Result<(Store, ReadTransaction), Error> {
        whole_file(folder)?;
        Store::open_pinned(folder, lock_folder(folder)?, options)
    }

    fn open_locked(folder: &Path, lock: Taken, options: &StoreOptions) -> Result<Store, Error> {
        Ok(Store::open_pinned(folder, lock, options)?.0)
    }

    /// Opens, and pins the state found before anything is committed.
    fn open_pinned(
        folder: &Path,
        lock: Taken,
        options: &StoreOptions,
    ) -> Result<(Store, ReadTransaction), Error> {
        let file = folder.join(DATABASE_FILE);
        overwrite_in_place(folder);
        let reader_table = Some(ReaderTable::prepare(folder, &lock)?);
        let environment = Arc::new(open_environment(&file, options, false)?);
        environment.clear_dead_readers()?;
        let pin = ReadTransaction::begin(&environment)?;
        let mut transaction = WriteTransaction::begin(&environment)?;
        let tables = Tables::open(&mut |name, options| transaction.open_table(name, options))?;
        check_format(&mut transaction, &tables)?;
        transaction.commit()?;
        let folder = folder.to_path_buf();
        let holders_max = u64::from(options.holders_max);
        let shared = Shared {
            current: Current::new(environment),
            tables,
            holders_max,
            folder,
            durability: AtomicU8::new(Durability::Synced as u8),
            reader_table,
            lock: Lock::Own(lock),
        };
        let shared = Arc::new(shared);
        Ok((Store { shared }, pin))
    }

    /// A reader: one for each thread that serves.
    ///
    /// # Errors
    /// What LMDB says, e.g. that there are too many.
    pub fn reader(&self) -> Result<Reader, Error> {
        Reader::new(&self.shared)
    }

    /// Readers that all see the same state, for work in parallel.
    ///
    /// # Errors
    /// As [`Store::reader`]; [`Error::Conflict`] if writes never let them agree.
    pub fn readers(&self, count: usize) -> Result<Vec<Reader>, Error> {
        // Opening takes microseconds and a commit a sync, so the second round nearly always ends
        // it; the bound is there so that a fault elsewhere cannot hang this.
        const ROUNDS_MAX: usize = 10_000;
        let mut readers = Vec::with_capacity(count);
        for _ in 0..count {
            readers.push(self.reader()?);
        }
        for _ in 0..ROUNDS_MAX {
            let mut newest = 0;
            for reader in &mut readers {
                newest = newest.max(reader.snapshot()?.version());
            }
            let mut agree = true;
            for reader in &mut readers {
                if reader.snapshot()?.version() != newest {
                    reader.refresh()?;
                    agree &= reader.snapshot()?.version() == newest;
                }
            }
            if agree {
                return Ok(readers);
            }
        }
        Err(Error::conflict(
            "writes came too fast for several readers to agree on a state",
        ))
    }

    /// Begins the one write transaction, waiting for the one before to end. What is written is
    /// indexed as `indexes` says.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn begin(&self, indexes: &IndexSet) -> Result<Batch<'_>, Error> {
        Batch::begin(&self.shared, indexes)
    }

    /// Writes everything that is committed to the disk; needed only after
    /// [`StoreOptions::no_sync`].
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> Result<(), Error> {
        self.shared.environment().sync()
    }

    /// Writes the newest committed state to an open file or pipe, without free pages, from its
    /// first byte to its last. Reads and writes go on meanwhile.
    ///
    /// # Errors
    /// What LMDB or the operating system says; the copy is of no use then.
    pub fn copy_to(&self, output: BorrowedFd<'_>) -> Result<(), Error> {
        self.shared.environment().write_compact(output)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// Bytes of the file in use by tables or free for reuse, and bytes of the map.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn sizes(&self) -> Result<(u64, u64), Error> {
        self.shared.environment().sizes()
    }

    /// Reads the database into memory, as long as it is `wanted`. Returns the bytes that were read,
    /// or `None` if there are more than `bytes_max`.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn warm_up(&self, bytes_max: u64, wanted: &dyn Fn() -> bool) -> Result<Option<u64>, Error> {
        let (used, _) = self.sizes()?;
        if used > bytes_max {
            return Ok(None);
        }
        let in_use = self.shared.current.get();
        let mut read = ReadTransaction::begin(&in_use.environment)?;
        let mut done = 0;
        // A copy that takes the place meanwhile was written just now, and is in memory.
        while done < used && wanted() && in_use.number == self.shared.current.number() {
            let end = used.min(done + WARM_UP_BYTES);
            // A snapshot for each part: a longer one would keep pages from being used again.
            read.renew()?;
            read.get(self.shared.tables.meta, FORMAT_KEY)?;
            read.populate(done..end);
            read.reset();
            done = end;
        }
        Ok(Some(done))
    }

    /// Closes this handle; the database closes with the last handle and reader.
    pub fn close(self) {}
}

impl Shared {
    pub fn set_durability(&self, durability: Durability) {
        self.durability.store(durability as u8, Ordering::Release);
    }

    /// The environment in use.
    pub fn environment(&self) -> Arc<Environment> {
        Arc::clone(&self.current.get().environment)
    }

    /// Begins the write transaction, to be committed as durability is had at present.
    pub fn begin(&self, in_use: &InUse) -> Result<WriteTransaction, Error> {
        self.refuse_halted()?;
        let logged = self.durability.load(Ordering::Acquire) == Durability::Logged as u8;
        let sync = match logged {
            true => CommitSync::Later,
            false => CommitSync::Now,
        };
        WriteTransaction::begin_with(&in_use.environment, sync)
    }

    pub fn refuse_halted(&self) -> Result<(), Error> {
        if self.durability.load(Ordering::Acquire) == Durability::Halted as u8 {
            let reason = "an earlier failure, which the log of this program tells".to_owned();
            return Err(Error::Halted { reason });
        }
        Ok(())
    }

    /// As [`Store::tell_full`].
    pub fn explain(&self, error: Error) -> Error {
        Store::tell_full(&self.folder, error)
    }
}

impl Store {
    /// Tells a full disk from a broken one, for an error of a database in this folder: LMDB reports
    /// a write that the disk took only in part as EIO, as the last one before it is full.
    pub fn tell_full(folder: &Path, error: Error) -> Error {
        let Error::Lmdb {
            code: libc::EIO, ..
        } = error
        else {
            return error;
        };
        match probe(folder, PROBE_BYTES) {
            Err(Error::Full) => Error::Full,
            _ => error,
        }
    }

    /// Whether the file system of a folder has room for the log that the first write begins.
    pub fn has_room(folder: &Path) -> bool {
        !matches!(probe(folder, journal::BYTES_MIN), Err(Error::Full))
    }
}

/// Writes and removes a file of so many bytes.
fn probe(folder: &Path, bytes: usize) -> Result<(), Error> {
    let probe = folder.join(PROBE_FILE);
    let written = private::write(&probe, vec![1; bytes]);
    std::fs::remove_file(&probe).unwrap_or_default();
    written.map_err(Error::system("writing a probe"))
}

/// The database file of a folder, which is there and as long as its pages need.
fn whole_file(folder: &Path) -> Result<PathBuf, Error> {
    let file = folder.join(DATABASE_FILE);
    if !file.is_file() {
        return Err(Error::Missing { file });
    }
    page_file::refuse_truncated(folder)?;
    Ok(file)
}

/// Opens a database to read it. Tables that came with a later release are made first, if the
/// database is this process's own.
fn open_to_read(file: &Path, own: bool) -> Result<(Arc<Environment>, Tables), Error> {
    let options = StoreOptions::default();
    let environment = Arc::new(open_environment(file, &options, true)?);
    let opened = ReadTransaction::open_tables(&environment, |open| Tables::open(open));
    match opened {
        Err(Error::Lmdb { code, .. }) if own && code == lmdb::NOT_FOUND => {
            drop(environment);
            let environment = open_environment(file, &options, false)?;
            let environment = Arc::new(environment);
            let mut transaction = WriteTransaction::begin(&environment)?;
            Tables::open(&mut |name, options| transaction.open_table(name, options))?;
            transaction.commit()?;
            drop(environment);
            let environment = Arc::new(open_environment(file, &options, true)?);
            let tables = ReadTransaction::open_tables(&environment, |open| Tables::open(open))?;
            Ok((environment, tables))
        }
        opened => Ok((environment, opened?)),
    }
}

/// Makes the names of new files in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), Error> {
    let folder = File::open(folder).map_err(Error::system("opening a folder"))?;
    folder.sync_all().map_err(Error::system("syncing a folder"))
}

/// Opens the environment with the largest map that the address space grants.
fn open_environment(
    file: &Path,
    options: &StoreOptions,
    read_only: bool,
) -> Result<Environment, Error> {
    let mut map_bytes = options.map_bytes;
    if options.map_adapts {
        let length = std::fs::metadata(file).map_or(0, |it| it.len()) as usize;
        // At least half of the map is free after opening, so a limit is met only by a file that
        // doubles within one run.
        while map_bytes / 2 < length {
            map_bytes *= 2;
        }
    }
    loop {
        let environment_options = EnvironmentOptions {
            map_bytes,
            readers_max: READERS_MAX,
            tables_max: TABLES_MAX,
            no_sync: options.no_sync,
            read_only,
        };
        match Environment::open(file, &environment_options) {
            // Linux says ENOMEM; under valgrind a map that large gives EINVAL.
            Err(Error::Lmdb {
                code: libc::ENOMEM | libc::EINVAL,
                ..
            }) if options.map_adapts && map_bytes / 2 >= MAP_BYTES_MIN => {
                map_bytes /= 2;
            }
            result => return result,
        }
    }
}

fn require_format(bytes: &[u8]) -> Result<(), Error> {
    let damaged = || Error::corrupt("meta", "the format version cannot be read");
    let found = u32::from_le_bytes(bytes.try_into().map_err(|_| damaged())?);
    if found == FORMAT {
        return Ok(());
    }
    Err(Error::Format {
        what: "the database",
        found,
        expected: FORMAT,
    })
}

/// Checks the format version, or writes it into a new database.
fn check_format(transaction: &mut WriteTransaction, tables: &Tables) -> Result<(), Error> {
    match transaction.get(tables.meta, FORMAT_KEY)? {
        Some(bytes) => require_format(bytes),
        None => {
            let format = FORMAT.to_le_bytes();
            transaction.put(tables.meta, FORMAT_KEY, &format, Put::Upsert)?;
            let state = State::EMPTY.encode();
            transaction.put(tables.meta, STATE_KEY, &state, Put::Upsert)
        }
    }
}
