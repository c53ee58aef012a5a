//! Reads kept changes in order, also while a server writes them.

use super::keeper::HEADER;
use super::{Frame, KEEP_FILE, files};
use state::stop::Failure;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of attempts to find a committed change that is still being kept, and the time between
/// two: ten seconds in all, because beginning a file waits for the disk.
const LOOKS_MAX: u32 = 500;
const PAUSE: Duration = Duration::from_millis(20);

/// Iterator over the kept changes after a position.
#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    files: VecDeque<(u64, PathBuf)>,
    file: Option<BufReader<File>>,
    /// Position of the record returned last.
    position: u64,
}

impl Reader {
    /// The changes in a folder after a position.
    ///
    /// # Errors
    /// The folder cannot be read, or its first change is later.
    pub fn open(folder: &Path, after: u64) -> Result<Reader, Failure> {
        let found = files(folder).map_err(|error| wrong(folder, error))?;
        // The first file needed is the last one that begins before the wanted change.
        let skipped = found.iter().filter(|it| it.0 <= after + 1).count();
        if let (0, Some((first, _))) = (skipped, found.first()) {
            return Err(hole(folder, after, Some(*first)));
        }
        Ok(Reader {
            folder: folder.to_owned(),
            files: found.into_iter().skip(skipped.saturating_sub(1)).collect(),
            file: None,
            position: after,
        })
    }

    /// All changes in a folder.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(folder: &Path) -> Result<Reader, Failure> {
        let found = files(folder).map_err(|error| wrong(folder, error))?;
        let first = found.first().map_or(1, |it| it.0);
        Reader::open(folder, first.saturating_sub(1))
    }

    /// Position of the last record kept in a folder; `None` if there is none.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn last(folder: &Path) -> Result<Option<u64>, Failure> {
        let found = files(folder).map_err(|error| wrong(folder, error))?;
        for (first, _) in found.iter().rev() {
            let mut reader = Reader::open(folder, first.saturating_sub(1))?;
            while reader.next_frame()?.is_some() {}
            if reader.position >= *first {
                return Ok(Some(reader.position));
            }
        }
        Ok(None)
    }

    /// The next change; `None` after the last one.
    ///
    /// # Errors
    /// A file cannot be read, or a record is missing between two others.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Failure> {
        loop {
            let Some(file) = &mut self.file else {
                let Some((_, path)) = self.files.pop_front() else {
                    return Ok(None);
                };
                self.file = Some(begin(&path).map_err(|error| wrong(&path, error))?);
                continue;
            };
            let frame = Frame::read(file).map_err(|error| wrong(&self.folder, error))?;
            let placed = frame.and_then(|it| Some((it.position()?, it)));
            let Some((position, frame)) = placed else {
                // The end of the file, or the rest of a record after a crash or a full disk: if a
                // record is missing, the next file shows it.
                self.file = None;
                continue;
            };
            if position <= self.position {
                continue;
            }
            if position != self.position + 1 {
                return Err(hole(&self.folder, self.position, Some(position)));
            }
            self.position = position;
            return Ok(Some(frame));
        }
    }

    /// The next change up to a position that the database has; `None` after it. Beside a server it
    /// waits for the last ones, because a record is committed before it is kept.
    ///
    /// # Errors
    /// The errors of [`Reader::next_frame`]; also if a record up to that position is not kept.
    pub fn next_up_to(&mut self, end: u64, beside: bool) -> Result<Option<Frame>, Failure> {
        let mut looks = if beside { LOOKS_MAX } else { 0 };
        while self.position < end {
            if let Some(frame) = self.next_frame()? {
                return Ok(Some(frame));
            }
            if looks == 0 {
                return Err(hole(&self.folder, self.position, None));
            }
            looks -= 1;
            std::thread::park_timeout(PAUSE);
            *self = Reader::open(&self.folder, self.position)?;
        }
        Ok(None)
    }
}

fn begin(path: &Path) -> io::Result<BufReader<File>> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut header = [0; HEADER.len()];
    let read = file.read_exact(&mut header);
    // A file without a header is just being created.
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(file),
        read => read?,
    }
    if header != *HEADER {
        return Err(io::Error::other(
            "expected a file of changes of version 1, got something else",
        ));
    }
    Ok(file)
}

fn hole(folder: &Path, after: u64, next: Option<u64>) -> Failure {
    let advice = match folder.join(KEEP_FILE).exists() {
        true => "",
        false => " (changes are kept from the moment that changes.keep_mib is set in pando.toml)",
    };
    let folder = folder.display();
    let has = match next {
        Some(next) => format!("the next one kept is {next}"),
        None => "no later one is kept".to_owned(),
    };
    Failure::Input(format!(
        "{folder}: expected the changes after position {after}, and {has}{advice}"
    ))
}

fn wrong(path: &Path, error: io::Error) -> Failure {
    Failure::file(path.display().to_string(), error)
}
