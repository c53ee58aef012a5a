//! RFC 4511 §4.5.1.7 with RFC 4515 and RFC 4526: filters and their three truth values.

use crate::prelude::*;

use crate::rfc4511_search::people;

/// Rows of standard, section, words, statement, filter, and the people that match.
pub(crate) type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

pub(crate) fn clauses(book: &mut Book) {
    for rows in [LOGIC, UNDEFINED] {
        table(book, rows);
    }
    texts(book);
}

pub(crate) fn table(book: &mut Book, rows: &'static [Row]) {
    for (standard, section, words, text, filter, expected) in rows {
        let mut section = book.section(standard, section);
        let clause = section.clause(words, text, move |it| {
            people(it)?;
            it.finds(filter, expected)
        });
        if *standard == "rfc4526" {
            clause.needs(Need::Feature(oid::TRUE_FALSE_FILTERS));
        }
        if filter.contains("~=") {
            clause.needs(Need::Rule("2.5.13.2"));
        }
    }
}

const LOGIC: &[Row] = &[
    (
        "rfc4511",
        "4.5.1.7",
        "and-of-true-and-true",
        "True and True is True.",
        "(&(uid=ada)(sn=ada))",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "and-of-true-and-false",
        "True and False is False.",
        "(&(uid=ada)(sn=grace))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "or-of-false-and-true",
        "False or True is True.",
        "(|(uid=nobody)(sn=grace))",
        "grace",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "or-of-false-and-false",
        "False or False is False.",
        "(|(uid=nobody)(sn=nobody))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "not-of-true",
        "not True is False.",
        "(&(uid=*)(!(uid=*)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "not-of-false",
        "not False is True.",
        "(&(uid=*)(!(uid=ada)))",
        "edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "not-of-an-absent-attribute",
        "An absent attribute is False; not is True.",
        "(&(uid=*)(!(description=*)))",
        "grace",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "not-of-a-value-of-an-absent-attribute",
        "An assertion on an absent attribute is False; not is True.",
        "(&(uid=*)(!(description=Wrote*)))",
        "edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "and-of-one",
        "An and of one filter is that filter.",
        "(&(uid=ada))",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "or-of-one",
        "An or of one filter is that filter.",
        "(|(uid=ada))",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "not-of-not",
        "not not True is True.",
        "(!(!(uid=ada)))",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "nested",
        "Filters nest.",
        "(|(&(uid=ada)(|(sn=x)(sn=ada)))(&(uid=grace)(!(sn=grace))))",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "or-of-many",
        "An or may have many parts.",
        "(|(uid=a)(uid=b)(uid=c)(uid=d)(uid=e)(uid=f)(uid=g)(uid=h)(uid=grace)(uid=j))",
        "grace",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "de-morgan",
        "not of or is and of nots.",
        "(&(uid=*)(!(|(uid=ada)(uid=grace))))",
        "edsger",
    ),
    (
        "rfc4526",
        "2",
        "empty-and-is-true",
        "(&) is True.",
        "(&(uid=*)(&))",
        "ada edsger grace",
    ),
    (
        "rfc4526",
        "2",
        "empty-or-is-false",
        "(|) is False.",
        "(|)",
        "",
    ),
    (
        "rfc4526",
        "2",
        "not-of-empty-or-is-true",
        "(!(|)) is True.",
        "(&(uid=*)(!(|)))",
        "ada edsger grace",
    ),
    (
        "rfc4526",
        "2",
        "not-of-empty-and-is-false",
        "(!(&)) is False.",
        "(!(&))",
        "",
    ),
];

const UNDEFINED: &[Row] = &[
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-unknown-type",
        "An unknown type is Undefined and selects nothing.",
        "(noSuchType=x)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-unknown-type-negated",
        "Nor does its negation.",
        "(!(noSuchType=x))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-presence-negated",
        "not of the presence of an unknown type.",
        "(&(uid=*)(!(noSuchType=*)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-and-true",
        "Undefined and True is Undefined.",
        "(&(uid=*)(!(&(noSuchType=x)(uid=*))))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-and-false",
        "Undefined and False is False: not is True.",
        "(&(uid=*)(!(&(noSuchType=x)(uid=nobody))))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-or-true",
        "Undefined or True is True.",
        "(|(noSuchType=x)(uid=ada))",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-or-false",
        "Undefined or False is Undefined: not as well.",
        "(&(uid=*)(!(|(noSuchType=x)(uid=nobody))))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-bad-assertion",
        "A value that is none of the syntax is Undefined.",
        "(seeAlso=no name)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-bad-assertion-negated",
        "So is its negation.",
        "(&(uid=*)(!(seeAlso=no name)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-no-ordering",
        "An ordering of a type without one is Undefined.",
        "(&(uid=*)(!(seeAlso>=dc=example)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-no-substrings",
        "Substrings of a type without them: Undefined.",
        "(&(uid=*)(!(seeAlso=*example*)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-unknown-rule",
        "An unknown matching rule is Undefined.",
        "(cn:1.2.3.4.5:=ada)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-unknown-rule-negated",
        "So is its negation.",
        "(&(uid=*)(!(cn:1.2.3.4.5:=ada)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-unknown-type-greater",
        "An ordering of an unknown type.",
        "(&(uid=*)(!(noSuchType>=x)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-unknown-type-substrings",
        "Substrings of an unknown type.",
        "(&(uid=*)(!(noSuchType=x*)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-unknown-type-approximate",
        "An approximate match of one.",
        "(&(uid=*)(!(noSuchType~=x)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-twice-negated",
        "not not Undefined is Undefined.",
        "(!(!(noSuchType=x)))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7",
        "undefined-in-or-of-undefined",
        "Undefined or Undefined selects nothing.",
        "(|(noSuchType=x)(otherType=y))",
        "",
    ),
];

fn texts(book: &mut Book) {
    let mut section = book.section("rfc4515", "3");
    let rows = [
        ("asterisk", r"a*b", r"(description=a\2ab)"),
        ("left-parenthesis", "a(b", r"(description=a\28b)"),
        ("right-parenthesis", "a)b", r"(description=a\29b)"),
        ("backslash", r"a\b", r"(description=a\5cb)"),
        ("upper-case-digits", r"a\b", r"(description=a\5Cb)"),
        (
            "any-octet-may-be-escaped",
            "abc",
            r"(description=\61\62\63)",
        ),
        ("asterisk-in-substrings", "x*y", r"(description=*\2a*)"),
        ("utf8-plain", "Lučić", "(description=LUČIĆ)"),
        ("utf8-escaped", "Lučić", r"(description=Lu\c4\8di\c4\87)"),
        ("space-inside", "two words", "(description=two words)"),
        ("equals-sign-inside", "a=b", "(description=a=b)"),
        ("ampersand-inside", "a&b|c!d", "(description=a&b|c!d)"),
        (
            "slash-and-colon-inside",
            "ldap://x:1",
            "(description=ldap://x:1)",
        ),
    ];
    for (words, value, filter) in rows {
        section.clause(
            format_args!("value-with-{words}"),
            format_args!("{filter} asserts {value:?}."),
            move |it| {
                it.person("one", &[("description", value)])?;
                it.person("other", &[("description", "another value")])?;
                it.finds(filter, "one")
            },
        );
    }
}
