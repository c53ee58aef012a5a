//! Keeping changes: appends records to files, begins new ones, removes the oldest.

use super::{EXTENSION, Frame, KEEP_FILE, Keeping, Outcome, Reader, files, folder};
use crate::clock::{Clock, SystemClock};
use state::stop::Failure;
use state::time::generalized_time;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::private;

/// The beginning of each file: what it is, and the version of its form.
pub(super) const HEADER: &[u8; 12] = b"PandoChg\x01\0\0\0";
/// A file of this length is followed by another.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// So many files at least make up what is kept.
const FILES_MIN: u64 = 8;

/// Who keeps the changes of a data folder.
#[derive(Debug)]
pub(crate) struct Keeper {
    folder: PathBuf,
    bytes_max: u64,
    file: Option<Current>,
    /// Memory for the record being written.
    buffer: Vec<u8>,
    /// That it cannot be done was said already.
    complained: bool,
}

/// The file being written.
#[derive(Debug)]
struct Current {
    file: Arc<File>,
    bytes: u64,
}

impl Keeper {
    /// The keeper of a data folder, if changes are to be kept; `position` is that of its database.
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

    /// The same for a database that goes back to a checkpoint: what was kept of records after it
    /// is kept again when they are executed again.
    pub fn open_at_checkpoint(data: &Path, position: u64) -> Result<Option<Keeper>, Failure> {
        let folder = folder(data);
        cut_after(&folder, position)
            .map_err(|error| Failure::file(folder.display().to_string(), error))?;
        Keeper::open(data, Keeping::AsBefore, position)
    }

    /// Keeps a record that was committed. What comes back is a file that must be synced before the
    /// log forgets the record; the same file stands for the records after it.
    ///
    /// A record that cannot be kept leaves a hole, which whoever reads the changes is told of.
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
                // What it holds now is not known: the next record begins another.
                self.file = None;
                None
            }
        }
    }

    /// The log was sealed, and with it the file being written was synced: the next record begins
    /// another, which the next log is told of.
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

/// What the folder says: how many bytes are kept, if any.
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
    // A file of this name would hold no record: this is the first of its position that is kept.
    let mut file = private::create(&path)?;
    file.write_all(HEADER)?;
    File::open(folder)?.sync_all()?;
    Ok(Current {
        file: Arc::new(file),
        bytes: HEADER.len() as u64,
    })
}

/// Removes the oldest files beyond what is to be kept, but never the newest.
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

/// Cuts off what was kept of records after this one.
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

/// Changes that go beyond the database are of another one, which it has replaced: they are put
/// into a folder of their own.
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
