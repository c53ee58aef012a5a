//! Sorted runs in files: keys collected beyond the memory limit, merged at the end.
//!
//! A run is a sequence of rows in ascending order of keys, each as length of the key, length of the
//! value, key, value. Its checksum stays in memory. Only the load that wrote a run reads it.

use crate::private;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::fields::{FieldReader, Fields};

/// Bytes of the buffer for reading or writing.
const BUFFER_BYTES: usize = 256 << 10;
/// Runs merged at once: bounds open files and buffers. More runs are first merged into fewer, so
/// many at a time.
const MERGED_MAX: usize = 128;

/// Callback that takes key and value of a row.
pub(super) type TakeRow<'t> = dyn FnMut(&[u8], &[u8]) -> Result<(), Error> + 't;

/// The runs of one collection of keys.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    path: PathBuf,
    rows: u64,
    checksum: u64,
    synced: bool,
}

impl Runs {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Syncs the files and appends their names to `fields`; the files are kept from then on.
    pub fn keep(&mut self, fields: &mut Fields) -> Result<(), Error> {
        fields.number(self.runs.len() as u64);
        for run in &mut self.runs {
            if !run.synced {
                let synced = File::open(&run.path).and_then(|it| it.sync_all());
                synced.map_err(Error::system("syncing a sorted run"))?;
                run.synced = true;
            }
            fields.string(run.path.as_os_str().as_bytes());
            fields.number(run.rows);
            fields.number(run.checksum);
        }
        Ok(())
    }

    /// Restores the runs that [`Runs::keep`] wrote.
    pub fn kept(fields: &mut FieldReader<'_>) -> Result<Runs, Error> {
        let runs = fields.many(|fields| {
            Ok(Run {
                path: PathBuf::from(OsStr::from_bytes(fields.string()?)),
                rows: fields.number()?,
                checksum: fields.number()?,
                synced: true,
            })
        });
        Ok(Runs { runs: runs? })
    }

    /// Writes another run with the rows that `rows` puts, in ascending order. `name` tells the
    /// collections of one folder apart.
    pub fn add(
        &mut self,
        folder: &Path,
        name: &str,
        rows: impl FnOnce(&mut RunWriter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let path = folder.join(format!("{name}-{}", self.runs.len()));
        let mut writer = RunWriter::create(path)?;
        rows(&mut writer)?;
        self.runs.push(writer.finish()?);
        Ok(())
    }

    /// Calls `act` with all rows of all runs in ascending order; of equal keys, rows of an earlier
    /// run come first. Files that are not [kept](Runs::keep) are removed.
    pub fn merge(mut self, act: &mut TakeRow<'_>) -> Result<(), Error> {
        while self.runs.len() > MERGED_MAX {
            self = self.fewer()?;
        }
        self.merge_at_once(act)
    }

    /// Merges neighbouring runs until at most [`MERGED_MAX`] are left; the order of equal keys
    /// stays.
    fn fewer(self) -> Result<Runs, Error> {
        let mut fewer = Runs::default();
        let mut rest = self.runs.into_iter().peekable();
        while let Some(first) = rest.peek() {
            let mut path = first.path.clone().into_os_string();
            path.push("+");
            let mut writer = RunWriter::create(path.into())?;
            let some = Runs {
                runs: rest.by_ref().take(MERGED_MAX).collect(),
            };
            some.merge_at_once(&mut |key, value| writer.put(key, value))?;
            fewer.runs.push(writer.finish()?);
        }
        Ok(fewer)
    }

    fn merge_at_once(self, act: &mut TakeRow<'_>) -> Result<(), Error> {
        let mut heads = BinaryHeap::new();
        for (at, run) in self.runs.iter().enumerate() {
            let mut head = Head::open(at, run)?;
            if head.advance()? {
                heads.push(Reverse(head));
            }
        }
        while let Some(Reverse(mut head)) = heads.pop() {
            loop {
                act(&head.key, &head.value)?;
                if !head.advance()? {
                    break;
                }
                // Rows of one run often follow one another.
                if heads.peek().is_some_and(|Reverse(next)| *next < head) {
                    heads.push(Reverse(head));
                    break;
                }
            }
        }
        for run in self.runs.iter().filter(|it| !it.synced) {
            std::fs::remove_file(&run.path).map_err(Error::system("removing a sorted run"))?;
        }
        Ok(())
    }
}

/// Writer at the end of a growing run.
pub(super) struct RunWriter {
    path: PathBuf,
    file: BufWriter<File>,
    checksum: Xxh3,
    rows: u64,
}

impl RunWriter {
    fn create(path: PathBuf) -> Result<RunWriter, Error> {
        let file = private::create(&path).map_err(Error::system("making a sorted run"))?;
        Ok(RunWriter {
            path,
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            checksum: Xxh3::new(),
            rows: 0,
        })
    }

    /// Adds a row.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let head = head_of(key.len(), value.len());
        for part in [&head, key, value] {
            self.checksum.update(part);
            let written = self.file.write_all(part);
            written.map_err(Error::system("writing a sorted run"))?;
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<Run, Error> {
        let flushed = self.file.flush();
        flushed.map_err(Error::system("writing a sorted run"))?;
        Ok(Run {
            path: self.path,
            rows: self.rows,
            checksum: self.checksum.digest(),
            synced: false,
        })
    }
}

const HEAD_BYTES: usize = 6;

fn head_of(key: usize, value: usize) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..2].copy_from_slice(&(key as u16).to_le_bytes());
    head[2..].copy_from_slice(&(value as u32).to_le_bytes());
    head
}

