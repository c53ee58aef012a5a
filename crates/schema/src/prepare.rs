//! String preparation (RFC 4518): map, normalise, prohibit, and handle insignificant spaces.
//!
//! Equality and ordering use a canonical form of spaces, none at the ends and one inside: it is at
//! most as long as that of RFC 4518 §2.6.1, and equal in the same cases. Substring matching uses
//! the RFC's form (one at each end, two inside), because there the number of spaces decides which
//! pieces may touch.
//!
//! Nearly all values are ASCII without runs of spaces; they are only folded and copied. Unassigned
//! code points are those of the Unicode version of the tables in use, not of Unicode 3.2.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{is_combining_mark, is_public_assigned};

use crate::matching::Position;

/// Whether upper and lower case are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Case is distinguished.
    Exact,
    /// Case is ignored, by Unicode case folding.
    Ignore,
}

/// Appends the prepared form for equality and ordering. A blank value is one space.
///
/// # Errors
/// The expected form, when the value is not UTF-8 or has a prohibited code point (RFC 4518 §2.4).
pub fn equality(value: &[u8], case: Case, out: &mut Vec<u8>) -> Result<(), &'static str> {
    prepare(value, case, &EQUALITY, out)
}

/// Appends the prepared form of a value in which pieces are searched. A blank value is two spaces.
///
/// # Errors
/// The errors of [`equality`].
pub fn for_pieces(value: &[u8], case: Case, out: &mut Vec<u8>) -> Result<(), &'static str> {
    prepare(value, case, &VALUE_OF_PIECES, out)
}

/// Appends the prepared form of one piece of a substring assertion. A blank piece is one space.
///
/// # Errors
/// The errors of [`equality`].
pub fn piece(
    value: &[u8],
    case: Case,
    position: Position,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let spaces = match position {
        Position::Initial => &INITIAL,
        Position::Any => &ANY,
        Position::Final => &FINAL,
    };
    prepare(value, case, spaces, out)
}

/// The treatment of the spaces at an end.
#[derive(PartialEq)]
enum End {
    /// No space is left.
    Drop,
    /// One space is left, or added if there was none.
    One,
    /// One space is left if there were any.
    Keep,
}

struct Spaces {
    lead: End,
    trail: End,
    inner: &'static [u8],
    blank: &'static [u8],
}

static EQUALITY: Spaces = Spaces {
    lead: End::Drop,
    trail: End::Drop,
    inner: b" ",
    blank: b" ",
};
static VALUE_OF_PIECES: Spaces = Spaces {
    lead: End::One,
    trail: End::One,
    inner: b"  ",
    blank: b"  ",
};
static INITIAL: Spaces = Spaces {
    lead: End::One,
    trail: End::Keep,
    inner: b"  ",
    blank: b" ",
};
static ANY: Spaces = Spaces {
    lead: End::Keep,
    trail: End::Keep,
    inner: b"  ",
    blank: b" ",
};
static FINAL: Spaces = Spaces {
    lead: End::Keep,
    trail: End::One,
    inner: b"  ",
    blank: b" ",
};

#[inline]
fn prepare(
    value: &[u8],
    case: Case,
    spaces: &Spaces,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    // One pass that the compiler can vectorise tests for octets besides visible ASCII.
    let mut high = 0;
    let mut special = value.is_empty();
    let mut spaced = false;
    for &byte in value {
        high |= byte;
        special |= byte < b' ' || byte == 0x7f;
        spaced |= byte == b' ';
    }
    if high >= 0x80 {
        let mapped = match map_inert(value, case) {
            Some(mapped) => mapped,
            None => map_unicode(value, case)?,
        };
        squeeze(mapped.into_iter(), spaces, out);
    } else if special || spaced && !(spaces.inner == b" " && is_single_spaced(value)) {
        let visible = value.iter().filter_map(|byte| map_ascii(*byte));
        match case {
            Case::Ignore => squeeze(visible.map(|byte| byte.to_ascii_lowercase()), spaces, out),
            Case::Exact => squeeze(visible, spaces, out),
        }
    } else {
        out.reserve(value.len() + 2);
        if spaces.lead == End::One {
            out.push(b' ');
        }
        let start = out.len();
        out.extend_from_slice(value);
        if case == Case::Ignore {
            out[start..].make_ascii_lowercase();
        }
        if spaces.trail == End::One {
            out.push(b' ');
        }
    }
    Ok(())
}

/// Returns whether spaces stand only between other octets, one at a time.
fn is_single_spaced(value: &[u8]) -> bool {
    let ends_visible = value.first() != Some(&b' ') && value.last() != Some(&b' ');
    let pairs = value.iter().zip(&value[1..]);
    ends_visible && !pairs.fold(false, |so_far, (a, b)| so_far | (*a == b' ' && *b == b' '))
}

/// Maps an ASCII octet (RFC 4518 §2.2): white-space controls to a space, other controls to nothing.
fn map_ascii(byte: u8) -> Option<u8> {
    match byte {
        0x09..=0x0d => Some(b' '),
        0x00..=0x1f | 0x7f => None,
        _ => Some(byte),
    }
}

