//! Trigrams.

use crate::filter::SubstringAssertion;

/// Value grams.
pub fn substring_grams_of_value(_normal: &[u8]) -> impl Iterator<Item = [u8; 3]> {
    std::iter::empty()
}

/// Assertion grams.
pub fn grams_of_assertion(_assertion: &SubstringAssertion) -> Vec<[u8; 3]> {
    unimplemented!()
}
