//! The store: one folder, one database file, one process.

use crate::private;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use crate::batch::Batch;
use crate::data_folder::DATABASE_FILE;
use crate::error::Error;
use crate::file_system::overwrite_in_place;
use crate::in_use::Current;
use crate::index::posting::HOLDERS_MAX;
use crate::index_set::IndexSet;
use crate::journal::{checkpoint, log};
use crate::lmdb::{self, Environment, EnvironmentOptions, Put, ReadTransaction, WriteTransaction};
use crate::lock::{self, Lock, Taken, lock_folder};
use crate::open_database::{Durability, OpenDatabase};
use crate::page_file::{self, PageProblems};
use crate::reader::Reader;
use crate::reader_table::{READERS_MAX, ReaderTable, require_visible};
use crate::room;
use crate::state::{FORMAT, FORMAT_KEY, STATE_KEY, State};
use crate::tables::{TABLES_MAX, Tables};

/// Bytes read into memory at a time after a start.
const WARM_UP_BYTES: u64 = 16 << 20;
/// Bytes of address space to reserve; takes neither memory nor disk.
const MAP_BYTES: usize = 1 << 40;
/// Bytes of the smallest map tried where address space is scarce.
const MAP_BYTES_MIN: usize = 1 << 30;
/// An open database. Clones share it; it is closed when the last one and all readers are gone.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) shared: Arc<OpenDatabase>,
}