/// Marks a significant space until `squeeze` has run: controls do not survive the mapping, so the
/// octet is free.
const SIGNIFICANT_SPACE: u8 = 0x1f;

/// Does the work of `map_unicode` for text of the most used scripts, twenty times as fast: its
/// letters are in normal form, and folded one by one. `None` for other text.
fn map_inert(value: &[u8], case: Case) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(value).ok()?;
    let mut mapped = Vec::with_capacity(value.len() + 2);
    for character in text.chars() {
        let folds = match character {
            ' '..='~' => {
                let byte = character as u8;
                mapped.push(if case == Case::Ignore {
                    byte.to_ascii_lowercase()
                } else {
                    byte
                });
                continue;
            }
            // Excluded are letters that NFKC changes (ĳ, ŀ, ŉ, ſ) or that fold irregularly (İ, ı).
            '\u{130}'..='\u{133}' | '\u{13f}' | '\u{140}' | '\u{149}' | '\u{17f}' => return None,
            'ß' if case == Case::Ignore => {
                mapped.extend_from_slice(b"ss");
                continue;
            }
            // Latin-1, Latin Extended-A, Cyrillic.
            '\u{c0}'..='\u{17e}' | '\u{400}'..='\u{45f}' => case == Case::Ignore,
            // Dashes and quotes, Kana, Han, Hangul: no case.
            '–' | '—' | '‘'..='„' => false,
            'ぁ'..='ゖ' | 'ァ'..='ヺ' | '\u{4e00}'..='\u{9fff}' | '가'..='힣' => false,
            _ => return None,
        };
        let folded = if folds {
            character.to_lowercase().next()?
        } else {
            character
        };
        mapped.extend_from_slice(folded.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Some(mapped)
}

fn map_unicode(value: &[u8], case: Case) -> Result<Vec<u8>, &'static str> {
    let text = std::str::from_utf8(value).map_err(|_| "expected UTF-8 text")?;
    let mut folded = String::with_capacity(text.len());
    // Text is decomposed first: then folding meets only base letters, and is idempotent.
    for character in text.nfkd().filter_map(map_character) {
        match case {
            Case::Exact => folded.push(character),
            Case::Ignore => folded.extend(fold(character)),
        }
    }
    let mut prepared = Vec::with_capacity(folded.len());
    let mut characters = folded.nfkc().peekable();
    while let Some(character) = characters.next() {
        if !is_public_assigned(character) || character == char::REPLACEMENT_CHARACTER {
            return Err("expected assigned Unicode characters");
        }
        // A space that carries a combining mark is a visible character (RFC 4518 §2.6.1).
        if character == ' '
            && characters
                .peek()
                .is_some_and(|next| is_combining_mark(*next))
        {
            prepared.push(SIGNIFICANT_SPACE);
        } else {
            prepared.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Ok(prepared)
}

/// Maps a character (RFC 4518 §2.2): invisible ones to nothing, every kind of white space to a
/// space.
fn map_character(character: char) -> Option<char> {
    match u32::from(character) {
        0x09..=0x0d | 0x20 | 0x85 | 0xa0 | 0x1680 | 0x2000..=0x200a => Some(' '),
        0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000 => Some(' '),
        0x00..=0x1f | 0x7f..=0x9f | 0xad | 0x034f | 0x06dd | 0x070f => None,
        0x1806 | 0x180b..=0x180e | 0x200b..=0x200f | 0x202a..=0x202e => None,
        0x2060..=0x2063 | 0x206a..=0x206f | 0xfe00..=0xfe0f | 0xfeff => None,
        0xfff9..=0xfffc | 0x1_d173..=0x1_d17a | 0xe_0001 | 0xe_0020..=0xe_007f => None,
        _ => Some(character),
    }
}

/// Folds case by lower, upper, lower: the round trip joins all spellings of a letter, such as ß, ẞ
/// and ss or the three sigmas. The dotless ı is kept, which the round trip would join with i.
fn fold(character: char) -> impl Iterator<Item = char> {
    let dotless = (character == 'ı').then_some(character);
    let folded = character
        .to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .filter(move |_| dotless.is_none());
    dotless.into_iter().chain(folded)
}

fn squeeze(prepared: impl Iterator<Item = u8>, spaces: &Spaces, out: &mut Vec<u8>) {
    let mut blank = true;
    let mut pending = false;
    for byte in prepared {
        if byte == b' ' {
            pending = true;
            continue;
        }
        if !blank && pending {
            out.extend_from_slice(spaces.inner);
        } else if blank && (spaces.lead == End::One || pending && spaces.lead == End::Keep) {
            out.push(b' ');
        }
        (blank, pending) = (false, false);
        out.push(if byte == SIGNIFICANT_SPACE {
            b' '
        } else {
            byte
        });
    }
    if blank {
        out.extend_from_slice(spaces.blank);
    } else if spaces.trail == End::One || pending && spaces.trail == End::Keep {
        out.push(b' ');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Result<&str, &str>) {
        let mut out = Vec::new();
        let found = equality(value.as_bytes(), Case::Ignore, &mut out);
        let found = found.map(|()| String::from_utf8(out).unwrap());
        assert_eq!(found.as_deref().map_err(|it| *it), expected, "{value:?}");
    }

    #[test]
    fn case_and_spaces() {
        check("Foo  BAR ", Ok("foo bar"));
        check("   ", Ok(" "));
        check("", Ok(" "));
        check("a\tb\r\nc", Ok("a b c"));
        check("a\u{0}b\u{7f}c", Ok("abc"));
        check("a\u{a0}\u{3000}b\u{2028}", Ok("a b"));
    }

    #[test]
    fn what_is_mapped_to_nothing() {
        check("co\u{ad}op", Ok("coop"));
        check("x\u{200b}y\u{feff}\u{fffc}z\u{34f}", Ok("xyz"));
        check("e\u{ad}\u{301}", Ok("é"));
    }

    #[test]
    fn unicode_folding() {
        check("STRASSE", Ok("strasse"));
        check("Straße", Ok("strasse"));
        check("STRAẞE", Ok("strasse"));
        check("ΣΊΣΥΦΟΣ", Ok("σίσυφοσ"));
        check("Σίσυφος", Ok("σίσυφοσ"));
        check("İ", Ok("i\u{307}"));
        check("ıI", Ok("ıi"));
        check("K Å", Ok("k å"));
        check("ﬁn Ⅷ ①", Ok("fin viii 1"));
        check("E\u{301}", Ok("é"));
        check("ǅ ŉ ᾳ", Ok("dž ʼn αι"));
        check("𝐀", Ok("a"));
    }

    #[test]
    fn prohibited() {
        let expected = Err("expected assigned Unicode characters");
        check("\u{e000}", expected);
        check("\u{fffd}", expected);
        check("\u{ffff}", expected);
        check("\u{378}", expected);
        let mut out = Vec::new();
        assert_eq!(
            equality(b"\xff", Case::Exact, &mut out),
            Err("expected UTF-8 text")
        );
    }

    #[test]
    fn a_space_with_a_mark_is_visible() {
        check(" \u{308}a", Ok(" \u{308}a"));
        check("a  \u{308}", Ok("a  \u{308}"));
        check("\u{a8}", Ok(" \u{308}"));
    }

    #[test]
    fn pieces_as_in_the_table_of_rfc_4518() {
        let cases = [
            ("", [" ", " ", " "]),
            (" ", [" ", " ", " "]),
            ("foo", [" foo", "foo", "foo "]),
            ("foo ", [" foo ", "foo ", "foo "]),
            (" foo", [" foo", " foo", " foo "]),
            ("foo  bar", [" foo  bar", "foo  bar", "foo  bar "]),
        ];
        for (given, expected) in cases {
            for (position, expected) in [Position::Initial, Position::Any, Position::Final]
                .into_iter()
                .zip(expected)
            {
                let mut out = Vec::new();
                piece(given.as_bytes(), Case::Exact, position, &mut out).unwrap();
                assert_eq!(
                    String::from_utf8(out).unwrap(),
                    expected,
                    "{given:?} {position:?}"
                );
            }
        }
        let mut out = Vec::new();
        for_pieces(b"foo bar  ", Case::Exact, &mut out).unwrap();
        assert_eq!(out, b" foo  bar ");
    }

    #[test]
    fn inert_letters_are_what_the_tables_say() {
        let mut inert = 0;
        for character in '\0'..=char::MAX {
            for case in [Case::Exact, Case::Ignore] {
                let text = character.to_string();
                if let Some(mapped) = map_inert(text.as_bytes(), case) {
                    inert += 1;
                    assert_eq!(
                        map_unicode(text.as_bytes(), case),
                        Ok(mapped),
                        "{text} {case:?}"
                    );
                }
            }
        }
        assert!(inert > 60_000);
    }

    proptest! {
        #[test]
        fn inert_text_is_what_the_tables_say(text in "[a-zÄ-žА-яァ-ヺ가-힣 ]{0,8}") {
            for case in [Case::Exact, Case::Ignore] {
                if let Some(mapped) = map_inert(text.as_bytes(), case) {
                    prop_assert_eq!(map_unicode(text.as_bytes(), case), Ok(mapped));
                }
            }
        }

        #[test]
        fn preparing_twice_changes_nothing(text in "\\PC{0,12}") {
            for case in [Case::Exact, Case::Ignore] {
                let (mut once, mut twice) = (Vec::new(), Vec::new());
                if equality(text.as_bytes(), case, &mut once).is_ok() {
                    equality(&once, case, &mut twice).unwrap();
                    prop_assert_eq!(&once, &twice);
                }
            }
        }

        #[test]
        fn ascii_needs_no_tables(text in "[ -~\\t]{0,12}") {
            let mut fast = Vec::new();
            equality(text.as_bytes(), Case::Ignore, &mut fast).unwrap();
            let mut slow = Vec::new();
            squeeze(map_unicode(text.as_bytes(), Case::Ignore).unwrap().into_iter(), &EQUALITY,
                &mut slow);
            prop_assert_eq!(fast, slow);
        }
    }
}
