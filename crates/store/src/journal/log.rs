//! Writing the log: segments whose blocks are allocated before a record is written, and records in
//! sequence, the last of which can be taken back.

use crate::private;
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Disk;
use super::segment::{Header, LogId, PAGE_BYTES, encode_record, file_name, record_bytes};
use crate::data_folder::sync_folder;
use crate::error::Error;

/// Bytes of the first segment: small, for nodes that write little.
pub(super) const SEGMENT_BYTES_MIN: u64 = 1 << 20;
/// Smallest size of a log with its checkpoint, in bytes.
pub(crate) const BYTES_MIN: usize = SEGMENT_BYTES_MIN as usize + (8 << 10);
/// Bytes of a segment at most; each is twice as long as the one before, up to this.
const SEGMENT_BYTES_MAX: u64 = 32 << 20;
/// Old segments kept for reuse at most, which saves writing zeros.
const SPARES_MAX: usize = 2;

/// The position of a record in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogPlace {
    /// Number of the segment.
    pub segment: u64,
    /// Offset in the segment, in bytes.
    pub offset: u64,
    /// Sequence number of the record.
    pub sequence: u64,
}

/// A log being written.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    id: LogId,
    /// Number and length of each segment; the last is being written.
    segments: VecDeque<(u64, u64)>,
    file: Arc<File>,
    seed: u64,
    next: LogPlace,
    /// The place of the last record while it can be taken back.
    last: Option<LogPlace>,
    spares: Vec<(PathBuf, u64)>,
}

/// An encoded record with its place in the file, not yet written.
#[derive(Debug)]
pub(super) struct Staged {
    pub disk: Arc<dyn Disk>,
    pub file: Arc<File>,
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// The reason why a record is not durable.
#[derive(Debug)]
pub(super) enum Unwritten {
    /// The system took only a part of the record, whose checksum is then wrong: the log has no such
    /// record.
    Part(std::io::Error),
    /// The file has the record, and whether the disk has it is unknown: the sync failed, or the
    /// write failed behind the last byte of content.
    Unsynced(std::io::Error),
}

impl Staged {
    /// Writes and syncs the record.
    pub fn write(&self) -> Result<(), Unwritten> {
        let written = self.disk.write(&self.file, &self.bytes, self.offset);
        written.map_err(|error| match self.is_there() {
            true => Unwritten::Unsynced(error),
            false => Unwritten::Part(error),
        })?;
        self.disk.sync(&self.file).map_err(Unwritten::Unsynced)
    }

    /// Whether the file has all of the record but for the zeros behind it. A file that cannot be
    /// read may have it.
    fn is_there(&self) -> bool {
        let used = self.bytes.iter().rposition(|it| *it != 0);
        let used = &self.bytes[..used.map_or(0, |it| it + 1)];
        let mut found = vec![0; used.len()];
        let read = self.file.read_exact_at(&mut found, self.offset);
        read.is_err() || found == used
    }
}

impl Log {
    /// Begins a log in a folder, which is emptied first.
    pub fn begin(folder: &Path, id: LogId, disk: &Arc<dyn Disk>) -> Result<Log, Error> {
        remove_folder(folder)?;
        private::create_folder(folder).map_err(Error::system("creating the folder of the log"))?;
        let (path, length) = (folder.join(file_name(1)), SEGMENT_BYTES_MIN);
        let file = create_segment(&path, length)?;
        let header = Header { id, number: 1 };
        write_header(&**disk, &file, &header)?;
        sync_folder(folder)?;
        if let Some(data) = folder.parent() {
            sync_folder(data)?;
        }
        Ok(Log {
            folder: folder.to_path_buf(),
            disk: Arc::clone(disk),
            id,
            segments: VecDeque::from([(1, length)]),
            file: Arc::new(file),
            seed: header.seed(),
            next: LogPlace {
                segment: 1,
                offset: PAGE_BYTES,
                sequence: 1,
            },
            last: None,
            spares: Vec::new(),
        })
    }

    pub fn id(&self) -> LogId {
        self.id
    }

    /// Bytes of all files, segments kept for reuse included.
    pub fn bytes(&self) -> u64 {
        let segments: u64 = self.segments.iter().map(|(_, length)| length).sum();
        segments + self.spares.iter().map(|(_, length)| length).sum::<u64>()
    }

    /// Place of the next record.
    pub fn place(&self) -> LogPlace {
        self.next
    }

    /// Encodes a record for the next place, into the memory of `buffer`. The caller writes the
    /// result.
    pub fn stage(&mut self, content: &[u8], mut buffer: Vec<u8>) -> Result<Staged, Error> {
        // From here on the previous record can no longer be taken back.
        self.keep();
        let bytes = record_bytes(content.len() as u64);
        let (_, length) = *self.segments.back().expect("a log has a segment");
        if self.next.offset + bytes > length {
            self.add_segment(bytes, length)?;
        }
        encode_record(self.seed, self.next.sequence, content, &mut buffer);
        let offset = self.next.offset;
        self.last = Some(self.next);
        self.next.offset += bytes;
        self.next.sequence += 1;
        Ok(Staged {
            disk: Arc::clone(&self.disk),
            file: Arc::clone(&self.file),
            offset,
            bytes: buffer,
        })
    }

