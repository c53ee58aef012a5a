//! RFC 4518: the preparation of strings for comparison, tested through caseIgnoreMatch.

use crate::prelude::*;

/// Rows of section, words, statement, and a value and an assertion that are equal after
/// preparation.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// The reason why slapd differs in most clauses of this file.
const SLAPD: &str = "slapd normalises and folds case, but leaves out the map of RFC 4518 §2.2";

const SAME: &[Row] = &[
    (
        "2.2",
        "soft-hyphen",
        "SOFT HYPHEN is mapped to nothing.",
        "a\u{AD}b",
        "ab",
    ),
    (
        "2.2",
        "combining-grapheme-joiner",
        "COMBINING GRAPHEME JOINER is mapped to nothing.",
        "a\u{34F}b",
        "ab",
    ),
    (
        "2.2",
        "mongolian-soft-hyphen",
        "The Mongolian soft hyphen is mapped to nothing.",
        "a\u{1806}b",
        "ab",
    ),
    (
        "2.2",
        "mongolian-variation-selector",
        "Variation selectors are mapped to nothing.",
        "a\u{180B}b",
        "ab",
    ),
    (
        "2.2",
        "variation-selector",
        "Variation selectors are mapped to nothing.",
        "a\u{FE0F}b",
        "ab",
    ),
    (
        "2.2",
        "object-replacement",
        "OBJECT REPLACEMENT CHARACTER is mapped to nothing.",
        "a\u{FFFC}b",
        "ab",
    ),
    (
        "2.2",
        "zero-width-space",
        "ZERO WIDTH SPACE is mapped to nothing.",
        "a\u{200B}b",
        "ab",
    ),
    (
        "2.2",
        "zero-width-joiner",
        "Controls of format are mapped to nothing.",
        "a\u{200D}b",
        "ab",
    ),
    (
        "2.2",
        "word-joiner",
        "WORD JOINER is mapped to nothing.",
        "a\u{2060}b",
        "ab",
    ),
    (
        "2.2",
        "byte-order-mark",
        "ZERO WIDTH NO-BREAK SPACE is mapped to nothing.",
        "a\u{FEFF}b",
        "ab",
    ),
    (
        "2.2",
        "right-to-left-mark",
        "Marks of direction are mapped to nothing.",
        "a\u{200F}b",
        "ab",
    ),
    (
        "2.2",
        "control-characters",
        "Control characters are mapped to nothing.",
        "a\u{1}b",
        "ab",
    ),
    (
        "2.2",
        "delete-character",
        "DELETE is mapped to nothing.",
        "a\u{7F}b",
        "ab",
    ),
    (
        "2.2",
        "tab",
        "CHARACTER TABULATION is mapped to SPACE.",
        "a\tb",
        "a b",
    ),
    (
        "2.2",
        "line-feed",
        "LINE FEED is mapped to SPACE.",
        "a\nb",
        "a b",
    ),
    (
        "2.2",
        "carriage-return",
        "CARRIAGE RETURN is mapped to SPACE.",
        "a\rb",
        "a b",
    ),
    (
        "2.2",
        "next-line",
        "NEXT LINE is mapped to SPACE.",
        "a\u{85}b",
        "a b",
    ),
    (
        "2.2",
        "no-break-space",
        "NO-BREAK SPACE is mapped to SPACE.",
        "a\u{A0}b",
        "a b",
    ),
    (
        "2.2",
        "en-quad",
        "EN QUAD is mapped to SPACE.",
        "a\u{2000}b",
        "a b",
    ),
    (
        "2.2",
        "em-space",
        "EM SPACE is mapped to SPACE.",
        "a\u{2003}b",
        "a b",
    ),
    (
        "2.2",
        "line-separator",
        "LINE SEPARATOR is mapped to SPACE.",
        "a\u{2028}b",
        "a b",
    ),
    (
        "2.2",
        "ideographic-space",
        "IDEOGRAPHIC SPACE is mapped to SPACE.",
        "a\u{3000}b",
        "a b",
    ),
    (
        "2.2",
        "case-latin",
        "Case is folded: Latin.",
        "STRASSE",
        "strasse",
    ),
    (
        "2.2",
        "case-sharp-s",
        "Case is folded: sharp s is ss.",
        "Straße",
        "STRASSE",
    ),
    (
        "2.2",
        "case-greek",
        "Case is folded: Greek.",
        "ΑΘΗΝΑ",
        "αθηνα",
    ),
    (
        "2.2",
        "case-final-sigma",
        "Case is folded: both small sigmas.",
        "ΛΟΓΟΣ",
        "λογος",
    ),
    (
        "2.2",
        "case-cyrillic",
        "Case is folded: Cyrillic.",
        "МОСКВА",
        "москва",
    ),
    (
        "2.2",
        "case-armenian",
        "Case is folded: Armenian.",
        "ԲԱՐԵՎ",
        "բարեվ",
    ),
    (
        "2.3",
        "composed-and-decomposed",
        "Composed and decomposed letters are the same.",
        "e\u{301}",
        "\u{E9}",
    ),
    (
        "2.3",
        "angstrom-sign",
        "ANGSTROM SIGN is the letter.",
        "\u{212B}",
        "\u{E5}",
    ),
    (
        "2.3",
        "full-width-letters",
        "Full-width letters are letters.",
        "ＡＢＣ",
        "abc",
    ),
    (
        "2.3",
        "full-width-digits",
        "Full-width digits are digits.",
        "１２３",
        "123",
    ),
    (
        "2.3",
        "ligature",
        "A ligature is its letters.",
        "\u{FB01}n",
        "fin",
    ),
    (
        "2.3",
        "superscript",
        "A superscript digit is the digit.",
        "m\u{B2}",
        "m2",
    ),
    (
        "2.3",
        "roman-numeral",
        "A roman numeral is its letters.",
        "\u{2168}",
        "ix",
    ),
    (
        "2.3",
        "order-of-marks",
        "Marks are put into their order.",
        "a\u{323}\u{301}",
        "a\u{301}\u{323}",
    ),
    (
        "2.3",
        "hangul",
        "Hangul syllables and their letters are the same.",
        "한",
        "\u{1112}\u{1161}\u{11AB}",
    ),
    (
        "2.6.1",
        "leading-spaces",
        "Leading spaces do not count.",
        "   a",
        "a",
    ),
    (
        "2.6.1",
        "trailing-spaces",
        "Trailing spaces do not count.",
        "a   ",
        "a",
    ),
    (
        "2.6.1",
        "inner-spaces",
        "Several spaces inside are one.",
        "a    b",
        "a b",
    ),
    (
        "2.6.1",
        "spaces-of-the-assertion",
        "Spaces of the assertion are treated the same way.",
        "a b",
        "  a   b  ",
    ),
    (
        "2.6.1",
        "one-space-only",
        "A value of spaces is one of a space.",
        "  ",
        " ",
    ),
];

