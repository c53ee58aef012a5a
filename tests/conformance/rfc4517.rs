//! RFC 4517 §3.3: the values of each syntax.

use crate::prelude::*;

pub(crate) fn clauses(book: &mut Book) {
    for (section, syntax, attribute, good, bad) in SYNTAXES {
        syntax_clauses(book, section, syntax, attribute, good, bad);
    }
    octets_clauses(book);
    times(book);
}

/// Rows of section, words, attribute, values of the syntax, and texts that are none.
type Syntax = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const SYNTAXES: &[Syntax] = &[
    (
        "3.3.2",
        "bit-string",
        "x500UniqueIdentifier",
        &["'0101'B", "'1'B", "''B"],
        &["0101", "'012'B", "'01'", "'01'b0"],
    ),
    (
        "3.3.4",
        "country-string",
        "c",
        &["DE", "US"],
        &["D", "DEU", "é"],
    ),
    (
        "3.3.5",
        "delivery-method",
        "preferredDeliveryMethod",
        &["any", "mhs", "telephone $ videotex"],
        &["carrier-pigeon", "any $", "$ any"],
    ),
    (
        "3.3.6",
        "directory-string",
        "description",
        &["a", "two words", "Grüße, 世界", "𝛑"],
        &[""],
    ),
    (
        "3.3.9",
        "dn",
        "seeAlso",
        &["cn=x", "", "cn=a+sn=b,dc=example", r"cn=a\,b"],
        &["no name", "cn=a,,dc=b", "cn=a,", "noSuchType=x"],
    ),
    (
        "3.3.11",
        "facsimile-telephone-number",
        "facsimileTelephoneNumber",
        &[
            "+1 512 315 0280",
            "+1 2$twoDimensional",
            "+1 2$b4Width$uncompressed",
        ],
        &["+1 2$unknownParameter", ""],
    ),
    (
        "3.3.15",
        "ia5-string",
        "mail",
        &["a@example.com", "~ {}|"],
        &["é@example.com", "世界"],
    ),
    (
        "3.3.16",
        "integer",
        "uidNumber",
        &["0", "1", "-1", "1321", "2147483648"],
        &[
            "", "00", "01", "-0", "+1", "1.5", "1 000", "ten", "0x10", "-", "1e3", " 1",
        ],
    ),
    (
        "3.3.21",
        "name-and-optional-uid",
        "uniqueMember",
        &["cn=x,dc=example", "cn=x,dc=example#'0101'B"],
        &["no name", "cn=x,,dc=y"],
    ),
    (
        "3.3.23",
        "numeric-string",
        "x121Address",
        &["0", "15 079 672 281", "199412160532"],
        &["12a", "1-2", "é", ""],
    ),
    (
        "3.3.28",
        "postal-address",
        "postalAddress",
        &[
            "1234 Main St.$Anytown, CA 12345$USA",
            r"\241,000,000 Sweepstakes$PO Box 1000000",
            "x",
        ],
        &[""],
    ),
    (
        "3.3.29",
        "printable-string",
        "serialNumber",
        &["This is a PrintableString.", "A-z 0'9(),+/:?=", "x"],
        &["", "a@b", "a_b", "a*b", "é", "a;b", "\"", "a&b"],
    ),
    (
        "3.3.31",
        "telephone-number",
        "telephoneNumber",
        &["+1 512 315 0280", "+61 3 9896 7830"],
        &["", "é", "+1_2"],
    ),
    (
        "3.3.33",
        "telex-number",
        "telexNumber",
        &["12345$023$ABCDE"],
        &["12345", "12345$023", ""],
    ),
];

/// Returns the reason why slapd accepts a value outside of the syntax; `None` if it refuses.
fn excuse(syntax: &str, value: &str) -> Option<&'static str> {
    match (syntax, value) {
        ("postal-address", "") => Some("slapd takes an address of no lines"),
        ("telex-number" | "facsimile-telephone-number", it) if !it.is_empty() => {
            Some("slapd does not look inside values of this syntax")
        }
        _ => None,
    }
}

fn syntax_clauses(
    book: &mut Book,
    section: &'static str,
    syntax: &'static str,
    attribute: &'static str,
    good: &'static [&'static str],
    bad: &'static [&'static str],
) {
    let mut section = book.section_needing("rfc4517", section, &[Need::Type(attribute)]);
    for (at, value) in good.iter().enumerate() {
        section.clause(
            format_args!("{syntax}-has-value-{}", at + 1),
            format_args!("{value:?} is a value of the syntax of {attribute}, kept as it is."),
            move |it| {
                let name = anything(it, &[])?;
                it.modify(&name, &[Modification::replace(attribute, &[value])])?
                    .ok()?;
                let came = it.get(&name, &[attribute])?.value(attribute)?;
                match syntax {
                    // A name may be returned in another spelling.
                    "dn" => Ok(()),
                    _ => equal(came.as_str(), *value, attribute),
                }
            },
        );
    }
    for (at, value) in bad.iter().enumerate() {
        let clause = section.clause(
            format_args!("{syntax}-does-not-have-value-{}", at + 1),
            format_args!("{value:?} is none of {attribute}: invalidAttributeSyntax."),
            move |it| {
                let name = anything(it, &[])?;
                let outcome = it.modify(&name, &[Modification::replace(attribute, &[value])])?;
                outcome.is(ResultCode::INVALID_ATTRIBUTE_SYNTAX).map(|_| ())
            },
        );
        clause.slapd = excuse(syntax, value);
    }
}

