//! Phonetic keys of words, for approximate matching.

use std::borrow::Cow;

use rphonetic::{DoubleMetaphone, Encoder};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::prepare::{self, Case};

/// Letters of a key at most: longer keys distinguish nothing more, and index keys stay short.
const KEY_LETTERS_MAX: usize = 6;

/// Letters of a word that are encoded at most: no word is longer, and the encoder's time grows with
/// its input.
const WORD_LETTERS_MAX: usize = 64;

/// Words of a value that are encoded at most: a text of megabytes must not stop a search.
const WORDS_MAX: usize = 64;

/// Returns one key for each word of a value, in order: its double metaphone (primary) code. Words
/// of other scripts and numbers, which have no such code, are their own keys.
///
/// Both the filter and the approximate index use these keys, so they agree on what sounds alike.
pub fn phonetic_key(value: &[u8]) -> Vec<Vec<u8>> {
    let mut prepared = Vec::with_capacity(value.len());
    if prepare::equality(value, Case::Ignore, &mut prepared).is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&prepared);
    let words = text.split(|character: char| !character.is_alphanumeric() && !is_mark(character));
    words
        .filter(|word| !word.is_empty())
        .take(WORDS_MAX)
        .map(key_of_word)
        .collect()
}

/// Returns whether a character is an apostrophe or accent, which belongs to the word.
fn is_mark(character: char) -> bool {
    character == '\'' || character == '’' || is_combining_mark(character)
}

fn key_of_word(word: &str) -> Vec<u8> {
    let plain: Cow<'_, str> = if word.is_ascii() {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(
            word.nfd()
                .filter(|character| !is_combining_mark(*character))
                .collect(),
        )
    };
    let letters: String = plain
        .chars()
        .filter(|character| character.is_alphanumeric())
        .take(WORD_LETTERS_MAX)
        .collect();
    // The encoder slices at octets, so its input must be ASCII.
    if !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return letters.into_bytes();
    }
    let code = DoubleMetaphone::new(Some(KEY_LETTERS_MAX)).encode(&letters);
    if code.is_empty() {
        letters.into_bytes()
    } else {
        code.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, alike: bool) {
        assert_eq!(
            phonetic_key(one.as_bytes()) == phonetic_key(other.as_bytes()),
            alike
        );
    }

    #[test]
    fn what_sounds_alike() {
        check("Smith", "Smyth", true);
        check("Jon Nelson", "john  nelsen", true);
        check("Catherine", "Kathryn", true);
        check("José", "Jose", true);
        check("O'Brien", "OBrien", true);
        check("Иван", "ИВАН", true);
        check("Room 12", "Room 12", true);
        check("Room 12", "Room 13", false);
        check("Smith", "Jones", false);
        assert_eq!(phonetic_key(b"\xff"), Vec::<Vec<u8>>::new());
        assert_eq!(phonetic_key(b" - "), Vec::<Vec<u8>>::new());
        assert_eq!(phonetic_key(b"hue"), phonetic_key(b"HUE"));
    }

    proptest! {
        #[test]
        fn takes_any_text(text in "\\PC{0,20}", letters in "[a-z]{0,80}") {
            phonetic_key(text.as_bytes());
            phonetic_key(letters.as_bytes());
        }
    }
}
