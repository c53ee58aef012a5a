//! The environment: one database file and its map.

use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use lmdb_master_sys as ffi;

use super::{check, faults};
use crate::error::Error;

/// Settings for opening an environment.
#[derive(Debug, Clone, Copy)]
pub struct EnvironmentOptions {
    /// Bytes of address space to reserve; also the limit of the file's size.
    pub map_bytes: usize,
    /// Number of read transactions that can exist at once.
    pub readers_max: u32,
    /// Number of named tables.
    pub tables_max: u32,
    /// Whether syncing is left to [`Environment::sync`]: only for files that are not relied on yet.
    pub no_sync: bool,
    /// Whether the environment is only read; another process may have it open.
    pub read_only: bool,
}

/// An open environment. Closed when dropped; transactions keep it alive.
#[derive(Debug)]
pub struct Environment {
    raw: NonNull<ffi::MDB_env>,
}

// SAFETY: LMDB's environment may be used by any thread (`lmdb.h`, "Thread safety"); the two calls
// that are not, set_mapsize and close, are made before sharing and in `drop`.
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

/// Figures of one table or of the environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Height of the tree, in pages from root to leaf.
    pub depth: u32,
    /// Number of pages of the table.
    pub pages: u64,
    /// Number of rows; each of several values of a key counts.
    pub rows: u64,
}

impl Environment {
    /// Opens or creates the environment in file `path`.
    ///
    /// # Errors
    /// Errors of LMDB or of the operating system; an address space that is too small gives ENOMEM.
    pub fn open(path: &Path, options: &EnvironmentOptions) -> Result<Environment, Error> {
        let text = c_path(path)?;
        faults::tell(path);
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a valid place for the handle.
        check(unsafe { ffi::mdb_env_create(&mut raw) })?;
        let raw = NonNull::new(raw)
            .ok_or_else(|| Error::corrupt("environment", "mdb_env_create gave no handle"))?;
        // From here on dropping closes the handle, which LMDB asks for also after a failed open.
        let environment = Environment { raw };
        let mut flags = ffi::MDB_NOSUBDIR | ffi::MDB_NOTLS;
        if options.no_sync {
            flags |= ffi::MDB_NOSYNC;
        }
        // A read-only process reads all pages; a server reads a page here and there.
        flags |= match options.read_only {
            true => ffi::MDB_RDONLY,
            false => ffi::MDB_NORDAHEAD,
        };
        // SAFETY: the handle is fresh and not shared yet; `text` is NUL-terminated. That the file
        // is not open in this process already is the lock file's doing (see the module).
        unsafe {
            check(ffi::mdb_env_set_mapsize(raw.as_ptr(), options.map_bytes))?;
            check(ffi::mdb_env_set_maxreaders(
                raw.as_ptr(),
                options.readers_max,
            ))?;
            check(ffi::mdb_env_set_maxdbs(raw.as_ptr(), options.tables_max))?;
            check(ffi::mdb_env_open(raw.as_ptr(), text.as_ptr(), flags, 0o600))?;
        }
        Ok(environment)
    }

    /// Writes everything that is committed to the disk.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn sync(&self) -> Result<(), Error> {
        // SAFETY: the handle is open as long as `self` lives.
        check(unsafe { ffi::mdb_env_sync(self.raw.as_ptr(), 1) })
    }

    /// Writes a copy of the newest committed state to an open file or pipe, leaving out free pages.
    ///
    /// # Errors
    /// Errors of LMDB or of the operating system.
    pub fn write_compact(&self, output: BorrowedFd<'_>) -> Result<(), Error> {
        let (raw, output) = (self.raw.as_ptr(), output.as_raw_fd());
        // SAFETY: the handle is open, and so is the descriptor as long as it is borrowed; the copy
        // is made from a read transaction of its own.
        check(unsafe { ffi::mdb_env_copyfd2(raw, output, ffi::MDB_CP_COMPACT) })
    }

    /// Clears the slots of readers whose process died. Returns their number.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn clear_dead_readers(&self) -> Result<u32, Error> {
        let mut dead = 0;
        // SAFETY: the handle is open, `dead` is a valid place.
        check(unsafe { ffi::mdb_reader_check(self.raw.as_ptr(), &mut dead) })?;
        Ok(u32::try_from(dead).unwrap_or(0))
    }

    /// Bytes of the file that are or were in use, and bytes of the map.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn sizes(&self) -> Result<(u64, u64), Error> {
        let mut info = std::mem::MaybeUninit::<ffi::MDB_envinfo>::zeroed();
        let mut stat = std::mem::MaybeUninit::<ffi::MDB_stat>::zeroed();
        // SAFETY: both places are valid for writes and all-zero bytes are a value of their types;
        // the handle is open.
        let (info, stat) = unsafe {
            check(ffi::mdb_env_info(self.raw.as_ptr(), info.as_mut_ptr()))?;
            check(ffi::mdb_env_stat(self.raw.as_ptr(), stat.as_mut_ptr()))?;
            (info.assume_init(), stat.assume_init())
        };
        let used = (info.me_last_pgno as u64 + 1) * u64::from(stat.ms_psize);
        Ok((used, info.me_mapsize as u64))
    }

    /// Bytes of a page; `None` if LMDB does not tell.
    pub fn page_bytes(&self) -> Option<usize> {
        let mut stat = std::mem::MaybeUninit::<ffi::MDB_stat>::zeroed();
        // SAFETY: as in `sizes`.
        let stat = unsafe {
            check(ffi::mdb_env_stat(self.raw.as_ptr(), stat.as_mut_ptr())).ok()?;
            stat.assume_init()
        };
        Some(stat.ms_psize as usize)
    }

    pub(super) fn raw(&self) -> *mut ffi::MDB_env {
        self.raw.as_ptr()
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: transactions hold an `Arc` of the environment, so none is left; cursors borrow
        // from transactions; the handle is not used again.
        unsafe { ffi::mdb_env_close(self.raw.as_ptr()) };
    }
}

fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::conflict("a file name cannot contain a zero byte"))
}
