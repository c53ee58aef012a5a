//! Phonetic keys.

/// Keys, one per word.
pub fn phonetic_key(_value: &[u8]) -> Vec<Vec<u8>> {
    unimplemented!()
}
