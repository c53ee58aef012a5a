//! LDIF (RFC 2849): directory content and changes as text.
//!
//! Three ways in, one grammar: [`LdifReader`] streams records from any reader; [`LdifChunks`] cuts
//! a stream into pieces of whole records, so that several threads can each take a piece through
//! [`split_records`] and [`parse_record`]. A bad record is an error with its line number and does
//! not stop the reading of the next. Beyond the RFC, UTF-8 may stand unencoded, `increment`
//! (RFC 4525) is a change, the last `-` and newline may be missing, spaces may follow keywords and
//! numbers, and a byte order mark may stand first.

mod change;
mod lines;
mod reader;
mod record;
mod writer;

use std::fmt;

pub use change::LdifChange;
pub use lines::{LdifScratch, RecordText, Records, UrlReader, last_boundary, split_records};
pub use reader::{LdifChunk, LdifChunks, LdifReader};
pub use record::{LdifAttribute, LdifControl, LdifRecord, parse_record};
pub use writer::LdifWriter;

/// An error in a record, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdifError {
    /// Line of the input, from 1.
    pub line: u64,
    /// Lower case, no full stop: what was expected and what was found.
    pub message: String,
    /// Whether the input failed, so that no further record can be read.
    pub fatal: bool,
}

impl LdifError {
    fn new(line: u64, message: impl Into<String>) -> LdifError {
        LdifError {
            line,
            message: message.into(),
            fatal: false,
        }
    }
}

impl fmt::Display for LdifError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for LdifError {}

#[cfg(test)]
mod tests;
