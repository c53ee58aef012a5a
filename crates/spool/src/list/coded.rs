//! Keys in a spool, prefix-compressed: length of the prefix shared with the previous key (2
//! octets), length of the rest (2 octets), the rest. The first key of a group is whole, so that
//! reading can begin there.

use crate::spool::{Spool, Spools};
use protocol::ResultCode;
use state::stop::{Failure, Refusal, Stop};
use std::sync::Arc;

/// Number of keys in a group.
pub const GROUP: u32 = 64;
/// Octets read at a time.
const READ_BYTES: usize = 4096;
/// Octets of the two lengths in front of each rest.
const HEAD_BYTES: usize = 4;

/// Writer of keys.
#[derive(Debug)]
pub struct Writer {
    spool: Spool,
    previous: Vec<u8>,
    count: u32,
}

impl Writer {
    pub fn new(spools: &Arc<Spools>) -> Writer {
        Writer {
            spool: Spool::new(spools),
            previous: Vec::new(),
            count: 0,
        }
    }

    /// Number of keys written so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Number of octets written so far.
    pub fn len(&self) -> u64 {
        self.spool.length()
    }

    /// Begins a group, whose first key is stored whole. Returns its offset.
    pub fn begin(&mut self) -> u64 {
        self.previous.clear();
        self.spool.length()
    }

    /// Appends a key.
    ///
    /// # Errors
    /// There is no room, or too many keys. If there was no room the key is kept in memory: `flush`
    /// tries to write it again.
    pub fn append(&mut self, key: &[u8]) -> Result<(), Stop> {
        let Some(count) = self.count.checked_add(1) else {
            let text = format!("a sorted list has at most {} entries", u32::MAX);
            return Err(Refusal::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text).into());
        };
        self.count = count;
        let most = self.previous.len().min(key.len()).min(u16::MAX.into());
        let shared = (0..most).find(|at| self.previous[*at] != key[*at]);
        let shared = shared.unwrap_or(most);
        let rest = &key[shared..];
        self.previous.truncate(shared);
        self.previous.extend_from_slice(rest);
        let length = |of: usize| u16::try_from(of).expect("keys have a bounded number of parts");
        self.spool.append(|out| {
            out.extend_from_slice(&length(shared).to_be_bytes());
            out.extend_from_slice(&length(rest.len()).to_be_bytes());
            out.extend_from_slice(rest);
        })
    }

    /// Writes the octets in memory to the file, if there are many.
    pub fn flush(&mut self) -> Result<(), Stop> {
        self.spool.append(|_| ())
    }

    /// Ends writing; the result can be read.
    pub fn finish(mut self) -> Result<Coded, Stop> {
        self.spool.settle()?;
        Ok(Coded { spool: self.spool })
    }
}

/// Written keys.
#[derive(Debug)]
pub struct Coded {
    spool: Spool,
}

impl Coded {
    /// A reader that begins with a whole key at `start`.
    pub fn reader(&self, start: u64) -> Place {
        self.reader_of(start, self.spool.length())
    }

    /// A reader of the keys in a range of the spool.
    pub fn reader_of(&self, start: u64, end: u64) -> Place {
        Place {
            at: start,
            end,
            buffer: Vec::new(),
            used: 0,
            key: Vec::new(),
        }
    }

    /// A reader that is at its end.
    pub fn end(&self) -> Place {
        self.reader(self.spool.length())
    }
}

/// A reader of successive keys.
#[derive(Debug)]
pub struct Place {
    /// Offset of the octets that follow those in `buffer`.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// Number of octets of `buffer` already read.
    used: usize,
    key: Vec<u8>,
}

impl Place {
    /// The key read last.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The next key; `None` after the last.
    pub fn next(&mut self, keys: &Coded) -> Result<Option<&[u8]>, Failure> {
        if self.used == self.buffer.len() && self.at == self.end {
            return Ok(None);
        }
        self.fill(keys, HEAD_BYTES)?;
        let length = |at: usize| {
            let octets = [self.buffer[self.used + at], self.buffer[self.used + at + 1]];
            usize::from(u16::from_be_bytes(octets))
        };
        let (shared, rest) = (length(0), length(2));
        self.used += HEAD_BYTES;
        self.fill(keys, rest)?;
        self.key.truncate(shared);
        let rest = self.used..self.used + rest;
        self.used = rest.end;
        self.key.extend_from_slice(&self.buffer[rest]);
        Ok(Some(&self.key))
    }

    /// Fills the buffer until it holds `wanted` unread octets.
    fn fill(&mut self, keys: &Coded, wanted: usize) -> Result<(), Failure> {
        while self.buffer.len() - self.used < wanted {
            self.buffer.drain(..self.used);
            self.used = 0;
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let most = left.min(READ_BYTES.max(wanted));
            let read = keys.spool.read(self.at, most, &mut self.buffer)?;
            assert!(
                read > 0,
                "a key ends where the octets that were written end"
            );
            self.at += read as u64;
        }
        Ok(())
    }
}
