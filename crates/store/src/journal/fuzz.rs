//! Fuzz body: the files of the log, except the content of records.

use super::checkpoint::Checkpoint;
use super::segment::{Header, PAGE_BYTES, RECORD_HEADER_BYTES, RecordHeader, encode_record};
use super::segment::{file_name, number_of};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a segment's header and of a checkpoint before their checksums.
const SUMMED: [usize; 2] = [40, 208];

/// Decodes headers of segments and records, checkpoints, and file names. No mutation gets past a
/// checksum, so each is also read with the right checksum.
pub fn log(bytes: &[u8]) {
    pages(bytes);
    for summed in SUMMED {
        if let Some(content) = bytes.get(..summed) {
            pages(&[content, &xxh3_64(content).to_le_bytes()].concat());
        }
    }
    let mut record = Vec::new();
    encode_record(7, 9, bytes, &mut record);
    assert_eq!(record.len() as u64 % PAGE_BYTES, 0);
    let (header, content) = record.split_at(RECORD_HEADER_BYTES);
    let header = RecordHeader::decode(header.try_into().expect("so it was split"));
    assert!(header.fits(7, bytes) && content.starts_with(bytes));
    if let Some((header, content)) = bytes.split_first_chunk() {
        let header = RecordHeader::decode(header);
        assert!(!header.fits(7, content) || header.length == content.len() as u64);
    }
    if let Some(number) = std::str::from_utf8(bytes).ok().and_then(number_of) {
        assert_eq!(number_of(&file_name(number)), Some(number));
    }
}

/// Checks that a decoded page encodes to bytes that decode to an equal value.
fn pages(bytes: &[u8]) {
    if let Some(header) = Header::decode(bytes) {
        assert_eq!(Header::decode(&header.encode()), Some(header));
    }
    if let Some(checkpoint) = Checkpoint::decode(bytes) {
        let again = Checkpoint::decode(&checkpoint.encode());
        assert_eq!(again, Some(checkpoint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::log::LogPlace;
    use crate::page_layout::META_BYTES;

    /// The seeds are real files, so they prove the lengths in [`SUMMED`].
    #[test]
    fn what_is_summed_is_known() {
        let header = Header {
            id: [3; 16],
            number: 5,
        };
        let checkpoint = Checkpoint {
            id: [3; 16],
            number: 6,
            transaction: 7,
            place: LogPlace {
                segment: 5,
                offset: 4096,
                sequence: 8,
            },
            meta: [9; META_BYTES],
        };
        for (page, summed) in [
            (header.encode(), SUMMED[0]),
            (checkpoint.encode(), SUMMED[1]),
        ] {
            let sum = xxh3_64(&page[..summed]).to_le_bytes();
            assert_eq!(page[summed..summed + 8], sum);
            for at in 0..summed {
                let mut damaged = page.clone();
                damaged[at] ^= 0x41;
                log(&damaged);
                log(&page[..at]);
            }
            log(&page);
        }
        log(b"00000012.log");
    }
}