const DIFFERENT: &[Row] = &[
    (
        "2.2",
        "hyphen-stays",
        "A hyphen is a character.",
        "a-b",
        "ab",
    ),
    (
        "2.2",
        "apostrophe-stays",
        "An apostrophe is a character.",
        "a'b",
        "ab",
    ),
    ("2.3", "accent-stays", "An accent is not dropped.", "é", "e"),
    (
        "2.3",
        "umlaut-stays",
        "An umlaut is not two letters.",
        "ä",
        "ae",
    ),
    ("2.3", "dotless-i-stays", "Dotless i is not i.", "ı", "i"),
    (
        "2.3",
        "o-with-stroke-stays",
        "O with stroke is not o.",
        "ø",
        "o",
    ),
    (
        "2.6.1",
        "space-inside-stays",
        "A space inside counts.",
        "a b",
        "ab",
    ),
];

pub(crate) fn clauses(book: &mut Book) {
    for (rows, same) in [(SAME, true), (DIFFERENT, false)] {
        for (section, words, text, value, assertion) in rows {
            let mut section = book.section("rfc4518", section);
            let clause = section.clause(words, text, move |it| {
                let more = [("objectClass", "device"), ("description", *value)];
                it.put("cn=one", &more)?;
                let escaped: String = assertion.bytes().map(|it| format!("\\{it:02x}")).collect();
                it.finds(
                    &format!("(description={escaped})"),
                    if same { "one" } else { "" },
                )
            });
            if BEYOND_SLAPD.contains(words) {
                clause.slapd(SLAPD);
            }
        }
    }
    substrings(book);
}

const BEYOND_SLAPD: &[&str] = &[
    "soft-hyphen",
    "combining-grapheme-joiner",
    "mongolian-soft-hyphen",
    "variation-selector",
    "mongolian-variation-selector",
    "object-replacement",
    "zero-width-space",
    "zero-width-joiner",
    "word-joiner",
    "byte-order-mark",
    "right-to-left-mark",
    "control-characters",
    "delete-character",
    "tab",
    "line-feed",
    "carriage-return",
    "next-line",
    "line-separator",
    "case-sharp-s",
    "case-final-sigma",
    "roman-numeral",
];

/// §2.6.1 treats the pieces of substrings by their place.
fn substrings(book: &mut Book) {
    let mut section = book.section("rfc4518", "2.6.1");
    for (words, filter, matches) in [
        (
            "initial-with-leading-spaces",
            r"(description=\20\20the*)",
            true,
        ),
        (
            "final-with-trailing-spaces",
            r"(description=*programmer\20\20)",
            true,
        ),
        (
            "space-between-any",
            r"(description=*humble\20\20programmer*)",
            true,
        ),
        (
            "any-does-not-cross-words",
            "(description=*humbleprog*)",
            false,
        ),
        ("any-inside-a-word", "(description=*umbl*)", true),
        (
            "any-with-a-space-before",
            r"(description=*\20humble*)",
            true,
        ),
    ] {
        section.clause(
            format_args!("substring-{words}"),
            format_args!("`The humble programmer` and {filter}: {matches}."),
            move |it| {
                let value = "The humble programmer";
                it.put(
                    "cn=one",
                    &[("objectClass", "device"), ("description", value)],
                )?;
                it.finds(filter, if matches { "one" } else { "" })
            },
        );
    }
}
