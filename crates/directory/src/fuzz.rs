//! Fuzz bodies: any bytes may come, nothing panics, and what decodes encodes to something that
//! decodes to the same. The fuzz targets are one call each.

use crate::changes::{Frame, Outcome};
use crate::commit::Record;
use crate::import::checkpoint::Saved;
use crate::import::{BerPiece, BerPieces, after_element, read_request};
use crate::record::{decode, encode};
use schema::Schema;

/// Records of the log.
pub fn record(bytes: &[u8]) {
    let schema = Schema::standard();
    let Ok(decoded) = decode(bytes, &schema) else {
        return;
    };
    let record = Record {
        position: decoded.position,
        time_us: decoded.time_us,
        units: decoded.units(),
    };
    let mut encoded = Vec::new();
    encode(&record, decoded.digest, &schema, &mut encoded);
    let again = decode(&encoded, &schema).expect("it was just encoded");
    assert_eq!(
        format!("{:?}", again.units()),
        format!("{:?}", decoded.units()),
        "{}",
        bytes.escape_ascii()
    );
}

/// Kept changes: what is read is written as it was read. The bytes are also what came of a record,
/// which the checksum hides from a mutation otherwise.
pub fn kept_change(bytes: &[u8]) {
    let outcome = Outcome::from_bytes(bytes.to_vec());
    for writes in 0..20 {
        let numbers = outcome.numbers(writes);
        assert!(numbers.is_none_or(|it| it.len() <= bytes.len()));
    }
    let mut rest = bytes;
    while let Ok(Some(frame)) = Frame::read(&mut rest) {
        let mut encoded = Vec::new();
        Frame::encode(&frame.content, &frame.outcome, &mut encoded);
        let read = bytes.len() - rest.len();
        assert_eq!(encoded.len() as u64, frame.bytes());
        assert_eq!(&bytes[read - encoded.len()..read], encoded);
        // Nobody believes a position that is not there.
        assert_eq!(frame.position().is_some(), frame.content.len() >= 9);
    }
}

/// Streams of add requests: every byte before the place where a stream breaks comes out again, cut
/// between requests, whatever the size of the pieces.
pub fn add_stream(bytes: &[u8]) {
    for bare in [false, true] {
        let whole = requests(bytes, usize::MAX / 2, bare);
        assert_eq!(requests(bytes, 7, bare), whole, "{}", bytes.escape_ascii());
        assert!(bytes.starts_with(&whole));
        let mut rest = whole.as_slice();
        while !rest.is_empty() {
            let after = after_element(rest);
            assert!(after.len() < rest.len());
            if let Ok((_, other)) = read_request(rest, bare) {
                assert_eq!(other, after);
            }
            rest = after;
        }
    }
}

/// Checkpoints of imports: what decodes is encoded to the same.
pub fn import_checkpoint(bytes: &[u8]) {
    if let Ok(saved) = Saved::decode(bytes) {
        let encoded = saved.encode();
        let again = Saved::decode(&encoded).expect("it was just encoded");
        assert_eq!(again, saved, "{}", bytes.escape_ascii());
    }
}

/// The requests of a stream, read in pieces of about this size.
fn requests(bytes: &[u8], piece_bytes: usize, bare: bool) -> Vec<u8> {
    let mut stream = BerPieces::new(bytes, piece_bytes.min(1 << 20), bare);
    let mut all = Vec::new();
    while let Ok(Some(piece)) = stream.next("fuzz") {
        match piece {
            BerPiece::Requests {
                requests, offset, ..
            } => {
                assert_eq!(offset, all.len() as u64);
                all.extend(requests);
            }
            BerPiece::Broken { offset, .. } => assert_eq!(offset, all.len() as u64),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Two records, whole, cut and damaged at every byte.
    #[test]
    fn kept_changes() {
        let mut seed = Vec::new();
        for content in [&b"\x01content of a record"[..], b"another"] {
            crate::changes::Frame::encode(content, &crate::changes::Outcome::none(), &mut seed);
        }
        // And what came of a record of one write, with a number.
        let outcome = *b"\x01\x01\0\0\0\0\x01\0\0\0a\x01\0\0\x005";
        super::kept_change(&outcome);
        seed.extend_from_slice(&outcome);
        super::kept_change(&seed);
        for at in 0..seed.len() {
            super::kept_change(&seed[..at]);
            for bits in [0x01, 0x80, 0xff] {
                let mut damaged = seed.clone();
                damaged[at] ^= bits;
                super::kept_change(&damaged);
            }
        }
    }

    /// Every seed, every seed cut, and every seed with each byte damaged, in turn.
    fn run(target: &str, body: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        let mut seeds = 0;
        for file in std::fs::read_dir(folder.join(target)).expect("a corpus") {
            let seed = std::fs::read(file.expect("a file").path()).expect("readable");
            body(&seed);
            for at in 0..seed.len() {
                body(&seed[..at]);
                let mut damaged = seed.clone();
                for bits in [0x01, 0x80, 0xff] {
                    damaged[at] = seed[at] ^ bits;
                    body(&damaged);
                }
            }
            seeds += 1;
        }
        assert!(seeds > 0, "{target} has no seeds");
    }

    #[test]
    fn the_corpus_of_streams() {
        run("add_stream", super::add_stream);
    }

    #[test]
    fn the_corpus_of_checkpoints() {
        run("import_checkpoint", super::import_checkpoint);
    }
}
