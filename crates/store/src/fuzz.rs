//! Fuzz bodies: for any bytes, decoding does not panic, and decoded values encode to the same
//! bytes. Each fuzz target is one call.

pub use crate::journal::fuzz::log;

use crate::entry::EntryView;
use crate::index::posting;
use crate::link::chunk::{Chunk, encode};
use crate::link::rows;
use crate::state::{State, decode_index, encode_index, index_key};

/// Bytes of an index state, behind its key.
const INDEX_BYTES: usize = 13;

/// Decodes rows of entries, of the state, of indexes and of index states.
pub fn row(bytes: &[u8]) {
    if let Ok(view) = EntryView::new(bytes) {
        entry(&view);
    }
    if let Ok(state) = State::decode(bytes) {
        assert_eq!(state.encode()[..], *bytes);
    }
    let (key, value) = bytes.split_at(bytes.len().saturating_sub(INDEX_BYTES));
    if let Ok(state) = decode_index(key, value) {
        let (key, value) = (index_key(&state.attribute), encode_index(&state));
        assert_eq!(decode_index(&key, &value).ok(), Some(state));
    }
    if let Ok(mut bitmap) = posting::decode(bytes)
        && (1..=65_536).contains(&bitmap.len())
    {
        let mut again = Vec::new();
        posting::encode(&mut bitmap, &mut again);
        assert_eq!(posting::cardinality(&again).ok(), Some(bitmap.len()));
        assert_eq!(posting::decode(&again).ok(), Some(bitmap));
    }
}

/// Reads a view completely: no row may cause a read outside of its bytes.
fn entry(view: &EntryView<'_>) {
    let row = view.bytes().len();
    let attributes: Vec<_> = view.attributes().collect();
    assert!(attributes.len() <= view.attribute_count());
    for attribute in &attributes {
        assert!(attribute.encoded.len() <= row);
        let _ = view.attribute(attribute.number);
        let values: usize = attribute.values().iter().map(<[u8]>::len).sum();
        assert!(values <= attribute.encoded.len());
    }
    let parts = [
        view.rdn().as_bytes(),
        view.user_attributes(),
        view.operational_attributes(),
    ];
    assert!(parts.iter().map(|it| it.len()).sum::<usize>() <= row);
    let _ = (
        view.parent(),
        view.has_links(),
        view.position(),
        view.digest() == view.computed_digest(),
    );
}

/// Decodes rows of the link tables.
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
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    use super::damaged::run;
    use proptest::prelude::*;

    #[test]
    fn the_corpora_are_read() {
        run("links", super::links);
        run("row", super::row);
        run("log", super::log);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..1100)) {
            super::links(&bytes);
            super::row(&bytes);
            super::log(&bytes);
        }
    }
}
