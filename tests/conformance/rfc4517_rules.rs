//! RFC 4517 §4.2: the values that each matching rule treats as equal.

use crate::prelude::*;
use crate::rfc4517::{anything, named};

pub(crate) fn clauses(book: &mut Book) {
    for rows in [TEXT_RULES, OTHER_RULES, PARTS] {
        rules(book, rows);
    }
    first_components(book);
    booleans(book);
}

/// Rows of section, words, attribute, value, filter, and whether it matches.
type Rule = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    bool,
);

const TEXT_RULES: &[Rule] = &[
    (
        "4.2.11",
        "case-ignore",
        "description",
        "Wrote It",
        "(description=wrote it)",
        true,
    ),
    (
        "4.2.11",
        "case-ignore-other-letters",
        "description",
        "Wrote It",
        "(description=wrote i)",
        false,
    ),
    (
        "4.2.11",
        "case-ignore-umlauts",
        "description",
        "ÄÖÜ",
        "(description=äöü)",
        true,
    ),
    (
        "4.2.11",
        "case-ignore-accent-counts",
        "description",
        "resume",
        "(description=résumé)",
        false,
    ),
    (
        "4.2.11",
        "case-ignore-spaces",
        "description",
        "  a   b ",
        "(description=a b)",
        true,
    ),
    (
        "4.2.11",
        "case-ignore-no-space",
        "description",
        "a b",
        "(description=ab)",
        false,
    ),
    (
        "4.2.4",
        "case-exact",
        "labeledURI",
        "http://x/Ada",
        "(labeledURI=http://x/Ada)",
        true,
    ),
    (
        "4.2.4",
        "case-exact-case-counts",
        "labeledURI",
        "http://x/Ada",
        "(labeledURI=http://x/ada)",
        false,
    ),
    (
        "4.2.4",
        "case-exact-spaces",
        "labeledURI",
        "http://x/Ada  label",
        "(labeledURI=http://x/Ada label)",
        true,
    ),
    (
        "4.2.7",
        "case-ignore-ia5",
        "mail",
        "Ada@Example.COM",
        "(mail=ada@example.com)",
        true,
    ),
    (
        "4.2.7",
        "case-ignore-ia5-other",
        "mail",
        "ada@example.com",
        "(mail=ada@example.org)",
        false,
    ),
    (
        "4.2.3",
        "case-exact-ia5",
        "homeDirectory",
        "/home/Ada",
        "(homeDirectory=/home/Ada)",
        true,
    ),
    (
        "4.2.3",
        "case-exact-ia5-case-counts",
        "homeDirectory",
        "/home/Ada",
        "(homeDirectory=/home/ada)",
        false,
    ),
    (
        "4.2.9",
        "case-ignore-list",
        "postalAddress",
        "Main St$Anytown",
        "(postalAddress=main st$ANYTOWN)",
        true,
    ),
    (
        "4.2.9",
        "case-ignore-list-other-lines",
        "postalAddress",
        "Main St$Anytown",
        "(postalAddress=main st anytown)",
        false,
    ),
    (
        "4.2.9",
        "case-ignore-list-order-counts",
        "postalAddress",
        "a$b",
        "(postalAddress=b$a)",
        false,
    ),
    (
        "4.2.9",
        "case-ignore-list-number-counts",
        "postalAddress",
        "a$b",
        "(postalAddress=a)",
        false,
    ),
    (
        "4.2.12",
        "ordering-greater",
        "dnQualifier",
        "m",
        "(dnQualifier>=B)",
        true,
    ),
    (
        "4.2.12",
        "ordering-equal",
        "dnQualifier",
        "m",
        "(dnQualifier>=M)",
        true,
    ),
    (
        "4.2.12",
        "ordering-less",
        "dnQualifier",
        "m",
        "(dnQualifier>=x)",
        false,
    ),
    (
        "4.2.12",
        "ordering-less-or-equal",
        "dnQualifier",
        "m",
        "(dnQualifier<=X)",
        true,
    ),
];

