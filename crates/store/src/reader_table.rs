//! LMDB's table of readers, `pando.mdb-lock`: a file that all processes with the database open
//! write to through a map.
//!
//! A write through a map that finds no room ends the process (SIGBUS). Where blocks are overwritten
//! in place it is enough to allocate all blocks of the file. Where overwriting may take another
//! block, the table lies in memory: its name is a link to a file in `/dev/shm`, in a folder of this
//! node with a random name, which the `/dev/shm` of another container does not have.

use crate::lock::Taken;
use crate::private;
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock};

use crate::error::Error;
use crate::file_system;

/// Name of the table, beside the database file.
pub(crate) const READERS_FILE: &str = "pando.mdb-lock";
/// Number of slots for read transactions; each takes 64 bytes.
pub(crate) const READERS_MAX: u32 = 4096;
/// Bytes of the table: its header and its slots.
const READERS_BYTES: u64 = 8192 + 64 * READERS_MAX as u64;

/// Folder of files in memory.
const MEMORY: &str = "/dev/shm";
/// Name of the file in the table's folder.
const TABLE_FILE: &str = "readers";

/// The table of a folder that this process has locked. It is dropped after the environment is
/// closed and before the lock is released; dropping removes a file in memory unless another process
/// still reads.
#[derive(Debug)]
pub(crate) struct ReaderTable {
    link: PathBuf,
}

impl ReaderTable {
    /// Makes the table of a folder, locked by `lock`, with all its blocks.
    ///
    /// # Errors
    /// [`Error::Full`], or an error of the operating system.
    pub fn prepare(folder: &Path, lock: &Taken) -> Result<ReaderTable, Error> {
        let link = folder.join(READERS_FILE);
        let table = ReaderTable { link };
        let is_there = table.link.symlink_metadata().is_ok();
        let target = std::fs::read_link(&table.link).ok();
        if let Some(target) = &target {
            // A link needs room, so an existing one is reused; after an orderly stop or a restart
            // of the machine its table is missing.
            let made = make_table(target);
            if made.is_ok() || is_open_to_us(target) && allocated(target) >= READERS_BYTES {
                return Ok(table);
            }
        }
        let can_be_in_memory =
            file_system::takes_blocks(folder) && file_system::is_memory(Path::new(MEMORY));
        let is_used = is_there && target.is_none() && !is_unused(&table.link);
        if target.is_none() && (!can_be_in_memory || is_used) {
            allocate(&table.link)?;
            return Ok(table);
        }
        // Other processes that open the table meanwhile open it again. Without room in memory it
        // stays beside the database.
        let said = lock.begin_replacing();
        let made = said.and_then(|()| table.put_into_memory());
        lock.end_replacing(0).unwrap_or_default();
        match made {
            Ok(()) => Ok(table),
            Err(error) => {
                if target.is_some() {
                    remove_if_there(&table.link).unwrap_or_default();
                }
                allocate(&table.link).map(|()| table).map_err(|_| error)
            }
        }
    }

    fn put_into_memory(&self) -> Result<(), Error> {
        let random = RandomState::new().build_hasher().finish();
        let target = Path::new(MEMORY).join(format!("pando-{random:016x}"));
        let target = target.join(TABLE_FILE);
        let new = self.link.with_extension("link");
        let made = make_table(&target)
            .and_then(|()| remove_if_there(&new))
            .and_then(|()| symlink(&target, &new))
            .and_then(|()| std::fs::rename(&new, &self.link));
        made.map_err(|error| {
            remove_table(&target);
            Error::system("putting the table of readers into memory")(error)
        })
    }

    /// Removes a table in memory whose place another one takes.
    pub fn retire(folder: &Path) {
        if let Ok(target) = std::fs::read_link(folder.join(READERS_FILE)) {
            remove_table(&target);
        }
    }
}

impl Drop for ReaderTable {
    fn drop(&mut self) {
        if let Ok(target) = std::fs::read_link(&self.link)
            && is_unused(&target)
        {
            remove_table(&target);
        }
    }
}

/// Refuses to read beside another process whose table of readers is invisible to this process.
///
/// # Errors
/// [`Error::Conflict`]
pub(crate) fn require_visible(folder: &Path) -> Result<(), Error> {
    let link = folder.join(READERS_FILE);
    match std::fs::read_link(&link) {
        Ok(target) if !target.exists() => Err(Error::conflict(format!(
            "the server's table of readers, {}, is not here: read beside it where it runs, in the \
             same container",
            target.display()
        ))),
        _ => Ok(()),
    }
}

fn allocated(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |it| it.blocks() * 512)
}

fn is_open_to_us(file: &Path) -> bool {
    File::options().read(true).write(true).open(file).is_ok()
}

/// Returns whether no process has the table open: LMDB holds a lock while it does.
fn is_unused(file: &Path) -> bool {
    let opened = File::options().read(true).write(true).open(file);
    opened.is_ok_and(|it| fcntl_lock(&it, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Allocates the blocks of the table. LMDB would make it a file with holes, and the first reader in
/// a hole would need room.
fn allocate(file: &Path) -> Result<(), Error> {
    if allocated(file) >= READERS_BYTES {
        return Ok(());
    }
    let mut table =
        private::create(file).map_err(Error::system("creating the table of readers"))?;
    let written = table
        .write_all(&vec![0; READERS_BYTES as usize])
        .and_then(|()| table.sync_all());
    written.map_err(Error::system("writing the table of readers"))
}

/// Makes an empty table in a new folder.
fn make_table(target: &Path) -> io::Result<()> {
    let folder = target.parent().ok_or(ErrorKind::InvalidInput)?;
    private::create_folder(folder)?;
    private::write(target, vec![0; READERS_BYTES as usize])
}

fn remove_table(target: &Path) {
    // The file is missing or another user's: at worst some memory stays in use.
    std::fs::remove_file(target).unwrap_or_default();
    if let Some(folder) = target.parent() {
        std::fs::remove_dir(folder).unwrap_or_default();
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
