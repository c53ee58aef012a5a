//! Temporary storage for bytes that are collected before they can be sent: in memory while they are
//! few, else in an unnamed file beside the database, which the system removes with the process.
//!
//! A slow client keeps its file for long, and the log needs space on the same disk. So all spools
//! together have a limit, and leave some space of the file system free.

use crate::memory::{Budget, Portion};
use policy::Limit;
use protocol::ResultCode;
use rustix::io::Errno;
use state::stop::{Failure, Refusal, Stop};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::private;

/// Bytes kept in memory while a spool grows …
const MEMORY_BYTES: usize = 1 << 20;
/// … and after it is complete.
const SETTLED_BYTES: usize = 64 << 10;
/// Maximum number of files.
pub const FILES_MAX: u64 = 256;
/// Bytes left free on the file system in any case: for some segments of the log, and for growth of
/// the database.
const SPARE_BYTES: u64 = 256 << 20;
/// Number that makes file names unique for the moment in which the files have names.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Limits and counters of all spools of a directory.
#[derive(Debug)]
pub struct Spools {
    folder: PathBuf,
    words: &'static Words,
    /// Maximum bytes in all files; 0 for no limit.
    bytes_max: u64,
    bytes: AtomicU64,
    files: AtomicU64,
    memory: Arc<Budget>,
}

/// Texts for the contents of spools, in refusals for lack of space.
#[derive(Debug)]
struct Words {
    /// Content of one spool.
    one: &'static str,
    /// Contents of all spools together.
    all: &'static str,
    /// Advice to the refused client.
    advice: &'static str,
}

static MEMBERS: Words = Words {
    one: "all of the members take",
    all: "large groups on their way to clients take",
    advice: "read them in parts, with member;range=0-1499",
};

static LISTS: Words = Words {
    one: "the sorted list takes",
    all: "sorted lists take",
    advice: "narrow the filter",
};

impl Spools {
    /// Spools for large groups, whose files are made in `folder` and take at most `bytes_max` bytes
    /// (0 for no limit).
    pub fn new(folder: &Path, bytes_max: u64, memory: &Arc<Budget>) -> Spools {
        Spools::of(&MEMBERS, folder, bytes_max, memory)
    }

    /// Spools for sorted lists, whose files are made in `folder` and take at most `bytes_max` bytes
    /// (0 for no limit).
    pub fn of_lists(folder: &Path, bytes_max: u64, memory: &Arc<Budget>) -> Spools {
        Spools::of(&LISTS, folder, bytes_max, memory)
    }

    fn of(words: &'static Words, folder: &Path, bytes_max: u64, memory: &Arc<Budget>) -> Spools {
        Spools {
            folder: folder.to_owned(),
            words,
            bytes_max,
            bytes: AtomicU64::new(0),
            files: AtomicU64::new(0),
            memory: Arc::clone(memory),
        }
    }

    /// The memory budget that spools count against.
    pub fn memory(&self) -> &Arc<Budget> {
        &self.memory
    }

    /// Reserves `more` bytes for a spool that holds `own` bytes; refuses if there is no room.
    fn take(&self, more: u64, own: u64) -> Result<(), Stop> {
        let before = self.bytes.fetch_add(more, Ordering::Relaxed);
        let allowed = self.require(before + more, own + more);
        if allowed.is_err() {
            self.bytes.fetch_sub(more, Ordering::Relaxed);
        }
        allowed
    }

    /// Whether there is room for the file of another spool.
    pub fn has_room(&self) -> bool {
        self.require(self.bytes.load(Ordering::Relaxed), 0).is_ok()
    }

