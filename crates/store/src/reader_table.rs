//! LMDB's table of readers, `pando.mdb-lock`: a file that all who have the database open write to
//! through a map.
//!
//! A write through a map that finds no room ends the process (SIGBUS). Where blocks are overwritten
//! in place it is enough that the file has all its blocks. Where overwriting may take another block
//! the table lies in memory: the name is a link to a file in `/dev/shm`, in a folder of this node
//! alone whose random name says that another `/dev/shm`, of another container, does not have it.

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

/// The table, beside the database file.
pub(crate) const READERS_FILE: &str = "pando.mdb-lock";
/// Slots for read transactions; each takes 64 bytes.
pub(crate) const READERS_MAX: u32 = 4096;
/// Room for the header of the table and its slots.
const READERS_BYTES: u64 = 8192 + 64 * READERS_MAX as u64;

/// Where files lie in memory.
const MEMORY: &str = "/dev/shm";
/// The file in the table's folder there.
const TABLE_FILE: &str = "readers";

/// The table of a folder that this process has locked. Dropped after the environment is closed and
/// before the lock goes, it removes what lies in memory, unless another process reads still.
#[derive(Debug)]
pub(crate) struct ReaderTable {
    link: PathBuf,
}

impl ReaderTable {
    /// Sees to it that the table of a folder, which `lock` says is this process's, has its room.
    ///
    /// # Errors
    /// [`Error::Full`], or what the system says.
    pub fn prepare(folder: &Path, lock: &Taken) -> Result<ReaderTable, Error> {
        let link = folder.join(READERS_FILE);
        let table = ReaderTable { link };
        let is_there = table.link.symlink_metadata().is_ok();
        let target = std::fs::read_link(&table.link).ok();
        if let Some(target) = &target {
            // A link needs room, so the one that is there is used again, without its table after
            // an orderly stop or a restart of the machine.
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
        // Others who open the table meanwhile open it again. Where there is no memory for it, it
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

    /// Removes the table that lies in memory, whose place another one takes now.
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

/// Refuses to read beside another process whose table of readers this process cannot see.
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

/// Whether no process has the table open: LMDB holds a lock as long as it does.
fn is_unused(file: &Path) -> bool {
    let opened = File::options().read(true).write(true).open(file);
    opened.is_ok_and(|it| fcntl_lock(&it, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// Gives the table its blocks. LMDB makes it a file with holes, and the first reader in a hole
/// would need room.
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
    // Not there, or another's: nothing is lost but some room in memory.
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
