//! The form of a segment file: a header page, then records, each from the start of a page.
//!
//! Invariants:
//! - no two records share a page, so writing one can never tear another that is durable already;
//! - a checksum depends on the log's identifier and the segment's number: old content of a reused
//!   file never reads as a record.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes of a page, the unit in which disks write.
pub(super) const PAGE_BYTES: u64 = 4096;
/// Bytes of checksum, length and sequence number, before a record's content.
pub(super) const RECORD_HEADER_BYTES: usize = 24;

const MAGIC: &[u8; 8] = b"PandoLog";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 48;

/// Identifier of a log: random, new for each log.
pub(crate) type LogId = [u8; 16];

/// Content of the first page of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub id: LogId,
    /// Number of the segment in its log, from 1.
    pub number: u64,
}

impl Header {
    pub fn encode(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(PAGE_BYTES as usize);
        page.extend_from_slice(MAGIC);
        page.extend_from_slice(&VERSION.to_le_bytes());
        page.extend_from_slice(&[0; 4]);
        page.extend_from_slice(&self.id);
        page.extend_from_slice(&self.number.to_le_bytes());
        let checksum = xxh3_64(&page);
        page.extend_from_slice(&checksum.to_le_bytes());
        page.resize(PAGE_BYTES as usize, 0);
        page
    }

    /// Decodes a header; `None` for a page that is no header of this version.
    pub fn decode(page: &[u8]) -> Option<Header> {
        let bytes = page.get(..HEADER_BYTES)?;
        let known = bytes.starts_with(MAGIC) && bytes[8..12] == VERSION.to_le_bytes();
        if !known || number(bytes, 40)? != xxh3_64(&bytes[..40]) {
            return None;
        }
        Some(Header {
            id: bytes[16..32].try_into().ok()?,
            number: number(bytes, 32)?,
        })
    }

    /// Seed of the checksums of this segment's records.
    pub fn seed(&self) -> u64 {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.id);
        bytes[16..].copy_from_slice(&self.number.to_le_bytes());
        xxh3_64(&bytes)
    }
}

/// Returns the file name of a segment.
pub(super) fn file_name(number: u64) -> String {
    format!("{number:08}.log")
}

/// Returns the number of a segment by its file name; `None` for other files.
pub(super) fn number_of(file_name: &str) -> Option<u64> {
    file_name.strip_suffix(".log")?.parse().ok()
}

/// Bytes that a record takes in its segment: whole pages.
pub(super) fn record_bytes(content: u64) -> u64 {
    content
        .saturating_add(RECORD_HEADER_BYTES as u64)
        .div_ceil(PAGE_BYTES)
        .saturating_mul(PAGE_BYTES)
}

/// Encodes a record as it stands in the file into `out`, whose old content is dropped.
pub(super) fn encode_record(seed: u64, sequence: u64, content: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&(content.len() as u64).to_le_bytes());
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(content);
    let checksum = record_checksum(seed, &out[8..]);
    out[..8].copy_from_slice(&checksum.to_le_bytes());
    out.resize(record_bytes(content.len() as u64) as usize, 0);
}

/// The header of a record; its fields are trusted only after its checksum has been compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordHeader {
    pub checksum: u64,
    pub length: u64,
    pub sequence: u64,
}

impl RecordHeader {
    pub fn decode(bytes: &[u8; RECORD_HEADER_BYTES]) -> RecordHeader {
        let [checksum, length, sequence] = [0, 8, 16].map(|at| number(bytes, at).unwrap_or(0));
        RecordHeader {
            checksum,
            length,
            sequence,
        }
    }

    /// Returns whether this is the header of a record with this content.
    pub fn fits(&self, seed: u64, content: &[u8]) -> bool {
        let mut hash = Xxh3::with_seed(seed);
        hash.update(&self.length.to_le_bytes());
        hash.update(&self.sequence.to_le_bytes());
        hash.update(content);
        self.length == content.len() as u64 && hash.digest() == self.checksum
    }
}

fn record_checksum(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = Xxh3::with_seed(seed);
    hash.update(bytes);
    hash.digest()
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(eight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_fits_only_its_segment_and_its_content() {
        let header = Header {
            id: [7; 16],
            number: 3,
        };
        let page = header.encode();
        assert_eq!(Header::decode(&page), Some(header));
        let other = Header {
            number: 4,
            ..header
        };
        let mut out = Vec::new();
        encode_record(header.seed(), 9, b"content", &mut out);
        assert_eq!(out.len() as u64, PAGE_BYTES);
        let record = RecordHeader::decode(out[..24].try_into().expect("24 bytes"));
        assert_eq!((record.length, record.sequence), (7, 9));
        assert!(record.fits(header.seed(), b"content"));
        assert!(!record.fits(other.seed(), b"content"));
        assert!(!record.fits(header.seed(), b"Content"));
        assert!(!record.fits(header.seed(), b"conten"));
        for at in 0..48 {
            let mut damaged = page.clone();
            damaged[at] ^= 1;
            assert_ne!(Header::decode(&damaged), Some(header), "byte {at}");
        }
    }

    #[test]
    fn records_take_whole_pages() {
        assert_eq!(record_bytes(0), 4096);
        assert_eq!(record_bytes(4072), 4096);
        assert_eq!(record_bytes(4073), 8192);
        assert_eq!(number_of(&file_name(12)), Some(12));
        assert_eq!(number_of("12.spare"), None);
    }
}
