//! Reading files of lines: one line after the other, and where a folder ends.

use super::files;
use audit::{Head, Verifier, Written};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Maximum length of a line: a record has at most some thousand requests of some megabytes.
pub const LINE_BYTES_MAX: u64 = 1 << 30;

/// The lines of a file, without their ends. What follows the last end of a line is no line: a crash
/// or a full disk left it.
#[derive(Debug)]
pub struct Lines {
    file: BufReader<File>,
    /// Bytes of the lines so far, with their ends.
    pub bytes: u64,
    /// Whether bytes followed the last end of a line.
    pub is_torn: bool,
}

impl Lines {
    /// The lines of the file at a path.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Lines> {
        Ok(Lines {
            file: BufReader::with_capacity(1 << 20, File::open(path)?),
            bytes: 0,
            is_torn: false,
        })
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let limited = &mut self.file.by_ref().take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            self.is_torn = !line.is_empty();
            return Ok(None);
        }
        self.bytes += line.len() as u64;
        line.pop();
        Ok(Some(line))
    }
}

/// The end of the files in a folder.
#[derive(Debug, Clone)]
pub(super) struct FolderEnd {
    /// The last file.
    pub path: PathBuf,
    /// Bytes of its lines.
    pub bytes: u64,
    /// The last line.
    pub head: Head,
    /// Whether the file is closed, so that another one has to follow.
    pub is_closed: bool,
}

/// Finds the end of the files in a folder; `None` if there are none that can be read. Lines that
/// were torn are cut off.
pub(super) fn end_of(folder: &Path) -> io::Result<Option<FolderEnd>> {
    for (_, path) in files(folder)?.into_iter().rev() {
        let mut lines = Lines::open(&path)?;
        let (mut verifier, mut is_closed) = (Verifier::default(), false);
        while let Some(line) = lines.next_line()? {
            is_closed = matches!(verifier.take(&line), Ok(Written::Closing(_)));
        }
        if lines.bytes == 0 {
            // A crash came between making the file and its first line.
            std::fs::remove_file(&path)?;
            continue;
        }
        if lines.is_torn {
            let file = File::options().write(true).open(&path)?;
            file.set_len(lines.bytes)?;
        }
        return Ok(verifier.head().map(|head| FolderEnd {
            path,
            bytes: lines.bytes,
            head,
            is_closed,
        }));
    }
    Ok(None)
}

/// Removes the lines about records after a position.
pub(super) fn cut_after(folder: &Path, position: u64) -> io::Result<()> {
    for (_, path) in files(folder)?.into_iter().rev() {
        let mut lines = Lines::open(&path)?;
        let (mut end, mut is_empty) = (0, true);
        while let Some(line) = lines.next_line()? {
            match Written::read(&line) {
                Ok(Written::Line(line)) if line.position > position => break,
                Ok(Written::Line(_)) => is_empty = false,
                _ => {}
            }
            end = lines.bytes;
        }
        match is_empty {
            true => std::fs::remove_file(&path)?,
            false => {
                let file = File::options().write(true).open(&path)?;
                if file.metadata()?.len() != end {
                    file.set_len(end)?;
                }
                // Earlier files have earlier records.
                return Ok(());
            }
        }
    }
    Ok(())
}
