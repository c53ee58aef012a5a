//! Fuzz bodies: for any input bytes nothing panics, and a decoded value encodes to bytes that
//! decode to an equal value. Each fuzz target calls one of them.

use crate::backup::manifest::Manifest;
use crate::backup::single::{End, end_of, write_end};
use crate::import::checkpoint::Saved;
use crate::import::{BerPiece, BerPieces, after_element, read_request};
use std::io::Cursor;
use std::path::Path;

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

/// Ends of backups, in one file and in a stream: a parsed end has equal content.
pub fn backup_end(bytes: &[u8]) {
    if let Some(end) = End::parse(bytes) {
        assert_eq!(end.content(), bytes, "{}", bytes.escape_ascii());
    }
    let mut framed = End::frame(bytes);
    let name = Path::new("a stream");
    let read = End::read(&mut framed.as_slice(), name);
    assert_eq!(read.ok(), End::parse(bytes), "{}", bytes.escape_ascii());
    framed.push(0);
    assert!(End::read(&mut framed.as_slice(), name).is_err());
}

/// Manifests of backups: a parsed one prints to text that parses to an equal one, also at the end
/// of a backup that is one file.
pub fn manifest(bytes: &[u8]) {
    let name = Path::new("fuzz");
    if let Ok(Some(end)) = end_of(&mut Cursor::new(bytes)) {
        assert!(end.manifest.len() + end.settings.len() < bytes.len());
    }
    let Some(manifest) = parsed(bytes) else {
        return;
    };
    let printed = manifest.text(name).expect("what was read can be written");
    assert_eq!(Manifest::parse(&printed).as_ref(), Ok(&manifest));
    let mut file = bytes.to_vec();
    write_end(&manifest, bytes, &mut file, name).expect("memory takes it");
    let end = end_of(&mut Cursor::new(&file)).expect("memory is read");
    let end = end.expect("it was just written");
    assert_eq!((end.manifest, &end.settings[..]), (printed, bytes));
}

fn parsed(bytes: &[u8]) -> Option<Manifest> {
    Manifest::parse(std::str::from_utf8(bytes).ok()?).ok()
}

/// Checkpoints of imports: a decoded one encodes to equal bytes.
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
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;

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
    fn the_corpus_of_manifests() {
        run("manifest", super::manifest);
    }
}
