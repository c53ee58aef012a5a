//! Fuzz bodies: for any input bytes nothing panics, and a decoded value encodes to bytes that
//! decode to an equal value. Each fuzz target calls one of them.

pub use crate::backup::fuzz::manifest;
pub use state::fuzz::{history_row, record};

use crate::backup::single::End;
use crate::changes::{Frame, Outcome, Point};
use crate::import::checkpoint::Saved;
use crate::import::{BerPiece, BerPieces, after_element, read_request};
use crate::operation::follow::cookie::{self, Held};
use crate::paging::CookieKey;
use state::history::Moment;
use state::rules::range::NumberRange;
use state::time;

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

/// Streams of add requests: every byte before the place where a stream breaks is returned, cut
/// between requests, for any size of pieces.
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

/// The end of a backup in one file, and in a stream: what is read is written as it was.
pub fn backup_end(bytes: &[u8]) {
    if let Some(end) = End::parse(bytes) {
        assert_eq!(end.content(), bytes, "{}", bytes.escape_ascii());
    }
    let mut framed = End::frame(bytes);
    let name = std::path::Path::new("a stream");
    let read = End::read(&mut framed.as_slice(), name);
    assert_eq!(read.ok(), End::parse(bytes), "{}", bytes.escape_ascii());
    framed.push(0);
    assert!(End::read(&mut framed.as_slice(), name).is_err());
}

/// Checkpoints of imports: a decoded one encodes to equal bytes.
pub fn import_checkpoint(bytes: &[u8]) {
    if let Ok(saved) = Saved::decode(bytes) {
        let encoded = saved.encode();
        let again = Saved::decode(&encoded).expect("it was just encoded");
        assert_eq!(again, saved, "{}", bytes.escape_ascii());
    }
}

/// Cookies of content synchronisation and change sequence numbers: one of this server prints as it
/// was read.
pub fn sync_cookie(bytes: &[u8]) {
    if let (Held::Moment(moment), rid) = cookie::parse(Some(bytes)) {
        let printed = cookie::print(rid, moment);
        let again = cookie::parse(Some(printed.as_bytes()));
        assert_eq!(again, (Held::Moment(moment), rid), "{printed}");
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(moment) = Moment::from_csn(text) {
        assert_eq!(Moment::from_csn(&moment.to_csn()), Some(moment));
    }
}

/// Cookies of paged results and of views: only signed ones are read, with the signed content.
pub fn paging_cookie(bytes: &[u8]) {
    let key = CookieKey::from_bytes([7; 32]);
    for cookie in [bytes.to_vec(), key.sign(bytes.to_vec())] {
        // A page's fingerprint is the last field before the tag; other cookies have it further up.
        for at in [1, 17, 19] {
            let of = cookie.get(at..at + 8).and_then(|it| it.try_into().ok());
            let of = of.map_or(0, u64::from_be_bytes);
            if let Ok(position) = key.open(&cookie, of) {
                assert_eq!(key.seal(&position), cookie);
            }
            if let Ok(position) = key.open_sorted(&cookie, of) {
                assert_eq!(key.seal_sorted(&position, of), cookie);
            }
            if let Some(list) = key.open_context(&cookie, of) {
                assert_eq!(key.seal_context(of, list), cookie);
            }
        }
    }
}

/// Short texts from people and other servers: times, UUIDs, positions, ranges of numbers.
pub fn words(bytes: &[u8]) {
    // A day that the calendar does not have (30 February) is the following one. Years after 9999
    // have five digits.
    const END_OF_9999_US: u64 = 253_402_300_800_000_000;
    if let Some(micros) = time::micros_of(bytes).filter(|it| *it < END_OF_9999_US) {
        let printed = time::exact_time(micros);
        assert_eq!(time::micros_of(printed.as_bytes()), Some(micros));
    }
    if let Some(uuid) = time::parse_uuid(bytes) {
        let printed = time::uuid_text(&uuid);
        assert_eq!(time::parse_uuid(printed.as_bytes()), Some(uuid));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = Point::parse(text);
    if let Ok(range) = text.parse::<NumberRange>() {
        assert_eq!(range.to_string().parse(), Ok(range));
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
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;

    /// Two records: whole, cut and damaged at every byte.
    #[test]
    fn kept_changes() {
        let mut seed = Vec::new();
        for content in [&b"\x01content of a record"[..], b"another"] {
            crate::changes::Frame::encode(content, &crate::changes::Outcome::none(), &mut seed);
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
    fn the_corpus_of_streams() {
        run("add_stream", super::add_stream);
    }

    #[test]
    fn the_corpus_of_ends_of_backups() {
        run("backup_end", super::backup_end);
    }

    #[test]
    fn the_corpus_of_checkpoints() {
        run("import_checkpoint", super::import_checkpoint);
    }

    #[test]
    fn the_corpus_of_records() {
        run("record", super::record);
        run("kept_change", super::kept_change);
    }

    #[test]
    fn the_corpora_of_cookies() {
        run("sync_cookie", super::sync_cookie);
        run("paging_cookie", super::paging_cookie);
    }

    #[test]
    fn the_corpus_of_words() {
        run("words", super::words);
    }

    #[test]
    fn the_corpus_of_manifests() {
        run("manifest", super::manifest);
    }

    #[test]
    fn the_corpus_of_the_history() {
        run("history_row", super::history_row);
    }
}
