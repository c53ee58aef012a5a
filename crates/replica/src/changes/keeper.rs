//! Writes kept changes: appends records to files, begins new files, removes the oldest.

use super::{EXTENSION, Frame, KEEP_FILE, Keeping, Outcome, Reader, files, folder};
use crate::clock::{Clock, SystemClock};
use state::stop::Failure;
use state::time::generalized_time;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::private;

/// First bytes of each file: magic and version.
pub(super) const HEADER: &[u8; 12] = b"PandoChg\x01\0\0\0";
/// Length in bytes from which on a file is followed by another.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Minimum number of files that the kept changes are divided into.
const FILES_MIN: u64 = 8;

/// Writer of the kept changes of a data folder.
#[derive(Debug)]
pub struct Keeper {
    folder: PathBuf,
    bytes_max: u64,
    file: Option<Current>,
    /// Buffer for the record being written.
    buffer: Vec<u8>,
    /// Whether a failure to keep changes was logged already.
    complained: bool,
}

/// The file being written.
#[derive(Debug)]
struct Current {
    file: Arc<File>,
    bytes: u64,
}

impl Keeper {
    /// The keeper of a data folder; `None` if changes are not kept. `position` is that of its
    /// database.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open(data: &Path, keeping: Keeping, position: u64) -> Result<Option<Keeper>, Failure> {
        let folder = folder(data);
        let opened = match keeping {
            Keeping::AsBefore => kept_bytes(&folder),
            Keeping::Off => remove_file(&folder.join(KEEP_FILE)).map(|()| None),
            Keeping::Bytes(bytes) => begin_keeping(&folder, bytes).map(|()| Some(bytes)),
        };
        let bytes_max =
            opened.map_err(|error| Failure::file(folder.display().to_string(), error))?;
        let Some(bytes_max) = bytes_max else {
            return Ok(None);
        };
        set_aside_what_never_was(&folder, position)?;
        Ok(Some(Keeper {
            folder,
            bytes_max,
            file: None,
            buffer: Vec::new(),
            complained: false,
        }))
    }

    /// Like [`open`](Self::open), for a database that goes back to a checkpoint: kept changes of
    /// later records are cut off, and are kept again when these records are executed again.
    pub fn open_at_checkpoint(data: &Path, position: u64) -> Result<Option<Keeper>, Failure> {
        let folder = folder(data);
        cut_after(&folder, position)
            .map_err(|error| Failure::file(folder.display().to_string(), error))?;
        Keeper::open(data, Keeping::AsBefore, position)
    }

    /// Keeps a committed record. Returns a file that must be synced before the log drops the
    /// record; `None` if it is the file returned last.
    ///
    /// A record that cannot be kept leaves a gap, which readers report.
    pub fn keep(&mut self, position: u64, content: &[u8], outcome: &Outcome) -> Option<Arc<File>> {
        match self.try_keep(position, content, outcome) {
            Ok(begun) => {
                self.complained = false;
                begun
            }
            Err(error) => {
                if !std::mem::replace(&mut self.complained, true) {
                    let folder = self.folder.display();
                    tracing::error!(position, %error, "changes cannot be kept in {folder}");
                }
                // The file's content is unknown now: the next record begins another file.
                self.file = None;
                None
            }
        }
    }

    /// Makes the next record begin another file: the log was sealed, the current file synced with
    /// it, and the next log must learn of its file.
    pub fn begin_another(&mut self) {
        self.file = None;
    }

    fn try_keep(
        &mut self,
        position: u64,
        content: &[u8],
        outcome: &Outcome,
    ) -> io::Result<Option<Arc<File>>> {
        let is_full = |it: &Current| it.bytes >= self.file_bytes_max();
        if self.file.as_ref().is_some_and(is_full) {
            self.file = None;
        }
        let (current, is_new) = match &mut self.file {
            Some(current) => (current, false),
            none => {
                let begun = begin_file(&self.folder, position)?;
                make_room(&self.folder, self.bytes_max)?;
                (none.insert(begun), true)
            }
        };
        self.buffer.clear();
        Frame::encode(content, outcome, &mut self.buffer);
        (&*current.file).write_all(&self.buffer)?;
        current.bytes += self.buffer.len() as u64;
        Ok(is_new.then(|| Arc::clone(&current.file)))
    }

    fn file_bytes_max(&self) -> u64 {
        FILE_BYTES_MAX.min(self.bytes_max / FILES_MIN).max(1)
    }
}

/// Number of bytes to keep, as the folder says; `None` if changes are not kept.
fn kept_bytes(folder: &Path) -> io::Result<Option<u64>> {
    match fs::read_to_string(folder.join(KEEP_FILE)) {
        Ok(text) => match text.trim().parse() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) => Err(io::Error::other(format!(
                "expected a number of bytes in the file \"{KEEP_FILE}\", got {text:?}"
            ))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn begin_keeping(folder: &Path, bytes: u64) -> io::Result<()> {
    private::create_folders(folder)?;
    if kept_bytes(folder).ok() != Some(Some(bytes)) {
        private::write(&folder.join(KEEP_FILE), format!("{bytes}\n"))?;
    }
    Ok(())
}

fn begin_file(folder: &Path, position: u64) -> io::Result<Current> {
    let path = folder.join(format!("{position:020}.{EXTENSION}"));
    // A file of this name could only be empty, because this is the first kept record of its
    // position.
    let mut file = private::create(&path)?;
    file.write_all(HEADER)?;
    File::open(folder)?.sync_all()?;
    Ok(Current {
        file: Arc::new(file),
        bytes: HEADER.len() as u64,
    })
}

/// Removes the oldest files beyond the limit, but never the newest.
fn make_room(folder: &Path, bytes_max: u64) -> io::Result<()> {
    let mut kept = 0;
    for (_, path) in files(folder)?.iter().rev() {
        kept += fs::metadata(path)?.len();
        if kept > bytes_max && kept > HEADER.len() as u64 {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Removes the changes kept of records after a position.
fn cut_after(folder: &Path, position: u64) -> io::Result<()> {
    for (first, path) in files(folder)? {
        if first > position {
            fs::remove_file(path)?;
            continue;
        }
        let file = File::options().read(true).write(true).open(&path)?;
        let mut reader = BufReader::new(&file);
        let mut end = HEADER.len() as u64;
        io::copy(&mut io::Read::take(&mut reader, end), &mut io::sink())?;
        while let Some(frame) = Frame::read(&mut reader)?
            && frame.position().is_some_and(|it| it <= position)
        {
            end += frame.bytes();
        }
        file.set_len(end)?;
    }
    Ok(())
}

/// Moves changes beyond the database's position into a folder of their own: they belong to another
/// database, which this one replaced.
fn set_aside_what_never_was(folder: &Path, position: u64) -> Result<(), Failure> {
    let wrong = |error| Failure::file(folder.display().to_string(), error);
    if Reader::last(folder)?.is_none_or(|last| last <= position) {
        return Ok(());
    }
    let aside = folder.join(format!(
        "of-another-{}",
        generalized_time(SystemClock.now_us())
    ));
    private::create_folders(&aside).map_err(wrong)?;
    for (_, path) in files(folder).map_err(wrong)? {
        if let Some(name) = path.file_name() {
            fs::rename(&path, aside.join(name)).map_err(wrong)?;
        }
    }
    tracing::warn!(
        position,
        "the kept changes go beyond the database: they are now in {}",
        aside.display()
    );
    Ok(())
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
