//! Base64 (RFC 4648 §4) as LDIF uses it: one alphabet, padding required, no white space inside.
//!
//! Import and export of a directory are mostly base64 by volume, so encoding and decoding work on
//! whole words through small tables that stay in the first-level cache.

use crate::error_text::TextError;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The two characters of every 12-bit group: four look-ups make eight characters of six bytes.
static PAIRS: [[u8; 2]; 4096] = pairs();

/// Bits of a character at each of the four places of a group, or `INVALID`.
/// Joined by OR, so that one test finds any bad character of a group.
static PLACES: [[u32; 256]; 4] = places();

/// Mark of a bad character, outside the 24 bits of a group.
const INVALID: u32 = 1 << 31;

/// Number of characters `bytes` bytes become, padding included.
pub const fn encoded_length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Appends the base64 text of `bytes`, with padding, without line breaks.
pub fn encode_into(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + encoded_length(bytes.len()), b'=');
    let (_, text) = out.split_at_mut(start);
    let (sixes, rest) = bytes.as_chunks::<6>();
    let (eights, text_rest) = text.split_at_mut(sixes.len() * 8);
    for (six, eight) in sixes.iter().zip(eights.as_chunks_mut::<8>().0) {
        *eight = encode_six(*six);
    }
    for (three, four) in rest.chunks(3).zip(text_rest.as_chunks_mut::<4>().0) {
        encode_last(three, four);
    }
}

/// Appends the bytes that `text` stands for.
///
/// Strict: padding is required and unused bits must be zero, so that each value has exactly one
/// encoding. On an error nothing is appended.
pub fn decode_into(out: &mut Vec<u8>, text: &[u8]) -> Result<(), TextError> {
    let (groups, partial) = text.as_chunks::<4>();
    if !partial.is_empty() {
        let message = format!(
            "expected base64 in groups of four, got {} characters",
            text.len()
        );
        return Err(TextError::new(text.len(), message));
    }
    let Some((last, groups)) = groups.split_last() else {
        return Ok(());
    };
    let start = out.len();
    out.resize(start + groups.len() * 3, 0);
    let (_, bytes) = out.split_at_mut(start);
    if decode_groups(groups, bytes) & INVALID != 0 {
        out.truncate(start);
        return Err(first_bad(text));
    }
    if let Err(error) = decode_last(out, last) {
        out.truncate(start);
        return Err(error.moved(text.len() - 4));
    }
    Ok(())
}

#[allow(clippy::indexing_slicing, reason = "12 bits cannot leave the table")]
fn encode_six(six: [u8; 6]) -> [u8; 8] {
    let [a, b, c, d, e, f] = six;
    let bits = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    let pair = |shift: u32| PAIRS[(bits >> shift) as usize & 0xfff];
    let ([a, b], [c, d], [e, f], [g, h]) = (pair(36), pair(24), pair(12), pair(0));
    [a, b, c, d, e, f, g, h]
}

/// One to three bytes; the characters not needed keep the padding already in `four`.
#[allow(clippy::indexing_slicing, reason = "6 bits cannot leave the alphabet")]
fn encode_last(three: &[u8], four: &mut [u8; 4]) {
    let byte = |index: usize| three.get(index).copied().map_or(0, u32::from);
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (index, character) in four.iter_mut().enumerate().take(three.len() + 1) {
        *character = ALPHABET[(bits >> (18 - 6 * index)) as usize & 0x3f];
    }
}

/// Decodes whole groups without padding; the result has `INVALID` set when a character was bad.
fn decode_groups(groups: &[[u8; 4]], bytes: &mut [u8]) -> u32 {
    let mut seen = 0;
    let (fours, rest) = groups.as_chunks::<4>();
    let (twelves, bytes_rest) = bytes.split_at_mut(fours.len() * 12);
    for (four, twelve) in fours.iter().zip(twelves.as_chunks_mut::<12>().0) {
        let [a, b, c, d] = four.map(group_bits);
        seen |= a | b | c | d;
        // 96 bits as one 64-bit and one 32-bit store: half the time of twelve single bytes.
        let high = u64::from(a) << 40 | u64::from(b) << 16 | u64::from(c >> 8);
        let low = c << 24 | d;
        let [p, q, r, s, t, u, v, w] = high.to_be_bytes();
        let [x, y, z, last] = low.to_be_bytes();
        *twelve = [p, q, r, s, t, u, v, w, x, y, z, last];
    }
    for (group, three) in rest.iter().zip(bytes_rest.as_chunks_mut::<3>().0) {
        let bits = group_bits(*group);
        seen |= bits;
        let [_, a, b, c] = bits.to_be_bytes();
        *three = [a, b, c];
    }
    seen
}

