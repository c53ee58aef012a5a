//! Putting keys in order that may be more than memory should hold: sorted runs in one file, which
//! are merged at the end.

use super::coded::{Coded, Place, Writer};
use crate::operation::spool::Spools;
use state::stop::{Failure, Stop};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

/// Keys of a run: sorting them takes some milliseconds.
const RUN_KEYS: usize = 16_384;
/// Octets of the keys of a run.
const RUN_BYTES: usize = 4 << 20;
/// Octets that a key takes in memory beside its own.
const KEY_BYTES: usize = 32;

/// Keys that come in any order.
#[derive(Debug)]
pub(crate) struct Sorter {
    /// The keys of the run that is being collected, and their octets.
    keys: Vec<Box<[u8]>>,
    bytes: usize,
    runs: Writer,
    /// Where each run of `runs` ends.
    ends: Vec<u64>,
    count: u64,
    /// 0: no limit.
    keys_max: u64,
}

impl Sorter {
    /// Sorts at most so many keys (0: no limit).
    pub fn new(spools: &Arc<Spools>, keys_max: u64) -> Sorter {
        Sorter {
            keys: Vec::new(),
            bytes: 0,
            runs: Writer::new(spools),
            ends: Vec::new(),
            count: 0,
            keys_max,
        }
    }

    /// Takes a key; false when there are more than may be sorted.
    ///
    /// # Errors
    /// There is no room on the disk.
    pub fn push(&mut self, key: Box<[u8]>) -> Result<bool, Stop> {
        self.count += 1;
        if self.keys_max != 0 && self.count > self.keys_max {
            return Ok(false);
        }
        self.bytes += key.len();
        self.keys.push(key);
        if self.keys.len() >= RUN_KEYS || self.bytes >= RUN_BYTES {
            self.end_run()?;
        }
        Ok(true)
    }

    /// About how much memory the keys take that are not in the file.
    pub fn bytes(&self) -> usize {
        self.bytes + self.keys.len() * KEY_BYTES
    }

    fn end_run(&mut self) -> Result<(), Stop> {
        self.keys.sort_unstable();
        self.runs.begin();
        for key in self.keys.drain(..) {
            self.runs.append(&key)?;
        }
        self.bytes = 0;
        self.ends.push(self.runs.len());
        Ok(())
    }

    /// All keys in ascending order.
    ///
    /// # Errors
    /// There is no room on the disk, or the file cannot be read.
    pub fn merge(mut self) -> Result<Merge, Stop> {
        if !self.ends.is_empty() {
            self.end_run()?;
        }
        self.keys.sort_unstable();
        let keys = self.runs.finish()?;
        let mut heads = BinaryHeap::with_capacity(self.ends.len());
        let mut start = 0;
        for end in self.ends {
            let mut reader = keys.reader_of(start, end);
            start = end;
            if reader.next(&keys)?.is_some() {
                heads.push(Reverse(Head(reader)));
            }
        }
        Ok(Merge {
            few: self.keys.into_iter(),
            keys,
            heads,
        })
    }
}

/// Keys in ascending order.
#[derive(Debug)]
pub(crate) struct Merge {
    /// All keys, when they are no more than a run.
    few: std::vec::IntoIter<Box<[u8]>>,
    keys: Coded,
    heads: BinaryHeap<Reverse<Head>>,
}

impl Merge {
    /// The least key; `None` when none is left.
    pub fn first(&self) -> Option<&[u8]> {
        match self.few.as_slice().first() {
            Some(key) => Some(key),
            None => self.heads.peek().map(|Reverse(head)| head.0.key()),
        }
    }

    /// Lets go of the least key.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn advance(&mut self) -> Result<(), Failure> {
        if self.few.next().is_some() {
            return Ok(());
        }
        if let Some(mut least) = self.heads.peek_mut()
            && least.0.0.next(&self.keys)?.is_none()
        {
            PeekMut::pop(least);
        }
        Ok(())
    }
}

/// A run in the order of its next key.
#[derive(Debug)]
struct Head(Place);

impl Ord for Head {
    fn cmp(&self, other: &Head) -> std::cmp::Ordering {
        self.0.key().cmp(other.0.key())
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}
