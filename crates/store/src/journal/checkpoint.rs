//! The file `checkpoint`: a state of the database whose pages are all on the disk, and the place in
//! the log behind it.
//!
//! The state is kept as LMDB's meta record, which leads to all pages. A read transaction pinned on
//! it keeps LMDB from reusing them; after a crash the record is put back into both of LMDB's slots,
//! whose records may be newer than the pages on the disk.
//!
//! Invariant: the file has two slots, written in turn, so one of them is always whole.

use crate::private;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::disk::Disk;
use super::log::LogPlace;
use super::segment::LogId;
use crate::data_folder::{DATABASE_FILE, sync_folder};
use crate::error::Error;
use crate::page_layout::{META_AT, META_BYTES, META_MAGIC, META_PAGE_SIZE_AT, META_TRANSACTION_AT};

/// Name of the checkpoint file.
pub(super) const CHECKPOINT_FILE: &str = "checkpoint";

const MAGIC: &[u8; 8] = b"PandoChk";
const VERSION: u32 = 1;
const SLOT_BYTES: usize = 4096;
const SLOT_USED: usize = 72 + META_BYTES + 8;

/// Offset of the mark in the database file that names its log: in page 0, behind all that LMDB
/// writes there.
const MARK_AT: u64 = 2048;

/// Content of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub id: LogId,
    /// Number of the checkpoint, from 1; of the two slots the greater one counts.
    pub number: u64,
    /// Id of the transaction whose state this is.
    pub transaction: u64,
    pub place: LogPlace,
    pub meta: [u8; META_BYTES],
}

impl Checkpoint {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SLOT_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.id);
        let place = self.place;
        let numbers = [
            self.number,
            self.transaction,
            place.segment,
            place.offset,
            place.sequence,
        ];
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.meta);
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.resize(SLOT_BYTES, 0);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Checkpoint> {
        let bytes = bytes.get(..SLOT_USED)?;
        let (content, checksum) = bytes.split_at(SLOT_USED - 8);
        let known = content.starts_with(MAGIC) && content[8..12] == VERSION.to_le_bytes();
        if !known || checksum != xxh3_64(content).to_le_bytes() {
            return None;
        }
        let number = |at: usize| {
            let eight = content.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_le_bytes(eight))
        };
        Some(Checkpoint {
            id: content[16..32].try_into().ok()?,
            number: number(32)?,
            transaction: number(40)?,
            place: LogPlace {
                segment: number(48)?,
                offset: number(56)?,
                sequence: number(64)?,
            },
            meta: content[72..].try_into().ok()?,
        })
    }
}

/// The checkpoint file, open for writing.
#[derive(Debug)]
pub(super) struct CheckpointFile {
    file: File,
    disk: Arc<dyn Disk>,
}

impl CheckpointFile {
    /// Creates the file with its first checkpoint. The rename to its name makes it valid.
    pub fn create(
        folder: &Path,
        first: &Checkpoint,
        disk: &Arc<dyn Disk>,
    ) -> Result<CheckpointFile, Error> {
        let (path, new) = (path(folder), folder.join("checkpoint.new"));
        let created = || -> std::io::Result<File> {
            let file = private::create(&new)?;
            let mut bytes = vec![0; 2 * SLOT_BYTES];
            let at = slot(first.number) as usize;
            bytes[at..at + SLOT_BYTES].copy_from_slice(&first.encode());
            file.write_all_at(&bytes, 0)?;
            file.sync_all()?;
            std::fs::rename(&new, path)?;
            Ok(file)
        };
        let file = created().map_err(|error| {
            // An incomplete file is no checkpoint and may stay, so an error here is ignored.
            std::fs::remove_file(&new).unwrap_or_default();
            Error::system("making the checkpoint file")(error)
        })?;
        sync_folder(folder)?;
        let disk = Arc::clone(disk);
        Ok(CheckpointFile { file, disk })
    }

    /// Returns a checkpoint file that writes to `file`.
    #[cfg(test)]
    pub fn of(file: File) -> CheckpointFile {
        let disk = Arc::new(super::SystemDisk);
        CheckpointFile { file, disk }
    }

    /// The disk that it is written to.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Writes the next checkpoint into the slot of the one before the last.
    pub fn write(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let offset = slot(checkpoint.number);
        let written = self.disk.write(&self.file, &checkpoint.encode(), offset);
        written.map_err(Error::system("writing the checkpoint"))?;
        let synced = self.disk.sync(&self.file);
        let synced = synced.map_err(Error::system("syncing the checkpoint"));
        synced.map_err(|error| failed_sync("syncing the checkpoint", error))
    }
}

/// Turns a sync that failed for want of room into a failure that ends writing: after it the content
/// of the disk is unknown, so it must not be tried again.
pub(super) fn failed_sync(doing: &'static str, error: Error) -> Error {
    match error {
        Error::Full => Error::System {
            doing,
            source: std::io::ErrorKind::StorageFull.into(),
        },
        error => error,
    }
}

fn slot(number: u64) -> u64 {
    (number & 1) * SLOT_BYTES as u64
}

fn path(folder: &Path) -> PathBuf {
    folder.join(CHECKPOINT_FILE)
}

/// Returns whether the folder has a checkpoint, which means that it was not closed.
pub(crate) fn exists(folder: &Path) -> bool {
    path(folder).exists()
}