#[allow(clippy::indexing_slicing, reason = "a byte cannot leave the table")]
fn group_bits(group: [u8; 4]) -> u32 {
    let [a, b, c, d] = group;
    PLACES[0][a as usize] | PLACES[1][b as usize] | PLACES[2][c as usize] | PLACES[3][d as usize]
}

/// The last group, which alone may be padded. Offsets of errors are within the group.
fn decode_last(out: &mut Vec<u8>, group: &[u8; 4]) -> Result<(), TextError> {
    let (kept, filled) = match group {
        [a, b, b'=', b'='] => (1, [*a, *b, b'A', b'A']),
        [a, b, c, b'='] => (2, [*a, *b, *c, b'A']),
        _ => (3, *group),
    };
    let bits = group_bits(filled);
    if bits & INVALID != 0 {
        return Err(first_bad(&filled));
    }
    let [_, bytes @ ..] = bits.to_be_bytes();
    let (value, unused) = bytes.split_at(kept);
    if unused.iter().any(|byte| *byte != 0) {
        return Err(TextError::new(
            kept,
            "expected zero bits before the base64 padding",
        ));
    }
    out.extend_from_slice(value);
    Ok(())
}

fn first_bad(text: &[u8]) -> TextError {
    let bad = |byte: &u8| !ALPHABET.contains(byte);
    TextError::expected(
        "a base64 character",
        text,
        text.iter().position(bad).unwrap_or(0),
    )
}

#[allow(clippy::indexing_slicing, reason = "evaluated when compiling")]
const fn pairs() -> [[u8; 2]; 4096] {
    let mut table = [[0; 2]; 4096];
    let mut index = 0;
    while index < 4096 {
        table[index] = [ALPHABET[index >> 6], ALPHABET[index & 0x3f]];
        index += 1;
    }
    table
}

#[allow(clippy::indexing_slicing, reason = "evaluated when compiling")]
const fn places() -> [[u32; 256]; 4] {
    let mut table = [[INVALID; 256]; 4];
    let mut place = 0;
    while place < 4 {
        let mut index = 0;
        while index < 64 {
            table[place][ALPHABET[index] as usize] = (index as u32) << (18 - 6 * place);
            index += 1;
        }
        place += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        encode_into(&mut out, bytes);
        String::from_utf8(out).unwrap()
    }

    fn decode(text: &str) -> Result<Vec<u8>, TextError> {
        let mut out = Vec::new();
        decode_into(&mut out, text.as_bytes()).map(|()| out)
    }

    /// RFC 4648 §10.
    #[test]
    fn vectors_of_the_rfc() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        let more = [("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")];
        for (bytes, text) in vectors.into_iter().chain(more) {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
    }

    #[test]
    fn refuses_what_is_not_base64() {
        for (text, at) in [
            ("Zg=", 3), // not whole groups
            ("Zg", 2),
            ("Z===", 1), // one character is no byte
            ("====", 0),
            ("Zh==", 1), // bits beyond the byte
            ("Zm9=", 2),
            ("Zm9vZg==Zm9v", 6), // padding inside
            ("Zm9v Zg=", 4),
            ("Zm9v\nZm9vZm9vZm9vZm9vZm9", 4),
            ("Zm9vZm9vZm9vZm9vZm9vZm-v", 22),
        ] {
            let error = decode(text).unwrap_err();
            assert_eq!(error.at, at, "{text:?}: {error}");
        }
    }

    #[test]
    fn appends_and_leaves_the_rest_alone_on_error() {
        let mut out = b"kept".to_vec();
        assert!(decode_into(&mut out, b"Zm9vYmFyZm9vYmF!").is_err());
        assert!(decode_into(&mut out, b"Zm9!YmFyZm9vYmFy").is_err());
        assert_eq!(out, b"kept");
        decode_into(&mut out, b"Zm9v").unwrap();
        encode_into(&mut out, b"foo");
        assert_eq!(out, b"keptfooZm9v");
    }

    proptest! {
        #[test]
        fn decodes_what_it_encodes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = encode(&bytes);
            prop_assert_eq!(text.len(), encoded_length(bytes.len()));
            prop_assert_eq!(decode(&text).unwrap(), bytes);
        }

        #[test]
        fn what_decodes_is_the_only_text_of_its_bytes(text in "[A-Za-z0-9+/=]{0,24}") {
            if let Ok(bytes) = decode(&text) {
                prop_assert_eq!(encode(&bytes), text);
            }
        }
    }
}
