//! Trigrams: the keys of the substring index.
//!
//! Values and pieces are first brought to one form: `02`, one space, the text with single spaces,
//! one space, `03`. Then every gram of a piece is a gram of every value that contains the piece,
//! for all substring rules, also those to which spaces are significant: the index may give too many
//! candidates, never too few. Thanks to the leading space, one letter is enough for `(cn=a*)`.

use crate::filter::SubstringAssertion;

/// The octet before the start of a value.
pub const START: u8 = 0x02;
/// The octet after the end of a value.
pub const END: u8 = 0x03;

/// Returns the grams of a value in the form of [`crate::Schema::normalise_substring`]; the same
/// gram may come several times.
pub fn substring_grams_of_value(normal: &[u8]) -> impl Iterator<Item = [u8; 3]> {
    let mut shaped = Vec::with_capacity(normal.len() + 4);
    shaped.extend([START, b' ']);
    put_single_spaced(normal, &mut shaped);
    put_end(&mut shaped);
    (2..shaped.len()).map(move |at| [shaped[at - 2], shaped[at - 1], shaped[at]])
}

/// Returns the grams that every matching value has, sorted, each once. Empty when the pieces are
/// too short for the index.
pub fn grams_of_assertion(assertion: &SubstringAssertion) -> Vec<[u8; 3]> {
    let mut grams = Vec::new();
    let mut shaped = Vec::new();
    if let Some(initial) = &assertion.initial {
        shaped.extend([START, b' ']);
        put_single_spaced(initial, &mut shaped);
        // The space at the end of the piece may be the one before END or one inside the value.
        grams.extend(shaped.windows(3).map(|gram| [gram[0], gram[1], gram[2]]));
    }
    for piece in &assertion.any {
        shaped.clear();
        put_single_spaced(piece, &mut shaped);
        grams.extend(shaped.windows(3).map(|gram| [gram[0], gram[1], gram[2]]));
    }
    if let Some(last) = &assertion.last {
        shaped.clear();
        put_single_spaced(last, &mut shaped);
        put_end(&mut shaped);
        grams.extend(shaped.windows(3).map(|gram| [gram[0], gram[1], gram[2]]));
    }
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// Appends text with each run of spaces as one; a space behind a space is left out.
fn put_single_spaced(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        if byte != b' ' || out.last() != Some(&b' ') {
            out.push(byte);
        }
    }
}

fn put_end(out: &mut Vec<u8>) {
    if out.last() != Some(&b' ') {
        out.push(b' ');
    }
    out.push(END);
}
