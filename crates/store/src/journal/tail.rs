//! Reading the log while it is written: for a copy of the database that catches up with it.

use std::path::Path;

use super::log::LogPlace;
use super::reader::LogReader;
use super::segment::LogId;
use crate::error::Error;

/// The records from some place on. The journal keeps their segments as long as it holds them.
#[derive(Debug)]
pub struct LogTail {
    reader: LogReader,
}

impl LogTail {
    pub(super) fn new(folder: &Path, id: LogId, place: LogPlace) -> Result<LogTail, Error> {
        let reader = LogReader::new(folder, id, place)?;
        Ok(LogTail { reader })
    }

    /// The next record; `None` when it would be the one with the sequence number `end`, which the
    /// journal told after a commit. Later records may be taken back still, so they are not looked
    /// at.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn next_before(&mut self, end: u64) -> Result<Option<Vec<u8>>, Error> {
        let sequence = self.reader.sequence();
        if sequence >= end {
            return Ok(None);
        }
        match self.reader.next()? {
            Some(content) => Ok(Some(content)),
            None => Err(Error::corrupt_log(format!(
                "record {sequence} was committed, and cannot be read"
            ))),
        }
    }
}