const OTHER_RULES: &[Rule] = &[
    (
        "4.2.1",
        "bit-string",
        "x500UniqueIdentifier",
        "'0101'B",
        "(x500UniqueIdentifier='0101'B)",
        true,
    ),
    (
        "4.2.1",
        "bit-string-leading-zeros-count",
        "x500UniqueIdentifier",
        "'0101'B",
        "(x500UniqueIdentifier='101'B)",
        false,
    ),
    (
        "4.2.15",
        "dn-spaces-and-case",
        "seeAlso",
        "cn=Ada,dc=example",
        "(seeAlso=CN = ada , DC=EXAMPLE)",
        true,
    ),
    (
        "4.2.15",
        "dn-oid",
        "seeAlso",
        "cn=Ada,dc=example",
        "(seeAlso=2.5.4.3=ada,dc=example)",
        true,
    ),
    (
        "4.2.15",
        "dn-order-counts",
        "seeAlso",
        "cn=a,cn=b",
        "(seeAlso=cn=b,cn=a)",
        false,
    ),
    (
        "4.2.15",
        "dn-superior-is-not-equal",
        "seeAlso",
        "cn=a,dc=b",
        "(seeAlso=dc=b)",
        false,
    ),
    (
        "4.2.15",
        "dn-values-of-an-rdn-in-any-order",
        "seeAlso",
        "cn=a+sn=b,dc=c",
        "(seeAlso=sn=B+cn=A,dc=c)",
        true,
    ),
    (
        "4.2.15",
        "dn-part-of-an-rdn-is-not-equal",
        "seeAlso",
        "cn=a+sn=b",
        "(seeAlso=cn=a)",
        false,
    ),
    (
        "4.2.15",
        "dn-escapes",
        "seeAlso",
        r"cn=a\,b",
        r"(seeAlso=cn=a\5c2cb)",
        true,
    ),
    (
        "4.2.19",
        "integer",
        "uidNumber",
        "1000",
        "(uidNumber=1000)",
        true,
    ),
    (
        "4.2.19",
        "integer-other",
        "uidNumber",
        "1000",
        "(uidNumber=100)",
        false,
    ),
    (
        "4.2.19",
        "integer-sign-counts",
        "uidNumber",
        "-5",
        "(uidNumber=5)",
        false,
    ),
    (
        "4.2.20",
        "integer-ordering-by-value",
        "uidNumber",
        "1000",
        "(uidNumber>=999)",
        true,
    ),
    (
        "4.2.20",
        "integer-ordering-negative",
        "uidNumber",
        "-5",
        "(uidNumber<=-4)",
        true,
    ),
    (
        "4.2.20",
        "integer-ordering-less",
        "uidNumber",
        "5",
        "(uidNumber>=10)",
        false,
    ),
    (
        "4.2.22",
        "numeric-spaces-do-not-count",
        "x121Address",
        "12 34",
        "(x121Address=1234)",
        true,
    ),
    (
        "4.2.22",
        "numeric-other",
        "x121Address",
        "1234",
        "(x121Address=123)",
        false,
    ),
    (
        "4.2.26",
        "oid-name",
        "objectClass",
        "uidObject",
        "(objectClass=1.3.6.1.1.3.1)",
        true,
    ),
    (
        "4.2.29",
        "telephone-spaces",
        "telephoneNumber",
        "+49 30 1234",
        "(telephoneNumber=+49301234)",
        true,
    ),
    (
        "4.2.29",
        "telephone-hyphens",
        "telephoneNumber",
        "+49-30-1234",
        "(telephoneNumber=+49 301234)",
        true,
    ),
    (
        "4.2.29",
        "telephone-other",
        "telephoneNumber",
        "+49 30 1234",
        "(telephoneNumber=+49301235)",
        false,
    ),
    (
        "4.2.31",
        "unique-member",
        "uniqueMember",
        "cn=A,dc=b",
        "(uniqueMember=CN=a,dc=B)",
        true,
    ),
    (
        "4.2.31",
        "unique-member-with-uid",
        "uniqueMember",
        "cn=a#'01'B",
        "(uniqueMember=cn=A#'01'B)",
        true,
    ),
    (
        "4.2.31",
        "unique-member-other-uid",
        "uniqueMember",
        "cn=a#'01'B",
        "(uniqueMember=cn=a#'10'B)",
        false,
    ),
];

