//! Counts and hashes bytes as they are read or written.

use std::fmt::{self, Display, Formatter};
use std::io::{self, BufRead, Read, Write};
use xxhash_rust::xxh3::Xxh3Default;

/// Length and hash (XXH3, 128 bits) of bytes. They detect damage, not forgery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashed {
    /// Length in bytes.
    pub bytes: u64,
    /// Hash of the bytes.
    pub xxh3: u128,
}

impl Hashed {
    /// Length and hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Hashed {
        let mut sum = Sum::default();
        sum.add(bytes);
        sum.finish()
    }
}

impl Display for Hashed {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{} bytes with the hash {:032x}", self.bytes, self.xxh3)
    }
}

/// Length and hash of the bytes so far.
#[derive(Default)]
struct Sum {
    bytes: u64,
    hasher: Xxh3Default,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hasher.update(bytes);
    }

    fn finish(&self) -> Hashed {
        Hashed {
            bytes: self.bytes,
            xxh3: self.hasher.digest128(),
        }
    }
}

/// A reader that hashes the bytes read through it.
pub(super) struct HashingReader<R> {
    inner: R,
    sum: Sum,
}

impl<R: Read> HashingReader<R> {
    pub fn new(inner: R) -> HashingReader<R> {
        HashingReader {
            inner,
            sum: Sum::default(),
        }
    }

    pub fn finish(self) -> Hashed {
        self.sum.finish()
    }

    /// The inner reader, with its unread bytes, and the hash of the bytes read.
    pub fn into_parts(self) -> (R, Hashed) {
        let hashed = self.sum.finish();
        (self.inner, hashed)
    }
}

/// Bytes are hashed when consumed, not when buffered.
impl<R: BufRead> BufRead for HashingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // The bytes are buffered, so this does not read.
        if count > 0
            && let Ok(bytes) = self.inner.fill_buf()
        {
            self.sum.add(&bytes[..count]);
        }
        self.inner.consume(count);
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.sum.add(&buffer[..count]);
        Ok(count)
    }
}

/// A writer that hashes the bytes written through it.
pub(super) struct HashingWriter<W> {
    inner: W,
    sum: Sum,
}

impl<W: Write> HashingWriter<W> {
    pub fn new(inner: W) -> HashingWriter<W> {
        HashingWriter {
            inner,
            sum: Sum::default(),
        }
    }

    pub fn finish(self) -> (W, Hashed) {
        let hashed = self.sum.finish();
        (self.inner, hashed)
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.sum.add(&buffer[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