/// A run that is being merged, at its next row.
struct Head {
    /// Index of the run.
    at: usize,
    key: Vec<u8>,
    value: Vec<u8>,
    file: BufReader<File>,
    checksum: Xxh3,
    rows: u64,
    expected: u64,
}

impl Head {
    fn open(at: usize, run: &Run) -> Result<Head, Error> {
        let file = File::open(&run.path).map_err(Error::system("opening a sorted run"))?;
        Ok(Head {
            at,
            key: Vec::new(),
            value: Vec::new(),
            file: BufReader::with_capacity(BUFFER_BYTES, file),
            checksum: Xxh3::new(),
            rows: run.rows,
            expected: run.checksum,
        })
    }

    /// Goes to the next row; `false` at the end, if the checksum of the bytes read is right.
    fn advance(&mut self) -> Result<bool, Error> {
        if self.rows == 0 {
            return match self.checksum.digest() == self.expected {
                true => Ok(false),
                false => Err(Error::corrupt("sorted run", "its checksum is wrong")),
            };
        }
        self.rows -= 1;
        let mut head = [0; HEAD_BYTES];
        self.read(&mut head)?;
        let [low, high, value @ ..] = head;
        let mut key = std::mem::take(&mut self.key);
        key.resize(usize::from(u16::from_le_bytes([low, high])), 0);
        self.read(&mut key)?;
        let mut bytes = std::mem::take(&mut self.value);
        bytes.resize(u32::from_le_bytes(value) as usize, 0);
        self.read(&mut bytes)?;
        (self.key, self.value) = (key, bytes);
        Ok(true)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let read = self.file.read_exact(bytes);
        read.map_err(Error::system("reading a sorted run"))?;
        self.checksum.update(bytes);
        Ok(())
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        (&self.key, self.at).cmp(&(&other.key, other.at))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(folder: &Path) -> Runs {
        let mut runs = Runs::default();
        for run in 0..3_u8 {
            let rows: Vec<[u8; 2]> = (0..200).map(|row| [row, run]).collect();
            let mut rows = rows.iter().filter(|it| it[0] % (run + 1) == 0);
            runs.add(folder, "test", |out| {
                rows.try_for_each(|it| out.put(&it[..1], &it[1..]))
            })
            .expect("written");
        }
        runs
    }

    #[test]
    fn rows_come_in_order_and_equal_ones_in_the_order_of_their_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut merged = Vec::new();
        let all = runs(folder.path());
        all.merge(&mut |key, value| {
            merged.push((key[0], value[0]));
            Ok(())
        })
        .expect("merged");
        let mut expected: Vec<(u8, u8)> = (0..200)
            .flat_map(|row| (0..3).map(move |run| (row, run)))
            .filter(|(row, run)| row % (run + 1) == 0)
            .collect();
        expected.sort_unstable();
        assert_eq!(merged, expected);
        let left = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(left, 0);
    }

    /// The number of runs exceeds the usual limit of open files.
    #[test]
    fn very_many_runs_are_merged_in_stages() {
        const RUNS: u32 = 1_100;
        let folder = tempfile::tempdir().expect("a folder");
        let mut runs = Runs::default();
        for run in 0..RUNS {
            // Each run has one key that all runs share, and one of its own.
            let rows = [[0; 4], (RUNS - run).to_be_bytes()];
            runs.add(folder.path(), "test", |out| {
                rows.iter()
                    .try_for_each(|it| out.put(it, &run.to_be_bytes()))
            })
            .expect("written");
        }
        let kept = {
            let mut fields = Fields::default();
            runs.keep(&mut fields).expect("synced");
            let bytes = fields.into_bytes();
            Runs::kept(&mut FieldReader::new(&bytes)).expect("what was kept")
        };
        // Kept runs stay, and can be merged again after an interrupt.
        for runs in [runs, kept] {
            let mut merged = Vec::new();
            runs.merge(&mut |key, value| {
                merged.push((key.to_vec(), value.to_vec()));
                Ok(())
            })
            .expect("merged");
            let bytes = |it: u32| it.to_be_bytes().to_vec();
            let common = (0..RUNS).map(|run| (bytes(0), bytes(run)));
            let own = (1..=RUNS).map(|key| (bytes(key), bytes(RUNS - key)));
            assert!(merged.into_iter().eq(common.chain(own)));
            let left = std::fs::read_dir(folder.path()).expect("readable").count();
            assert_eq!(left, RUNS as usize);
        }
    }

    #[test]
    fn damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = runs(folder.path());
        let path = folder.path().join("test-1");
        let mut bytes = std::fs::read(&path).expect("readable");
        bytes[7] ^= 1;
        std::fs::write(&path, bytes).expect("written");
        let merged = all.merge(&mut |_, _| Ok(()));
        assert!(matches!(merged, Err(Error::Corrupt { .. })), "{merged:?}");
    }
}