const PARTS: &[Rule] = &[
    (
        "4.2.13",
        "case-ignore-substrings",
        "description",
        "The humble Programmer",
        "(description=the*PROGRAMMER)",
        true,
    ),
    (
        "4.2.13",
        "case-ignore-substrings-over-spaces",
        "description",
        "a   b",
        "(description=*a b*)",
        true,
    ),
    (
        "4.2.8",
        "ia5-substrings",
        "mail",
        "Ada@Example.com",
        "(mail=ada@*)",
        true,
    ),
    (
        "4.2.8",
        "ia5-substrings-final",
        "mail",
        "Ada@Example.com",
        "(mail=*EXAMPLE.com)",
        true,
    ),
    (
        "4.2.10",
        "list-substrings",
        "postalAddress",
        "Main St$Anytown",
        "(postalAddress=*anyt*)",
        true,
    ),
    (
        "4.2.10",
        "list-substrings-initial",
        "postalAddress",
        "Main St$Anytown",
        "(postalAddress=main*)",
        true,
    ),
    (
        "4.2.24",
        "numeric-substrings",
        "x121Address",
        "12 34 56",
        "(x121Address=*345*)",
        true,
    ),
    (
        "4.2.24",
        "numeric-substrings-initial",
        "x121Address",
        "12 34",
        "(x121Address=123*)",
        true,
    ),
    (
        "4.2.30",
        "telephone-substrings",
        "telephoneNumber",
        "+49 30 123-4567",
        "(telephoneNumber=*1234*)",
        true,
    ),
    (
        "4.2.30",
        "telephone-substrings-final",
        "telephoneNumber",
        "+49 30 12-34",
        "(telephoneNumber=*1234)",
        true,
    ),
];

fn rules(book: &mut Book, rows: &'static [Rule]) {
    for (section, words, attribute, value, filter, matches) in rows {
        let mut section = book.section_needing("rfc4517", section, &[Need::Type(attribute)]);
        let verb = if *matches {
            "matches"
        } else {
            "does not match"
        };
        section.clause(
            format_args!("match-{words}"),
            format_args!("{attribute}: {value} {verb} {filter}."),
            move |it| {
                let more = match *attribute {
                    "objectClass" => vec![("objectClass", *value), ("uid", "u")],
                    _ => vec![(*attribute, *value)],
                };
                anything(it, &more)?;
                named(it, "other", &[])?;
                it.finds(
                    &format!("(&(cn=*){filter})"),
                    if *matches { "one" } else { "" },
                )
            },
        );
    }
}

fn first_components(book: &mut Book) {
    let mut section = book.section("rfc4517", "4.2.26");
    for (words, filter) in [
        ("attribute-types-by-oid", "(attributeTypes=2.5.4.3)"),
        ("attribute-types-by-name", "(attributeTypes=cn)"),
        ("object-classes-by-oid", "(objectClasses=2.5.6.6)"),
        ("object-classes-by-name", "(objectClasses=person)"),
        ("matching-rules-by-oid", "(matchingRules=2.5.13.2)"),
        (
            "ldap-syntaxes-by-oid",
            "(ldapSyntaxes=1.3.6.1.4.1.1466.115.121.1.15)",
        ),
    ] {
        section.clause(
            format_args!("first-component-{words}"),
            format_args!("The subschema entry matches {filter}."),
            move |it| {
                let mut session = it.session()?;
                let select = ["subschemaSubentry"];
                let root = session
                    .search("", Scope::BaseObject, EVERYTHING, &select)?
                    .one()?;
                let name = root.value("subschemaSubentry")?;
                session
                    .search(&name, Scope::BaseObject, filter, &["1.1"])?
                    .one()
                    .map(|_| ())
            },
        );
    }
    let clause = section.clause(
        "unknown-oid-is-not-undefined",
        "That a class of an unknown OID is not there is true, not Undefined.",
        |it| {
            named(it, "other", &[])?;
            it.finds("(&(cn=*)(!(objectClass=1.2.3.4.5)))", "other")
        },
    );
    clause.slapd("slapd takes it for Undefined, which §4.2.26 has for unknown names only");
}

fn booleans(book: &mut Book) {
    let mut section = book.section_needing("rfc4517", "4.2.2", &[Need::Type("hasSubordinates")]);
    for (words, filter, expected) in [
        ("true", "(&(cn=*)(hasSubordinates=TRUE))", ""),
        ("false", "(&(cn=*)(hasSubordinates=FALSE))", "one"),
        (
            "small-letters-are-none",
            "(&(cn=*)(!(hasSubordinates=true)))",
            "",
        ),
        ("digits-are-none", "(&(cn=*)(!(hasSubordinates=1)))", ""),
    ] {
        section.clause(
            format_args!("boolean-match-{words}"),
            format_args!("{filter} selects {expected:?} where the entry has nothing below it."),
            move |it| {
                anything(it, &[])?;
                it.finds(filter, expected)
            },
        );
    }
}