/// Settings for tests and tools; servers use the defaults.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// Limit of the database's size in bytes; reserved as address space.
    pub map_bytes: usize,
    /// Whether `map_bytes` may be lowered where address space is scarce, and raised for a file that
    /// has grown close to it.
    pub map_adapts: bool,
    /// Whether syncing is left to [`Store::sync`], for a file that is not relied on yet.
    pub no_sync: bool,
    /// Number of holders of a value above which they move to the posting table.
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
    /// [`Error::Exists`] when there is one already; the errors of [`Store::open`].
    pub fn create(folder: &Path) -> Result<Store, Error> {
        Store::create_with(folder, &StoreOptions::default())
    }

    /// Makes an empty database in `folder`, with settings.
    ///
    /// # Errors
    /// The errors of [`Store::create`].
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
    /// [`Error::Format`] for a database of another format, or an error of the operating system.
    pub fn open(folder: &Path) -> Result<Store, Error> {
        Store::open_with(folder, &StoreOptions::default())
    }

    /// Opens the database in `folder`, with settings.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    pub fn open_with(folder: &Path, options: &StoreOptions) -> Result<Store, Error> {
        whole_file(folder)?;
        let lock = lock_folder(folder)?;
        if checkpoint::exists(folder) {
            return Err(Error::Unrecovered {
                folder: folder.to_path_buf(),
            });
        }
        Store::open_locked(folder, lock, options)
    }

    /// Opens a database for reading all of it. With `beside` another process may have it open:
    /// LMDB's table of readers then protects the pages read here, and
    /// [`Store::require_same_holder`] tells at the end whether the result is valid.
    ///
    /// # Errors
    /// The errors of [`Store::open`]; [`Error::Locked`] only without `beside`.
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
            Ok(_) if checkpoint::exists(folder) => {
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
        let shared = OpenDatabase {
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

    /// Checks the pages of a folder's database, which no process has open, before LMDB walks over
    /// them; if there are problems, also the entries.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Locked`], [`Error::DamagedFile`] when the file has no state to
    /// check, or an error of the operating system.
    pub fn examine_pages(folder: &Path) -> Result<PageProblems, Error> {
        whole_file(folder)?;
        let _lock = lock_folder(folder)?;
        page_file::examine(folder, None)
    }

    /// Checks the pages of the newest state of this open store; a snapshot protects them meanwhile.
    ///
    /// # Errors
    /// The errors of [`Store::examine_pages`].
    pub fn examine_own_pages(&self) -> Result<PageProblems, Error> {
        // The meta record of a state is lost when two more commits come before it is read.
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
            "too many writes came while the pages of a state were checked; try again",
        ))
    }

    /// Returns whether a folder has the log of a database that was not closed, and it is that
    /// database's.
    pub fn has_log(folder: &Path) -> bool {
        checkpoint::exists(folder)
    }

    /// Returns whether another process has the database open, and may write to it.
    pub fn is_beside(&self) -> bool {
        matches!(self.shared.lock, Lock::Other(_))
    }

    /// Fails when the process that holds the folder is no longer the one of the time when the store
    /// was opened beside it: its start may have gone back behind the state read here.
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

    /// Opens a store with settings, and pins the state found before anything is committed.
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

    /// Opens a store, and pins the state found before anything is committed.
    pub(crate) fn open_pinned(
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
        let shared = OpenDatabase {
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

    /// Returns a reader; each serving thread needs one.
    ///
    /// # Errors
    /// Errors of LMDB, e.g. that there are too many readers.
    pub fn reader(&self) -> Result<Reader, Error> {
        Reader::new(&self.shared)
    }

    /// Returns `count` readers that all see the same state, for work in parallel.
    ///
    /// # Errors
    /// The errors of [`Store::reader`]; [`Error::Conflict`] if continual writes keep them apart.
    pub fn readers(&self, count: usize) -> Result<Vec<Reader>, Error> {
        // Opening takes microseconds and a commit a sync, so the second round nearly always
        // succeeds; the bound keeps a fault elsewhere from hanging this loop.
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
            "too many writes came for several readers to get the same state",
        ))
    }

    /// Begins the write transaction after the previous one has ended. Writes maintain the indexes
    /// of `indexes`.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn begin(&self, indexes: &IndexSet) -> Result<Batch<'_>, Error> {
        Batch::begin(&self.shared, indexes)
    }

    /// Writes everything that is committed to the disk; needed only after
    /// [`StoreOptions::no_sync`].
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn sync(&self) -> Result<(), Error> {
        self.shared.environment().sync()
    }

    /// Writes the newest committed state to an open file or pipe, without free pages, from first
    /// byte to last. Reads and writes go on meanwhile.
    ///
    /// # Errors
    /// Errors of LMDB or of the operating system; the copy is then useless.
    pub fn copy_to(&self, output: BorrowedFd<'_>) -> Result<(), Error> {
        self.shared.environment().write_compact(output)
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// Bytes of the file in use by tables or free for reuse, and bytes of the map.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn sizes(&self) -> Result<(u64, u64), Error> {
        self.shared.environment().sizes()
    }

    /// Reads the database into memory while `wanted` returns true. Returns the bytes read, or
    /// `None` if the database is larger than `bytes_max`.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn warm_up(&self, bytes_max: u64, wanted: &dyn Fn() -> bool) -> Result<Option<u64>, Error> {
        let (used, _) = self.sizes()?;
        if used > bytes_max {
            return Ok(None);
        }
        let in_use = self.shared.current.get();
        let mut read = ReadTransaction::begin(&in_use.environment)?;
        let mut done = 0;
        // A copy that replaces the database meanwhile was written just now, and is in memory.
        while done < used && wanted() && in_use.number == self.shared.current.number() {
            let end = used.min(done + WARM_UP_BYTES);
            // Each part has a snapshot of its own: a longer one would keep pages from reuse.
            read.renew()?;
            read.get(self.shared.tables.meta, FORMAT_KEY)?;
            read.populate(done..end);
            read.reset();
            done = end;
        }
        Ok(Some(done))
    }

    /// Tells a full disk from a broken one, for an error of a database in this folder: where LMDB
    /// reports EIO, a probe file is written.
    pub fn tell_full(folder: &Path, error: Error) -> Error {
        room::tell_full(folder, error)
    }

    /// Returns whether the folder's file system has room for the log that the first write begins.
    pub fn has_room(folder: &Path) -> bool {
        room::has_room(folder, log::BYTES_MIN)
    }

    /// Closes this handle; the database closes with the last handle and reader.
    pub fn close(self) {}
}

/// Returns the database file of a folder, after checking that it exists and is as long as its pages
/// need.
pub(crate) fn whole_file(folder: &Path) -> Result<PathBuf, Error> {
    let file = folder.join(DATABASE_FILE);
    if !file.is_file() {
        return Err(Error::Missing { file });
    }
    page_file::refuse_truncated(folder)?;
    Ok(file)
}

/// Opens a database for reading. Tables of later releases that are missing are created first, if
/// the database is this process's own.
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

/// Opens the environment with the largest map that the address space grants.
fn open_environment(
    file: &Path,
    options: &StoreOptions,
    read_only: bool,
) -> Result<Environment, Error> {
    let mut map_bytes = options.map_bytes;
    if options.map_adapts {
        let length = std::fs::metadata(file).map_or(0, |it| it.len()) as usize;
        // After opening, at least half of the map is free, so only a file that doubles within one
        // run meets the limit.
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
            // Linux returns ENOMEM; under valgrind a map that large gives EINVAL.
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
