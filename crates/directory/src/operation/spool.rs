//! Bytes that are collected before they can be sent: in memory while they are few, otherwise in a
//! file without a name beside the database. They go with their owner, however the process ends.

use crate::stop::Failure;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes kept in memory at most.
const MEMORY_BYTES: usize = 1 << 20;
/// Tells the files of one process apart for the moment in which they have a name.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// See the top of the file.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// What comes behind them.
    memory: Vec<u8>,
}

impl Spool {
    /// An empty one, which may make a file in this folder.
    pub fn new(folder: &Path) -> Spool {
        Spool {
            folder: folder.to_owned(),
            file: None,
            written: 0,
            memory: Vec::new(),
        }
    }

    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        self.written + self.memory.len() as u64
    }

    /// Appends what `fill` appends.
    pub fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(), Failure> {
        fill(&mut self.memory);
        if self.memory.len() < MEMORY_BYTES {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(nameless(&self.folder)?);
        }
        if let Some(file) = &self.file {
            file.write_all_at(&self.memory, self.written)
                .map_err(failed)?;
        }
        self.written += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.written = 0;
        self.memory.clear();
    }

    /// Appends bytes from a place on to `out`, at most so many, and returns how many.
    pub fn read(&self, from: u64, most: usize, out: &mut Vec<u8>) -> Result<usize, Failure> {
        let start = out.len();
        if from < self.written {
            let length = (self.written - from).min(most as u64) as usize;
            out.resize(start + length, 0);
            if let Some(file) = &self.file {
                file.read_exact_at(&mut out[start..], from)
                    .map_err(failed)?;
            }
        } else {
            let at = (from - self.written) as usize;
            let rest = self.memory.get(at..).unwrap_or_default();
            out.extend_from_slice(&rest[..rest.len().min(most)]);
        }
        Ok(out.len() - start)
    }
}

fn nameless(folder: &Path) -> Result<File, Failure> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("spool-{}-{number}", std::process::id()));
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(true);
    let file = options.open(&path).map_err(failed)?;
    std::fs::remove_file(&path).map_err(failed)?;
    Ok(file)
}

fn failed(error: std::io::Error) -> Failure {
    Failure::file("keeping a large entry until it is sent", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_in_comes_out_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(folder.path());
        let all: Vec<u8> = (0..3_000_000_u32).map(|it| (it % 251) as u8).collect();
        for part in all.chunks(70_001) {
            spool.append(|out| out.extend_from_slice(part)).unwrap();
        }
        assert_eq!(spool.len(), all.len() as u64);
        let mut out = Vec::new();
        while spool.read(out.len() as u64, 65_537, &mut out).unwrap() > 0 {}
        assert!(out == all);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        spool.clear();
        assert_eq!(spool.len(), 0);
    }
}
