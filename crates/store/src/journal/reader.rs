//! Reading a log back: whole records in order up to the last one, and proof that no record follows.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::log::LogPlace;
use super::segment::{
    Header, LogId, PAGE_BYTES, RECORD_HEADER_BYTES, RecordHeader, file_name, number_of,
    record_bytes,
};
use crate::error::Error;

/// Reads records from a place in the log on.
#[derive(Debug)]
pub(super) struct LogReader {
    folder: PathBuf,
    id: LogId,
    segment: Option<Segment>,
    /// Place at which the next record begins, if there is one.
    next: LogPlace,
    /// Whether records may be lost in the middle.
    accepts_loss: bool,
}

#[derive(Debug)]
struct Segment {
    file: File,
    seed: u64,
    length: u64,
}

impl LogReader {
    /// Returns a reader from `place` on. The segment of that place must exist.
    pub fn new(folder: &Path, id: LogId, place: LogPlace) -> Result<LogReader, Error> {
        let segment = open_segment(folder, id, place.segment)?;
        if segment.is_none() {
            return Err(Error::corrupt_log(format!(
                "segment {}, where reading has to begin, is missing or not of this log",
                file_name(place.segment)
            )));
        }
        Ok(LogReader {
            folder: folder.to_path_buf(),
            id,
            segment,
            next: place,
            accepts_loss: false,
        })
    }

    /// Lets the log end at the first record that cannot be read.
    pub fn accept_loss(&mut self) {
        self.accepts_loss = true;
    }

    /// The sequence number of the next record.
    pub fn sequence(&self) -> u64 {
        self.next.sequence
    }

    /// Returns the content of the next record, `None` after the last one.
    ///
    /// # Errors
    /// The log cannot be read, or a later record is whole although the next one is not.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if let Some(segment) = &self.segment
            && let Some((sequence, content)) = segment.record(self.next.offset)?
            && sequence == self.next.sequence
        {
            self.next.offset += record_bytes(content.len() as u64);
            self.next.sequence += 1;
            return Ok(Some(content));
        }
        let following = self.next.segment + 1;
        if let Some(segment) = open_segment(&self.folder, self.id, following)?
            && let Some((sequence, content)) = segment.record(PAGE_BYTES)?
            && sequence == self.next.sequence
        {
            self.segment = Some(segment);
            self.next = LogPlace {
                segment: following,
                offset: PAGE_BYTES + record_bytes(content.len() as u64),
                sequence: sequence + 1,
            };
            return Ok(Some(content));
        }
        if !self.accepts_loss {
            self.refuse_later_records()?;
        }
        Ok(None)
    }

    /// Fails if a whole record comes after one that cannot be read: the writer syncs each record
    /// before it begins the next, so only the last one can be torn.
    fn refuse_later_records(&self) -> Result<(), Error> {
        let refuse = |number: u64, offset: u64, sequence: u64| {
            Err(Error::corrupt_log(format!(
                "record {} cannot be read (segment {}, byte {}), but record {sequence} after it \
                 can (segment {}, byte {offset}): the disk has lost something",
                self.next.sequence,
                file_name(self.next.segment),
                self.next.offset,
                file_name(number)
            )))
        };
        if let Some(segment) = &self.segment
            && let Some((offset, sequence)) = segment.later(self.next.offset, self.next.sequence)?
        {
            return refuse(self.next.segment, offset, sequence);
        }
        for number in later_segments(&self.folder, self.next.segment)? {
            if let Some(segment) = open_segment(&self.folder, self.id, number)?
                && let Some((offset, sequence)) = segment.later(PAGE_BYTES, self.next.sequence)?
            {
                return refuse(number, offset, sequence);
            }
        }
        Ok(())
    }
}

impl Segment {
    /// Returns the record that begins at this byte offset, if one does.
    fn record(&self, offset: u64) -> Result<Option<(u64, Vec<u8>)>, Error> {
        let Some(room) = self.length.checked_sub(offset) else {
            return Ok(None);
        };
        if room < PAGE_BYTES {
            return Ok(None);
        }
        let mut header = [0; RECORD_HEADER_BYTES];
        self.read(&mut header, offset)?;
        let header = RecordHeader::decode(&header);
        if header.checksum == 0 && header.length == 0 || record_bytes(header.length) > room {
            return Ok(None);
        }
        // The length may be wrong: no more is read than the segment holds.
        let mut content = vec![0; header.length as usize];
        self.read(&mut content, offset + RECORD_HEADER_BYTES as u64)?;
        let fits = header.fits(self.seed, &content);
        Ok(fits.then_some((header.sequence, content)))
    }

    /// Returns the first whole record from this offset on with a greater sequence number.
    fn later(&self, from: u64, sequence: u64) -> Result<Option<(u64, u64)>, Error> {
        let mut offset = from;
        while offset + PAGE_BYTES <= self.length {
            if let Some((found, _)) = self.record(offset)?
                && found > sequence
            {
                return Ok(Some((offset, found)));
            }
            offset += PAGE_BYTES;
        }
        Ok(None)
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        let read = self.file.read_exact_at(bytes, offset);
        read.map_err(Error::system("reading the log"))
    }
}

/// Opens a segment; `None` if it is missing or belongs to another log.
fn open_segment(folder: &Path, id: LogId, number: u64) -> Result<Option<Segment>, Error> {
    let file = match File::open(folder.join(file_name(number))) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::system("opening a segment of the log")(error)),
    };
    let metadata = file.metadata();
    let length = metadata
        .map_err(Error::system("reading a file's size"))?
        .len();
    if length < PAGE_BYTES {
        return Ok(None);
    }
    let mut page = vec![0; PAGE_BYTES as usize];
    let read = file.read_exact_at(&mut page, 0);
    read.map_err(Error::system("reading the log"))?;
    let wanted = Header { id, number };
    let found = Header::decode(&page) == Some(wanted);
    Ok(found.then(|| Segment {
        file,
        seed: wanted.seed(),
        length,
    }))
}

/// Returns the numbers of the segments after this one, ascending.
fn later_segments(folder: &Path, after: u64) -> Result<Vec<u64>, Error> {
    let mut numbers = Vec::new();
    for file in std::fs::read_dir(folder).map_err(Error::system("listing the log"))? {
        let file = file.map_err(Error::system("listing the log"))?;
        numbers.extend(file.file_name().to_str().and_then(number_of));
    }
    numbers.retain(|it| *it > after);
    numbers.sort_unstable();
    Ok(numbers)
}
