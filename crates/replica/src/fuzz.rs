//! Fuzz bodies: for any input bytes nothing panics, and a decoded value encodes to bytes that
//! decode to an equal value. Each fuzz target calls one of them.

use crate::changes::{Frame, Outcome, Point};
use crate::payload;

/// Kept changes: an encoded change decodes and encodes to equal bytes. The input is also used as
/// the outcome of a record, which the checksum otherwise hides from mutations.
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
        // A missing position is reported as missing.
        assert_eq!(frame.position().is_some(), frame.content.len() >= 9);
    }
}

/// Payloads of bundles in a cluster's log.
pub fn payload(bytes: &[u8]) {
    let Ok((_, writes)) = payload::decode(bytes) else {
        return;
    };
    // Input that says that it is long is refused elsewhere; here it costs time and finds nothing.
    let length = zstd::bulk::Decompressor::upper_bound(writes);
    if length.is_some_and(|it| it <= 1 << 20) {
        let _ = payload::decompress(writes);
    }
}

/// Points in time or order, as people write them.
pub fn point(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Point::parse(text);
    }
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;
    use crate::changes::{Frame, Outcome};

    /// Two records: whole, cut and damaged at every byte.
    #[test]
    fn kept_changes() {
        let mut seed = Vec::new();
        for content in [&b"\x01content of a record"[..], b"another"] {
            Frame::encode(content, &Outcome::none(), &mut seed);
        }
        // And the outcome of a record with one write, with a number.
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

    #[test]
    fn the_corpus_of_payloads() {
        run("payload", super::payload);
    }

    #[test]
    fn the_corpora_of_records_and_words() {
        run("record", super::kept_change);
        run("words", super::point);
    }
}
