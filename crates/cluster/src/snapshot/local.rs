//! The partial copy of a joiner: a folder beside its future data folder, which takes its name when
//! it is complete.
//!
//! No list says which pieces are there: a piece is there if its checksum is right. So a
//! joiner goes on after any interruption, also with another node's copy as far as that is equal.

use super::free_bytes;
use crate::trouble::Trouble;
use replica::membership::{self, ClusterMark};
use replica::partial::sync;
use std::cmp::Ordering;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use store::{DATABASE_FILE, private};
use xxhash_rust::xxh3::xxh3_128;

/// Bytes of a block in which file systems count.
const BLOCK_BYTES: u64 = 512;

/// A copy that is being fetched.
pub(super) struct Local {
    target: PathBuf,
    folder: PathBuf,
    file: File,
    /// Locked until the copy has its name.
    _lock: File,
}

impl Local {
    /// Opens the partial copy of a data folder that does not exist yet.
    pub fn open(data: &Path) -> Result<Local, Trouble> {
        let mut folder = data.as_os_str().to_owned();
        folder.push(".partial");
        let folder = PathBuf::from(folder);
        private::create_folders(&folder).map_err(Trouble::file(&folder))?;
        let lock = File::open(&folder).map_err(Trouble::file(&folder))?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(Trouble::Refused(format!(
                "{}: another process fetches this copy; try again when it has ended",
                folder.display()
            )));
        }
        if data.exists() {
            return Err(Trouble::Refused(format!(
                "{}: expected a node without data",
                data.display()
            )));
        }
        let path = folder.join(DATABASE_FILE);
        let mut options = private::options();
        let file = options.read(true).write(true).truncate(false).open(&path);
        let file = file.map_err(Trouble::file(&path))?;
        Ok(Local {
            target: data.to_path_buf(),
            folder,
            file,
            _lock: lock,
        })
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |it| it.len())
    }

    /// Refuses a copy for which there is too little room beside what is here already.
    pub fn require_room(&self, bytes: u64) -> Result<(), Trouble> {
        let failed = Trouble::file(&self.folder);
        let here = self.file.metadata().map_err(&failed)?.blocks() * BLOCK_BYTES;
        let free = free_bytes(&self.folder).map_err(&failed)?;
        let needed = bytes.saturating_sub(here);
        if free >= needed {
            return Ok(());
        }
        Err(Trouble::Refused(format!(
            "not enough space in {}: the copy of the database needs up to {} MiB more, {} MiB are \
             free; make room and give the same command again",
            self.folder.display(),
            needed >> 20,
            free >> 20
        )))
    }

    /// Returns whether the piece at `begin` is here already.
    pub fn has(&self, begin: u64, sum: u128, piece: &mut Vec<u8>, bytes: u64) -> bool {
        piece.resize(bytes as usize, 0);
        match self.file.read_exact_at(piece, begin) {
            Ok(()) => xxh3_128(piece) == sum,
            // Shorter than the piece: an earlier attempt ended before it.
            Err(_) => false,
        }
    }

    /// Writes a piece.
    pub fn write(&self, begin: u64, piece: &[u8]) -> Result<(), Trouble> {
        store::write_pages(&self.file, piece, begin).map_err(|error| self.failed(error))
    }

    /// Has what was written reach the disk.
    pub fn sync(&self) -> Result<(), Trouble> {
        self.file.sync_data().map_err(|error| self.failed(error))
    }

    /// Why the complete copy is none of this cluster and generation; `None` if it is one.
    pub fn mismatch(&self, wanted: &ClusterMark) -> Option<String> {
        let found = membership::of_folder(&self.folder)?;
        if found == *wanted {
            return None;
        }
        if found.cluster != wanted.cluster {
            return Some("its directory is that of another cluster".to_owned());
        }
        other_generation(wanted, found.generation)
    }

    /// Gives the complete copy its name.
    pub fn take_name(&self, bytes: u64) -> Result<(), Trouble> {
        let ended = self.file.set_len(bytes).and_then(|()| self.file.sync_all());
        ended.map_err(|error| self.failed(error))?;
        sync(&self.folder).map_err(Trouble::of)?;
        let above = self.target.parent().filter(|it| !it.as_os_str().is_empty());
        fs::rename(&self.folder, &self.target).map_err(Trouble::file(&self.target))?;
        sync(above.unwrap_or(Path::new("."))).map_err(Trouble::of)
    }

    fn failed(&self, error: io::Error) -> Trouble {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Trouble::Refused(format!(
                "{}: {error}; make room and give the same command again",
                self.folder.display()
            )),
            _ => Trouble::file(&self.folder)(error),
        }
    }
}

/// Why a copy of this generation is none of the wanted one; `None` if it is one.
pub(super) fn other_generation(wanted: &ClusterMark, found: u64) -> Option<String> {
    let way_out = match found.cmp(&wanted.generation) {
        Ordering::Equal => return None,
        Ordering::Greater => "join with a new folder",
        Ordering::Less => {
            "serve this node again when that one has followed, or while another one answers"
        }
    };
    Some(format!(
        "expected a copy of generation {} of the cluster, got one of generation {found}: {way_out}",
        wanted.generation
    ))
}
