//! LDIF from a stream: record by record on one thread, or in pieces for several.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use super::LdifError;
use super::lines::{LdifScratch, RecordCursor, count_lines, last_boundary};
use super::record::{LdifRecord, parse_record};

/// Maximum length of a record in bytes: four times the largest message, so that any value sent over
/// LDAP fits as base64.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// Bytes taken from the source at once, so that a large slice is not copied as a whole.
const FILL_BYTES_MAX: usize = 256 << 10;

/// Records from a stream. Holds the current record and at most 256 KiB of the bytes after it.
#[derive(Debug)]
pub struct LdifReader<R> {
    source: R,
    buffer: Vec<u8>,
    cursor: RecordCursor,
    scratch: LdifScratch,
    record_bytes_max: usize,
    /// Range of the last record in `buffer`.
    record: Range<usize>,
    record_line: u64,
    at_end: bool,
    failed: bool,
}

impl<R: BufRead> LdifReader<R> {
    /// Reads records from `source`; values given by URL are errors.
    pub fn new(source: R) -> LdifReader<R> {
        LdifReader::with_scratch(source, LdifScratch::new())
    }

    /// Reads records from `source`; `scratch` decides whether values given by URL are read.
    pub fn with_scratch(source: R, scratch: LdifScratch) -> LdifReader<R> {
        LdifReader {
            source,
            buffer: Vec::new(),
            cursor: RecordCursor::new(1),
            scratch,
            record_bytes_max: RECORD_BYTES_MAX,
            record: 0..0,
            record_line: 1,
            at_end: false,
            failed: false,
        }
    }

    /// Refuses records of more than `bytes` instead of 64 MiB.
    pub fn record_bytes_max(mut self, bytes: usize) -> LdifReader<R> {
        self.record_bytes_max = bytes;
        self
    }

    /// The next record, or an error in it; `None` at the end of the input. After an error the next
    /// call continues with the following record, unless the error is fatal.
    pub fn next_record(&mut self) -> Option<Result<LdifRecord<'_>, LdifError>> {
        if self.failed {
            return None;
        }
        match self.advance() {
            Ok(true) => {
                let text = self.buffer.get(self.record.clone()).unwrap_or_default();
                Some(parse_record(text, self.record_line, &mut self.scratch))
            }
            Ok(false) => None,
            Err(error) => {
                self.failed = error.fatal;
                Some(Err(error))
            }
        }
    }

    /// The first line of the record last returned or refused, from 1.
    pub fn record_line(&self) -> u64 {
        self.record_line
    }

    /// Sets `record` to the range of the next record; returns `false` if there is none.
    fn advance(&mut self) -> Result<bool, LdifError> {
        loop {
            if let Some((line, range)) = self.cursor.next(&self.buffer, self.at_end) {
                self.record_line = line;
                self.record = range;
                return Ok(true);
            }
            self.record = 0..0;
            if self.at_end {
                return Ok(false);
            }
            self.forget_passed();
            if self.buffer.len() > self.record_bytes_max {
                return Err(self.skip_record());
            }
            self.fill()?;
        }
    }

    /// Skips a record that is too long, without keeping it.
    fn skip_record(&mut self) -> LdifError {
        self.record_line = self.cursor.line;
        while !self.cursor.skip_record(&self.buffer, self.at_end) && !self.at_end {
            self.forget_passed();
            if let Err(error) = self.fill() {
                return error;
            }
        }
        let limit = self.record_bytes_max;
        let message = format!("expected a record of at most {limit} bytes, got a longer one");
        LdifError::new(self.record_line, message)
    }

    fn forget_passed(&mut self) {
        self.buffer.drain(..self.cursor.start);
        self.cursor.forget(self.cursor.start);
    }

    /// Appends the bytes that the source has buffered.
    fn fill(&mut self) -> Result<(), LdifError> {
        loop {
            match self.source.fill_buf() {
                Ok(bytes) => {
                    let bytes = bytes.get(..FILL_BYTES_MAX).unwrap_or(bytes);
                    let count = bytes.len();
                    self.buffer.extend_from_slice(bytes);
                    self.at_end = count == 0;
                    self.source.consume(count);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(input_failed(self.cursor.line, &error)),
            }
        }
    }
}

/// A piece of LDIF that starts and ends between records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdifChunk {
    /// Line of the first byte, from 1.
    pub first_line: u64,
    /// The text, for [`split_records`](super::split_records).
    pub text: Vec<u8>,
}

/// Splits a stream into pieces of whole records, for several parsing threads.
#[derive(Debug)]
pub struct LdifChunks<R> {
    source: R,
    chunk_bytes: usize,
    record_bytes_max: usize,
    /// The beginning of a record whose end was not read yet.
    rest: Vec<u8>,
    next_line: u64,
    at_end: bool,
}

impl<R: Read> LdifChunks<R> {
    /// Cuts `source` into pieces of about `chunk_bytes`; more only where one record is longer.
    pub fn new(source: R, chunk_bytes: usize) -> LdifChunks<R> {
        let record_bytes_max = RECORD_BYTES_MAX;
        let chunk_bytes = chunk_bytes.max(1);
        let rest = Vec::new();
        LdifChunks {
            source,
            chunk_bytes,
            record_bytes_max,
            rest,
            next_line: 1,
            at_end: false,
        }
    }

    /// Refuses records of more than `bytes` instead of 64 MiB.
    pub fn record_bytes_max(mut self, bytes: usize) -> LdifChunks<R> {
        self.record_bytes_max = bytes;
        self
    }

    /// The next piece; `None` at the end. Every error is fatal: the input failed, or a record is
    /// longer than the limit.
    pub fn next_chunk(&mut self) -> Result<Option<LdifChunk>, LdifError> {
        let mut text = std::mem::take(&mut self.rest);
        text.reserve(self.chunk_bytes.saturating_sub(text.len()));
        // Where reading stops to look for a boundary; doubled while there is none.
        let mut target = self.chunk_bytes.max(text.len() + 1);
        while !self.at_end {
            self.fill(&mut text, target)?;
            if let Some(end) = last_boundary(&text).filter(|_| !self.at_end) {
                self.rest = text.split_off(end);
                break;
            }
            if text.len() > self.record_bytes_max.max(self.chunk_bytes) {
                let limit = self.record_bytes_max;
                let message = format!("expected records of at most {limit} bytes");
                return Err(LdifError {
                    fatal: true,
                    ..LdifError::new(self.next_line, message)
                });
            }
            target = text.len().saturating_mul(2);
        }
        if text.is_empty() {
            return Ok(None);
        }
        let first_line = self.next_line;
        self.next_line += count_lines(&text);
        Ok(Some(LdifChunk { first_line, text }))
    }

    /// Reads until `text` has `target` bytes or the source ends.
    fn fill(&mut self, text: &mut Vec<u8>, target: usize) -> Result<(), LdifError> {
        let missing = target.saturating_sub(text.len()) as u64;
        match self.source.by_ref().take(missing).read_to_end(text) {
            Ok(count) => {
                self.at_end = (count as u64) < missing;
                Ok(())
            }
            Err(error) => {
                self.at_end = true;
                Err(input_failed(self.next_line, &error))
            }
        }
    }
}

fn input_failed(line: u64, error: &io::Error) -> LdifError {
    let message = format!("expected more input, got an error: {error}");
    LdifError {
        fatal: true,
        ..LdifError::new(line, message)
    }
}