    fn require(&self, all: u64, own: u64) -> Result<(), Stop> {
        let max = self.bytes_max;
        let Words {
            one,
            all: many,
            advice,
        } = self.words;
        if max != 0 && (own > max || all > max) {
            Limit::SpoolBytes.count();
        }
        if max != 0 && own > max {
            let text = format!(
                "{one} more than {} MiB on the disk (database.spool_mib_max): {advice}",
                max >> 20
            );
            return Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text);
        }
        if max != 0 && all > max {
            let text = format!(
                "{many} all of the {} MiB on the disk (database.spool_mib_max): try again later, \
                 or {advice}",
                max >> 20
            );
            return Stop::refuse(ResultCode::BUSY, text);
        }
        let found = rustix::fs::statvfs(&self.folder);
        let found = found.map_err(|error| self.failed(error.into()))?;
        match found.f_bavail.saturating_mul(found.f_frsize) < SPARE_BYTES {
            true => Err(self.no_room()),
            false => Ok(()),
        }
    }

    /// Creates a file and removes its name.
    fn open(&self) -> Result<File, Stop> {
        let file = match self.files.fetch_add(1, Ordering::Relaxed) < FILES_MAX {
            true => nameless(&self.folder).map_err(|error| self.failed(error)),
            false => Err(self.too_many()),
        };
        if file.is_err() {
            self.files.fetch_sub(1, Ordering::Relaxed);
        }
        file
    }

    fn too_many(&self) -> Stop {
        let Words { all, advice, .. } = self.words;
        let text = format!("{all} as many files as there may be: try again later, or {advice}");
        Refusal::new(ResultCode::BUSY, text).into()
    }

    fn no_room(&self) -> Stop {
        let Words { one, advice, .. } = self.words;
        let text = format!("{one} more room than is left on the disk: {advice}");
        Refusal::new(ResultCode::BUSY, text).into()
    }

    /// The error for a failed file operation: a refusal with `busy` if room or file handles are
    /// short, which may end; otherwise a failure.
    fn failed(&self, error: std::io::Error) -> Stop {
        match Errno::from_io_error(&error) {
            Some(Errno::NOSPC | Errno::DQUOT) => self.no_room(),
            Some(Errno::MFILE | Errno::NFILE) => self.too_many(),
            _ => failure(error).into(),
        }
    }
}

/// Bytes collected in memory and a file.
#[derive(Debug)]
pub struct Spool {
    spools: Arc<Spools>,
    file: Option<File>,
    /// Number of bytes in the file.
    written: u64,
    /// The bytes that follow the bytes in the file.
    memory: Vec<u8>,
    counted: Portion,
}

impl Spool {
    /// An empty spool.
    pub fn new(spools: &Arc<Spools>) -> Spool {
        Spool {
            spools: Arc::clone(spools),
            file: None,
            written: 0,
            memory: Vec::new(),
            counted: Portion::new(&spools.memory),
        }
    }

    /// Length in bytes.
    pub fn length(&self) -> u64 {
        self.written + self.memory.len() as u64
    }

    /// Appends the bytes that `fill` appends to its buffer.
    pub fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), Stop> {
        fill(&mut self.memory);
        self.counted.grow(self.memory.len() as u64)?;
        match self.memory.len() < MEMORY_BYTES {
            true => Ok(()),
            false => self.write(),
        }
    }

    /// Marks the spool as complete: only few bytes stay in memory.
    pub fn settle(&mut self) -> Result<(), Stop> {
        match self.memory.len() <= SETTLED_BYTES {
            true => self.memory.shrink_to_fit(),
            false => self.write()?,
        }
        self.counted.set(self.memory.len() as u64)
    }

    /// Moves the bytes in memory to the file; they stay in memory if there is no room.
    fn write(&mut self) -> Result<(), Stop> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.spools.open()?),
        };
        let more = self.memory.len() as u64;
        self.spools.take(more, self.written)?;
        let wrote = file.write_all_at(&self.memory, self.written);
        if let Err(error) = wrote {
            self.spools.bytes.fetch_sub(more, Ordering::Relaxed);
            return Err(self.spools.failed(error));
        }
        self.written += more;
        self.memory.clear();
        Ok(())
    }

    /// Drops all bytes and returns their space to the limits.
    pub fn clear(&mut self) {
        self.memory.clear();
        if self.file.take().is_some() {
            self.spools.bytes.fetch_sub(self.written, Ordering::Relaxed);
            self.spools.files.fetch_sub(1, Ordering::Relaxed);
        }
        self.written = 0;
    }

    /// Appends at most `most` bytes, from offset `from` on, to `out`. Returns their number.
    pub fn read(&self, from: u64, most: usize, out: &mut Vec<u8>) -> Result<usize, Failure> {
        let start = out.len();
        if from < self.written {
            let length = (self.written - from).min(most as u64) as usize;
            out.resize(start + length, 0);
            if let Some(file) = &self.file {
                let read = file.read_exact_at(&mut out[start..], from);
                read.map_err(failure)?;
            }
        } else {
            let at = (from - self.written) as usize;
            let rest = self.memory.get(at..).unwrap_or_default();
            out.extend_from_slice(&rest[..rest.len().min(most)]);
        }
        Ok(out.len() - start)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.clear();
    }
}

