//! Fuzz bodies: any bytes may come, nothing panics, and what decodes encodes to the same. The fuzz
//! targets are one call each.

use crate::link::chunk::{Chunk, encode};
use crate::link::rows;

/// Rows of the tables of links.
pub fn links(bytes: &[u8]) {
    if let Ok(chunk) = Chunk::parse(bytes) {
        let members = chunk.members();
        assert!(
            members
                .iter()
                .all(|it| chunk.contains(*it) || chunk.check().is_err())
        );
        if chunk.check().is_ok() {
            let mut again = Vec::new();
            encode(&members, &mut again);
            assert_eq!(again, bytes);
        }
    }
    if let Ok((text, normal)) = rows::of_text(bytes) {
        assert_eq!(rows::text_value(text, normal), bytes);
    }
    let (key, value) = bytes.split_at(bytes.len().min(9));
    let _ = (
        rows::of_owned(key, value),
        rows::of_chunk_key(bytes),
        rows::of_item(key, value),
        rows::of_detached(bytes),
        rows::of_hash_key(bytes),
        rows::kind(bytes),
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn the_corpus_is_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/links");
        let mut files = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            super::links(&std::fs::read(file.unwrap().path()).unwrap());
            files += 1;
        }
        assert!(files > 0);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..1100)) {
            super::links(&bytes);
        }
    }
}
