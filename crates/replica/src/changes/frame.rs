//! One kept change as bytes: a record of the log, and its outcome.

use super::Outcome;
use state::record;
use std::io::{self, ErrorKind, Read};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes before the content: checksum, length of the content, length of the outcome.
const HEAD_BYTES: usize = 16;
/// Maximum length of a content, far above that of real records: a group has at most some thousand
/// requests of some megabytes.
const CONTENT_BYTES_MAX: u32 = 1 << 30;

/// One kept change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The record as in the log.
    pub content: Vec<u8>,
    /// Results and numbers that execution gave to its writes.
    pub outcome: Outcome,
}

impl Frame {
    /// Position of the record; `None` if the content is too short.
    pub fn position(&self) -> Option<u64> {
        record::position_of(&self.content)
    }

    /// Time of the record in microseconds since 1970; `None` if the content is too short.
    pub fn time_us(&self) -> Option<u64> {
        record::time_of(&self.content)
    }

    /// Digest of the state before the record; `None` if the content is too short.
    pub fn digest(&self) -> Option<u128> {
        record::digest_of(&self.content)
    }

    /// Appends an encoded change to `out`.
    pub fn encode(content: &[u8], outcome: &Outcome, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&(content.len() as u32).to_le_bytes());
        out.extend_from_slice(&(outcome.bytes().len() as u32).to_le_bytes());
        out.extend_from_slice(content);
        out.extend_from_slice(outcome.bytes());
        let checksum = xxh3_64(&out[start + 8..]);
        out[start..start + 8].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads a change; `None` at the end, and for an incomplete or damaged one.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
        let mut head = [0; HEAD_BYTES];
        if !fill(from, &mut head)? {
            return Ok(None);
        }
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|it| head[at + it]));
        let (content_bytes, outcome_bytes) = (number(8), number(12));
        if content_bytes > CONTENT_BYTES_MAX || outcome_bytes > content_bytes {
            return Ok(None);
        }
        let mut hashed = head[8..].to_vec();
        let length = u64::from(content_bytes) + u64::from(outcome_bytes);
        // Memory grows with the bytes read, whatever the length field says.
        from.by_ref().take(length).read_to_end(&mut hashed)?;
        let checksum = xxh3_64(&hashed).to_le_bytes();
        if hashed.len() as u64 != 8 + length || checksum != head[..8] {
            return Ok(None);
        }
        let mut content = hashed.split_off(8);
        let outcome = Outcome::from_bytes(content.split_off(content_bytes as usize));
        Ok(Some(Frame { content, outcome }))
    }

    /// Length of the encoded change in bytes.
    pub fn bytes(&self) -> u64 {
        (HEAD_BYTES + self.content.len() + self.outcome.bytes().len()) as u64
    }
}

/// Fills the buffer; returns `false` if the source ends before.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