/// Returns the newest checkpoint of a folder, if any.
pub(super) fn read(folder: &Path) -> Result<Option<Checkpoint>, Error> {
    let bytes = match std::fs::read(path(folder)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::system("reading the checkpoint")(error)),
    };
    let slots = bytes.chunks(SLOT_BYTES).filter_map(Checkpoint::decode);
    let newest = slots.max_by_key(|it| it.number);
    newest.map(Some).ok_or_else(|| {
        Error::corrupt_log("the file \"checkpoint\" cannot be read: neither of its slots is whole")
    })
}

/// Returns the meta record of the state that the next start goes back to, if the folder has a
/// checkpoint.
pub(crate) fn meta(folder: &Path) -> Result<Option<[u8; META_BYTES]>, Error> {
    Ok(read(folder)?.map(|it| it.meta))
}

/// Removes the checkpoint: from now on the database file is complete by itself.
pub(super) fn remove(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path(folder)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::system("removing the checkpoint")(error));
        }
        _ => {}
    }
    sync_folder(folder)
}

/// Returns LMDB's meta record of the newest transaction, which must be `transaction`: the caller
/// prevents commits meanwhile.
pub(crate) fn meta_of(folder: &Path, transaction: u64) -> Result<[u8; META_BYTES], Error> {
    let file = File::open(folder.join(DATABASE_FILE));
    let file = file.map_err(Error::system("opening the database file"))?;
    let page_bytes = page_size(&meta_at(&file, 0)?)?;
    let meta = meta_at(&file, (transaction & 1) * page_bytes)?;
    if transaction_of(&meta) != transaction {
        return Err(Error::corrupt(
            "environment",
            format!("LMDB's meta record is not of transaction {transaction}"),
        ));
    }
    Ok(meta)
}

/// Writes the id of the log into the database file, and syncs the file.
pub(super) fn mark(folder: &Path, id: LogId) -> Result<(), Error> {
    let file = File::options().write(true).open(folder.join(DATABASE_FILE));
    let marked = file.and_then(|file| {
        file.write_all_at(&id, MARK_AT)?;
        file.sync_all()
    });
    marked.map_err(Error::system("marking the database file"))
}

/// Returns whether the database file is marked with this log's id.
pub(super) fn is_marked(folder: &Path, id: LogId) -> Result<bool, Error> {
    let file = File::open(folder.join(DATABASE_FILE));
    let mut mark = [0; 16];
    let read = file.and_then(|file| file.read_exact_at(&mut mark, MARK_AT));
    read.map_err(Error::system("reading the database file"))?;
    Ok(mark == id)
}

/// Makes the checkpoint's state the newest one of the database file, which no process has open.
pub(super) fn restore(folder: &Path, checkpoint: &Checkpoint) -> Result<(), Error> {
    let opening = Error::system("opening the database file");
    let file = File::options()
        .read(true)
        .write(true)
        .open(folder.join(DATABASE_FILE))
        .map_err(opening)?;
    let page_bytes = page_size(&checkpoint.meta)?;
    let mut mark = [0; 16];
    let read = file.read_exact_at(&mut mark, MARK_AT);
    read.map_err(Error::system("reading the database file"))?;
    let metas = [meta_at(&file, 0)?, meta_at(&file, page_bytes)?];
    let newest = metas.iter().map(transaction_of).max();
    if mark != checkpoint.id || newest < Some(checkpoint.transaction) {
        return Err(Error::corrupt_log(format!(
            "{DATABASE_FILE} is not the file that \"{CHECKPOINT_FILE}\" and \"log\" beside it \
             belong to: if another copy was put in its place, remove those two"
        )));
    }
    put_back(&file, &checkpoint.meta)
}

/// Makes the state of a meta record the newest one of a database file, which no process has open.
/// The caller has kept its pages from reuse.
pub(crate) fn put_meta_back(folder: &Path, meta: &[u8; META_BYTES]) -> Result<(), Error> {
    let file = File::options().write(true).open(folder.join(DATABASE_FILE));
    let file = file.map_err(Error::system("opening the database file"))?;
    put_back(&file, meta)
}

fn put_back(file: &File, meta: &[u8; META_BYTES]) -> Result<(), Error> {
    let page_bytes = page_size(meta)?;
    let put_back = (|| {
        file.write_all_at(meta, META_AT)?;
        file.write_all_at(meta, page_bytes + META_AT)?;
        file.sync_all()
    })();
    put_back.map_err(Error::system("going back to the checkpoint"))
}

/// Reads the meta record of the page at this byte offset.
fn meta_at(file: &File, page: u64) -> Result<[u8; META_BYTES], Error> {
    let mut meta = [0; META_BYTES];
    let read = file.read_exact_at(&mut meta, page + META_AT);
    read.map_err(Error::system("reading LMDB's meta record"))?;
    match meta.starts_with(&META_MAGIC.to_ne_bytes()) {
        true => Ok(meta),
        false => Err(Error::corrupt("environment", "no meta record of LMDB")),
    }
}

fn transaction_of(meta: &[u8; META_BYTES]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&meta[META_TRANSACTION_AT..]);
    u64::from_ne_bytes(bytes)
}

fn page_size(meta: &[u8; META_BYTES]) -> Result<u64, Error> {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&meta[META_PAGE_SIZE_AT..META_PAGE_SIZE_AT + 4]);
    let bytes = u32::from_ne_bytes(bytes);
    if bytes.is_power_of_two() && (512..=65_536).contains(&bytes) {
        return Ok(bytes.into());
    }
    let detail = format!("LMDB's meta record names a page size of {bytes}");
    Err(Error::corrupt("environment", detail))
}