    /// Replaces the file being written by `file`.
    #[cfg(test)]
    pub fn write_to(&mut self, file: File) {
        self.file = Arc::new(file);
    }

    /// Confirms the last record: it can no longer be taken back.
    pub fn keep(&mut self) {
        self.last = None;
    }

    /// Lets the next record overwrite the last one, which a reader may still find until then.
    pub fn rewind(&mut self) {
        if let Some(last) = self.last.take() {
            self.next = last;
        }
    }

    /// Destroys the last record, so that no reader finds it again.
    pub fn retract(&mut self) -> Result<(), Error> {
        if let Some(last) = self.last {
            let zeros = [0; PAGE_BYTES as usize];
            let written = self.disk.write(&self.file, &zeros, last.offset);
            let synced = written.and_then(|()| self.disk.sync(&self.file));
            synced.map_err(Error::system("taking a record out of the log"))?;
        }
        self.rewind();
        Ok(())
    }

    /// Drops the segments before this one, or keeps them for reuse.
    pub fn release_before(&mut self, segment: u64) -> Result<(), Error> {
        while let Some((number, length)) = self.segments.front().copied()
            && number < segment
        {
            let path = self.folder.join(file_name(number));
            let done = if length >= SEGMENT_BYTES_MAX && self.spares.len() < SPARES_MAX {
                let spare = path.with_extension("spare");
                let renamed = std::fs::rename(&path, &spare);
                renamed.map(|()| self.spares.push((spare, length)))
            } else {
                std::fs::remove_file(&path)
            };
            done.map_err(Error::system("removing a segment of the log"))?;
            self.segments.pop_front();
        }
        Ok(())
    }

    fn add_segment(&mut self, record: u64, before: u64) -> Result<(), Error> {
        let number = self.next.segment + 1;
        let path = self.folder.join(file_name(number));
        let needed = PAGE_BYTES + record;
        let (file, length) = match self.spares.iter().position(|it| it.1 >= needed) {
            Some(at) => {
                let (spare, length) = self.spares.swap_remove(at);
                (use_again(&spare, &path)?, length)
            }
            None => {
                let usual = (before * 2).clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX);
                create_what_fits(&path, usual, needed)?
            }
        };
        let header = Header {
            id: self.id,
            number,
        };
        write_header(&*self.disk, &file, &header)?;
        sync_folder(&self.folder)?;
        self.segments.push_back((number, length));
        self.file = Arc::new(file);
        self.seed = header.seed();
        self.next.segment = number;
        self.next.offset = PAGE_BYTES;
        Ok(())
    }
}

/// Removes a folder with its content, if it exists.
pub(super) fn remove_folder(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::system("removing the log")(error))
        }
        _ => Ok(()),
    }
}

/// Creates a segment of the usual length or, where there is no room for it, one of the length
/// needed.
fn create_what_fits(path: &Path, usual: u64, needed: u64) -> Result<(File, u64), Error> {
    let length = usual.max(needed);
    match create_segment(path, length) {
        Err(Error::Full) if length > needed => {
            let length = SEGMENT_BYTES_MIN.max(needed).min(length);
            match create_segment(path, length) {
                Err(Error::Full) if length > needed => {
                    create_segment(path, needed).map(|file| (file, needed))
                }
                made => made.map(|file| (file, length)),
            }
        }
        made => made.map(|file| (file, length)),
    }
}

/// Creates a file of zeros with all its blocks allocated, so that writing a record into it changes
/// no metadata and needs no room.
fn create_segment(path: &Path, length: u64) -> Result<File, Error> {
    let filled = || -> std::io::Result<File> {
        let mut options = private::options();
        let file = options.read(true).write(true).truncate(true).open(path)?;
        let zeros = vec![0; SEGMENT_BYTES_MIN as usize];
        let mut at = 0;
        while at < length {
            let part = zeros.len().min((length - at) as usize);
            file.write_all_at(&zeros[..part], at)?;
            at += part as u64;
        }
        file.sync_all()?;
        Ok(file)
    };
    filled().map_err(|error| {
        // The file must give back the blocks that it got; an error of the removal is ignored.
        std::fs::remove_file(path).unwrap_or_default();
        Error::system("making a segment of the log")(error)
    })
}

fn use_again(spare: &Path, path: &Path) -> Result<File, Error> {
    let renamed = std::fs::rename(spare, path);
    let opened = renamed.and_then(|()| File::options().read(true).write(true).open(path));
    opened.map_err(Error::system("using a segment of the log again"))
}

fn write_header(disk: &dyn Disk, file: &File, header: &Header) -> Result<(), Error> {
    disk.write(file, &header.encode(), 0)
        .and_then(|()| disk.sync(file))
        .map_err(Error::system("beginning a segment of the log"))
}
