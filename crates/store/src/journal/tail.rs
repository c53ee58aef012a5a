//! Reading the log while it is written, for a copy of the database that catches up.

use std::path::Path;

use super::log::LogPlace;
use super::reader::LogReader;
use super::segment::LogId;
use crate::error::Error;

/// Reader of the records from a place on. The journal keeps their segments while it holds them.
#[derive(Debug)]
pub struct LogTail {
    reader: LogReader,
}

impl LogTail {
    pub(super) fn new(folder: &Path, id: LogId, place: LogPlace) -> Result<LogTail, Error> {
        let reader = LogReader::new(folder, id, place)?;
        Ok(LogTail { reader })
    }

    /// Returns the next record before the sequence number `end`, which
    /// [`Journal::end`](crate::Journal::end) returned after a commit; `None` at `end`. Later
    /// records may still be taken back, so they are not read.
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