fn nameless(folder: &Path) -> std::io::Result<File> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("spool-{}-{number}", std::process::id()));
    let mut options = private::options();
    let file = options.read(true).write(true).truncate(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn failure(error: std::io::Error) -> Failure {
    Failure::file("keeping bytes until they are sent", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlimited() -> Arc<Budget> {
        Arc::new(Budget::new(0, 0))
    }

    #[test]
    fn what_went_in_comes_out_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let spools = Arc::new(Spools::new(folder.path(), 0, &unlimited()));
        let mut spool = Spool::new(&spools);
        let all: Vec<u8> = (0..3_000_000_u32).map(|it| (it % 251) as u8).collect();
        for part in all.chunks(70_001) {
            spool.append(|out| out.extend_from_slice(part)).unwrap();
        }
        assert_eq!(spool.length(), all.len() as u64);
        let mut out = Vec::new();
        while spool.read(out.len() as u64, 65_537, &mut out).unwrap() > 0 {}
        assert!(out == all);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        spool.clear();
        assert_eq!(spool.length(), 0);
    }

    #[test]
    fn all_together_take_no_more_than_they_may() {
        const MIB: u64 = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let spools = Arc::new(Spools::new(folder.path(), 3 * MIB, &unlimited()));
        let put = |spool: &mut Spool| spool.append(|out| out.resize(MEMORY_BYTES, 7));
        let code = |refused: Result<(), Stop>| match refused {
            Err(Stop::Refused(refusal)) => {
                let text = refusal.diagnostic;
                assert!(text.contains("member;range="), "{text}");
                refusal.code
            }
            other => panic!("expected a refusal, got {other:?}"),
        };
        let (mut one, mut other) = (Spool::new(&spools), Spool::new(&spools));
        put(&mut one).unwrap();
        put(&mut other).unwrap();
        put(&mut one).unwrap();
        assert_eq!(code(put(&mut other)), ResultCode::BUSY);
        drop(other);
        put(&mut one).unwrap();
        assert_eq!(code(put(&mut one)), ResultCode::ADMIN_LIMIT_EXCEEDED);
        one.clear();
        assert_eq!(spools.bytes.load(Ordering::Relaxed), 0);
        assert_eq!(spools.files.load(Ordering::Relaxed), 0);
        put(&mut one).unwrap();
        assert_eq!(spools.bytes.load(Ordering::Relaxed), MIB);
    }

    #[test]
    fn files_have_a_number_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let spools = Arc::new(Spools::new(folder.path(), 0, &unlimited()));
        spools.files.store(FILES_MAX, Ordering::Relaxed);
        let refused = Spool::new(&spools).append(|out| out.resize(MEMORY_BYTES, 7));
        assert!(matches!(refused, Err(Stop::Refused(it)) if it.code == ResultCode::BUSY));
        assert_eq!(spools.files.load(Ordering::Relaxed), FILES_MAX);
    }
}
