//! Copies of a node's database for nodes that join: made once, shared by all that ask meanwhile,
//! served in pieces with checksums, and removed when nobody has asked for a time.
//!
//! A piece can be had as soon as it is written, so making and fetching a copy take as long as the
//! slower of the two. Pieces are compressed, on the donor's disk and on their way. A complete copy
//! is still served after a restart of the node: a joiner goes on where it was.
//!
//! Invariants:
//! - there is at most one copy at a time, in a folder of its own beside the database;
//! - a piece whose checksum was told never changes.

mod copy;
mod fetch;
mod local;
mod making;
mod piece;

pub use copy::Copy;
pub use fetch::{Source, Watch, fetch};

use crate::peer::{NodeStatus, Offer, PeerNode};
use crate::trouble::Trouble;
use replica::clock::{Clock, SystemClock};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::private;

/// Bytes of a piece before compression.
pub const PIECE_BYTES: u64 = 8 << 20;
/// Folder of the copy, in the node's folder.
pub const SNAPSHOTS: &str = "data/snapshot";
/// How long a copy is kept after its last use.
pub const KEPT: Duration = Duration::from_secs(600);
/// Bytes between two syncs: more would stay in memory and delay the database's own syncs.
const SYNC_BYTES: u64 = 64 << 20;
/// Bytes left free beside a copy, for the database and its log to grow.
const SPARE_BYTES: u64 = 256 << 20;

/// Makes and keeps the copy of a node.
pub struct Donor {
    folder: PathBuf,
    node: Arc<dyn PeerNode>,
    kept: Duration,
    current: Mutex<Option<Current>>,
}

/// The copy that is made or served.
struct Current {
    copy: Arc<Copy>,
    making: Option<JoinHandle<()>>,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum NoCopy {
    /// The file system has too little room.
    #[error("{0}")]
    NoRoom(String),
    /// Another reason.
    #[error("{0}")]
    Failed(String),
}

impl Donor {
    /// A donor with its folder, which may be missing. A complete copy in it goes on being served,
    /// anything else there is removed. A copy is removed when it was not used for `kept`.
    ///
    /// # Errors
    /// The folder cannot be read, or a file in it not removed.
    pub fn open(
        folder: PathBuf,
        node: Arc<dyn PeerNode>,
        kept: Duration,
    ) -> Result<Donor, Trouble> {
        let copy = Copy::kept_in(&folder)?;
        let current = copy.map(|copy| Current {
            copy: Arc::new(copy),
            making: None,
        });
        Ok(Donor {
            folder,
            node,
            kept,
            current: Mutex::new(current),
        })
    }

    /// The copy there is, if it is of the node's generation and has all records up to `place`, or a
    /// new one that is being made from now on. Waits for the disk.
    ///
    /// # Errors
    /// There is too little room, or the node can make none.
    pub fn offer(&self, place: u64) -> Result<Offer, NoCopy> {
        let NodeStatus {
            generation,
            place: executed,
            ..
        } = self.node.status();
        let mut current = self.current();
        if let Some(current) = &*current
            && !current.copy.has_failed()
            && current.copy.offer.generation == Some(generation)
            && current.copy.offer.place >= place
        {
            current.copy.touch();
            return Ok(current.copy.offer.clone());
        }
        end(current.take());
        let copy = Arc::new(self.begin(generation, executed)?);
        let offer = copy.offer.clone();
        let (made, node) = (Arc::clone(&copy), Arc::clone(&self.node));
        let making = std::thread::Builder::new().name("snapshot".to_owned());
        let making = making.spawn(move || making::make(&made, &*node));
        let making = making.map_err(|error| NoCopy::Failed(error.to_string()))?;
        tracing::info!(
            id = offer.id,
            place = offer.place,
            "a copy is made for joining nodes"
        );
        *current = Some(Current {
            copy,
            making: Some(making),
        });
        Ok(offer)
    }

    /// The copy of this identifier; `None` if it is gone.
    pub fn copy(&self, id: &str) -> Option<Arc<Copy>> {
        let current = self.current();
        let copy = &current.as_ref()?.copy;
        (copy.offer.id == id).then(|| {
            copy.touch();
            Arc::clone(copy)
        })
    }

    /// Removes the copy if it has failed, or nobody has used it for the time that copies are kept.
    pub fn tidy(&self) {
        let mut current = self.current();
        if current
            .as_ref()
            .is_some_and(|it| it.copy.is_idle(self.kept))
        {
            end(current.take());
        }
    }

    /// Ends the making of a copy. A complete copy stays for the next start.
    pub fn end(&self) {
        let Some(mut current) = self.current().take() else {
            return;
        };
        if current.copy.is_complete()
            && let Some(making) = current.making.take()
        {
            // It is on its way to the disk.
            let _ = making.join();
        }
        if !current.copy.is_complete() {
            end(Some(current));
        }
    }

    /// Begins a copy of the generation that the node follows, and with all records up to `place`,
    /// which the node has executed.
    fn begin(&self, generation: u64, place: u64) -> Result<Copy, NoCopy> {
        let failed =
            |error: io::Error| NoCopy::Failed(format!("{}: {error}", self.folder.display()));
        private::create_folders(&self.folder).map_err(failed)?;
        let bytes_max = self.node.copy_bytes_max().map_err(NoCopy::Failed)?;
        let free = free_bytes(&self.folder).map_err(failed)?;
        if free < bytes_max.saturating_add(SPARE_BYTES) {
            return Err(NoCopy::NoRoom(format!(
                "not enough space in {} for a copy of the database: it needs up to {} MiB and a \
                 reserve of {} MiB, {} MiB are free; make room, or join from another node",
                self.folder.display(),
                bytes_max >> 20,
                SPARE_BYTES >> 20,
                free >> 20
            )));
        }
        let offer = Offer {
            id: format!("{:032x}", u128::from_be_bytes(SystemClock.uuid())),
            piece_bytes: PIECE_BYTES,
            bytes_max,
            // Asked before the copy begins, so the copy has executed at least this.
            place,
            generation: Some(generation),
        };
        Copy::begin(&self.folder, offer).map_err(failed)
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the making of a copy and removes it.
fn end(current: Option<Current>) {
    let Some(current) = current else {
        return;
    };
    current.copy.cancel();
    if let Some(making) = current.making {
        // A thread that panicked has made nothing either.
        let _ = making.join();
    }
    current.copy.remove();
}

/// Bytes free on the file system of a folder.
fn free_bytes(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Removes everything in a folder but the files of these names. A missing folder is empty.
fn remove_others(folder: &Path, names: &[&str]) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if !names.iter().any(|it| entry.file_name() == *it) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
