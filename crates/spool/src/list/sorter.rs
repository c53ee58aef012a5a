//! Sorts keys that may exceed memory: sorted runs in one file, merged at the end.

use crate::list::coded::{Coded, Place, Writer};
use crate::spool::Spools;
use state::stop::{Failure, Stop};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

/// Maximum number of keys in a run, which takes some milliseconds to sort.
const RUN_KEYS: usize = 16_384;
/// Maximum octets of the keys of a run.
const RUN_BYTES: usize = 4 << 20;
/// Memory of a key beside its octets, in bytes.
const KEY_BYTES: usize = 32;

/// Sorter of keys added in any order.
#[derive(Debug)]
pub struct Sorter {
    /// The keys of the run being collected, and their octets.
    keys: Vec<Box<[u8]>>,
    bytes: usize,
    runs: Writer,
    /// End of each run in `runs`, in bytes.
    ends: Vec<u64>,
    count: u64,
    /// Maximum number of keys; 0 for no limit.
    keys_max: u64,
}

impl Sorter {
    /// A sorter of at most `keys_max` keys (0 for no limit).
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

    /// Adds a key; returns `false` if there are more than the maximum.
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

    /// Approximate memory in bytes of the keys that are not in the file.
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

    /// Ends adding; yields all keys in ascending order.
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

/// Iterator over keys in ascending order.
#[derive(Debug)]
pub struct Merge {
    /// All keys, if one run has space for them.
    few: std::vec::IntoIter<Box<[u8]>>,
    keys: Coded,
    heads: BinaryHeap<Reverse<Head>>,
}

impl Merge {
    /// The least key; `None` if none is left.
    pub fn first(&self) -> Option<&[u8]> {
        match self.few.as_slice().first() {
            Some(key) => Some(key),
            None => self.heads.peek().map(|Reverse(head)| head.0.key()),
        }
    }

    /// Removes the least key.
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

/// A run, ordered by its next key.
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