/// Adds an entry that may have any attribute.
pub(crate) fn anything(it: &mut Case<'_>, more: &[(&str, &str)]) -> Result<String, Finding> {
    named(it, "one", more)
}

pub(crate) fn named(it: &mut Case<'_>, cn: &str, more: &[(&str, &str)]) -> Result<String, Finding> {
    let mut all = vec![
        ("objectClass", "device"),
        ("objectClass", "extensibleObject"),
    ];
    all.extend(more);
    it.put(&format!("cn={cn}"), &all)
}

fn octets_clauses(book: &mut Book) {
    let mut section = book.section("rfc4517", "3.3.6");
    let rows: [(&str, &str, &[u8]); 5] = [
        (
            "a-lone-continuation-octet",
            "a continuation octet alone",
            &[b'a', 0x80],
        ),
        ("a-cut-sequence", "a sequence that is cut", &[b'a', 0xC3]),
        ("an-overlong-form", "an overlong form", &[0xC0, 0xAF]),
        ("a-surrogate", "a surrogate", &[0xED, 0xA0, 0x80]),
        (
            "more-than-unicode",
            "a code point beyond U+10FFFF",
            &[0xF4, 0x90, 0x80, 0x80],
        ),
    ];
    for (words, what, bytes) in rows {
        let clause = section.clause(
            format_args!("directory-string-without-{words}"),
            format_args!("Octets with {what} are no UTF-8: invalidAttributeSyntax."),
            move |it| {
                let name = anything(it, &[])?;
                let mut change = Modification::replace("description", &[]);
                change.values.push(bytes.to_vec());
                let outcome = it.modify(&name, &[change])?;
                outcome.is(ResultCode::INVALID_ATTRIBUTE_SYNTAX).map(|_| ())
            },
        );
        if ["a-surrogate", "more-than-unicode"].contains(&words) {
            clause.slapd("slapd knows the older UTF-8, which reaches further");
        }
    }
    let mut section = book.section("rfc4517", "3.3.25");
    section.clause(
        "octet-string-has-any-octets",
        "An octet string takes any octets and returns them.",
        |it| {
            let name = anything(it, &[])?;
            let all: Vec<u8> = (0..=255).collect();
            let mut change = Modification::replace("jpegPhoto", &[]);
            // These are the first octets of a JPEG file, which slapd checks.
            let photo = [&[0xFF, 0xD8, 0xFF, 0xE0][..], &all].concat();
            change.values.push(photo.clone());
            it.modify(&name, &[change])?.ok()?;
            let entry = it.get(&name, &["jpegPhoto"])?;
            equal(entry.values("jpegPhoto"), &[photo][..], "the octets")
        },
    );
}

fn times(book: &mut Book) {
    let mut section = book.section("rfc4517", "3.3.13");
    let good = [
        ("seconds", "20200101000000Z"),
        ("minutes", "202001010000Z"),
        ("hours", "2020010100Z"),
        ("fraction-with-point", "20200101000000.5Z"),
        ("fraction-with-comma", "20200101000000,25Z"),
        ("offset-in-hours", "20200101000000+01"),
        ("offset-in-minutes", "20200101000000-0130"),
        ("leap-second", "20161231235960Z"),
        ("leap-day", "20200229000000Z"),
    ];
    for (words, time) in good {
        section.clause(
            format_args!("generalized-time-with-{words}"),
            format_args!("{time} is a time."),
            move |it| {
                anything(it, &[])?;
                it.finds(&format!("(&(cn=*)(createTimestamp>={time}))"), "one")
            },
        );
    }
    let bad = [
        ("no-zone", "20200101000000"),
        ("month-13", "20201301000000Z"),
        ("month-0", "20200001000000Z"),
        ("day-32", "20200132000000Z"),
        ("day-0", "20200100000000Z"),
        ("hour-24", "20200101240000Z"),
        ("minute-60", "20200101006000Z"),
        ("second-61", "20200101000061Z"),
        ("day-only", "20200101Z"),
        ("empty-fraction", "20200101000000.Z"),
        ("small-z", "20200101000000z"),
        ("offset-of-one-digit", "20200101000000+1"),
        ("leap-day-of-a-common-year", "20210229000000Z"),
        ("words", "yesterday"),
        ("space-inside", "20200101 000000Z"),
    ];
    for (words, time) in bad {
        section.clause(
            format_args!("no-generalized-time-with-{words}"),
            format_args!("{time} is no time: Undefined, and so is its negation."),
            move |it| {
                anything(it, &[])?;
                it.finds(&format!("(&(cn=*)(createTimestamp>={time}))"), "")?;
                it.finds(&format!("(&(cn=*)(!(createTimestamp>={time})))"), "")
            },
        );
    }
    let mut section = book.section("rfc4517", "4.2.16");
    section.clause(
        "generalized-time-match-is-of-instants",
        "Two ways of writing one instant are equal.",
        |it| {
            let name = anything(it, &[])?;
            let time = it
                .get(&name, &["createTimestamp"])?
                .value("createTimestamp")?;
            let seconds = time.get(..14).unwrap_or_default();
            let rest = time.get(14..).unwrap_or_default().trim_end_matches('Z');
            it.finds(
                &format!("(&(cn=*)(createTimestamp={seconds}{rest}+0000))"),
                "one",
            )
        },
    );
}
