//! RFC 4511 §4.5.1.7.1 to §4.5.1.7.7: the kinds of filters.

use crate::prelude::*;
use crate::rfc4515::{Row, table};

pub(crate) fn clauses(book: &mut Book) {
    table(book, KINDS);
    table(book, EXTENSIBLE);
    malformed(book);
}

const KINDS: &[Row] = &[
    (
        "rfc4511",
        "4.5.1.7.1",
        "equality",
        "equalityMatch by the equality rule.",
        "(cn=ADA)",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7.1",
        "equality-any-value",
        "Any value of the attribute may match.",
        "(description=the humble programmer)",
        "edsger",
    ),
    (
        "rfc4511",
        "4.5.1.7.1",
        "equality-is-not-part",
        "A part of a value is not equal.",
        "(description=humble)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.1",
        "equality-of-a-supertype",
        "A supertype stands for its subtypes.",
        "(&(uid=*)(name=Edsger))",
        "edsger",
    ),
    (
        "rfc4511",
        "4.5.1.7.1",
        "equality-by-oid",
        "The type may be an OID.",
        "(2.5.4.42=Ada)",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7.1",
        "equality-by-other-name",
        "The type may be any of its names.",
        "(surname=grace)",
        "grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.1",
        "object-class-of-a-superclass",
        "An entry belongs to superclasses too.",
        "(&(uid=*)(objectClass=person))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.1",
        "object-class-by-oid",
        "A class may be given by its OID.",
        "(&(uid=ada)(objectClass=2.16.840.1.113730.3.2.2))",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "initial",
        "An initial substring.",
        "(cn=ed*)",
        "edsger",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "final",
        "A final substring.",
        "(cn=*DA)",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "any",
        "A substring anywhere.",
        "(cn=*ra*)",
        "grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "initial-any-final",
        "All three, in order.",
        "(cn=e*g*r)",
        "edsger",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "several-any",
        "Several in order.",
        "(cn=*d*g*)",
        "edsger",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "order-matters",
        "Out of order is no match.",
        "(cn=*g*d*)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "pieces-do-not-overlap",
        "Pieces may not overlap.",
        "(cn=ad*da)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "initial-is-the-beginning",
        "initial is not anywhere.",
        "(cn=da*)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "final-is-the-end",
        "final is not anywhere.",
        "(cn=*ad)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "whole-value-as-pieces",
        "Pieces may make up the whole.",
        "(cn=ed*sger)",
        "edsger",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "pieces-in-one-value",
        "All pieces match in the same value.",
        "(description=goto*programmer)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.2",
        "substrings-of-a-supertype",
        "A supertype stands for its subtypes.",
        "(&(uid=*)(name=eds*))",
        "edsger",
    ),
    (
        "rfc4511",
        "4.5.1.7.3",
        "greater-or-equal",
        "greaterOrEqual by the ordering rule.",
        "(&(uid=*)(createTimestamp>=20200101000000Z))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.3",
        "greater-is-not-less",
        "What is less does not match.",
        "(&(uid=*)(createTimestamp>=29990101000000Z))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.4",
        "less-or-equal",
        "lessOrEqual by the ordering rule.",
        "(&(uid=*)(createTimestamp<=29990101000000Z))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.4",
        "less-is-not-greater",
        "What is greater does not match.",
        "(&(uid=*)(createTimestamp<=20200101000000Z))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.5",
        "present",
        "present where there is a value.",
        "(description=*)",
        "ada edsger",
    ),
    (
        "rfc4511",
        "4.5.1.7.5",
        "present-supertype",
        "A supertype is present when a subtype is.",
        "(&(uid=*)(name=*))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.5",
        "present-object-class",
        "Every entry has an objectClass.",
        "(&(uid=*)(objectClass=*))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.5",
        "present-operational",
        "Operational attributes can be asked for.",
        "(&(uid=*)(createTimestamp=*))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.6",
        "approximate-is-at-least-equal",
        "What is equal matches approximately.",
        "(cn~=ada)",
        "ada",
    ),
];

const EXTENSIBLE: &[Row] = &[
    (
        "rfc4511",
        "4.5.1.7.7",
        "type-only",
        "Without a rule, the type's equality rule is used.",
        "(cn:=ADA)",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "type-and-rule",
        "A rule may be named beside the type.",
        "(givenName:caseExactMatch:=Ada)",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "rule-decides",
        "The named rule decides, not the type's.",
        "(givenName:caseExactMatch:=ada)",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "rule-by-oid",
        "The rule may be given by its OID.",
        "(givenName:2.5.13.5:=Ada)",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "rule-names-know-no-case",
        "Names of rules know no case.",
        "(givenName:CASEEXACTMATCH:=Ada)",
        "ada",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "dn-attributes",
        "`:dn` also looks at the values in the name.",
        "(&(uid=*)(ou:dn:=people))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "dn-attributes-with-rule",
        "`:dn` with a rule.",
        "(&(uid=*)(ou:dn:caseIgnoreMatch:=PEOPLE))",
        "ada edsger grace",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "without-dn-the-name-is-not-looked-at",
        "Without `:dn` it does not.",
        "(&(uid=*)(ou:=people))",
        "",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "dn-attributes-negated",
        "not of `:dn` leaves out what matches.",
        "(&(|(uid=*)(ou=people))(!(uid:dn:=ada)))",
        "edsger grace people",
    ),
    (
        "rfc4511",
        "4.5.1.7.7",
        "substring-rule",
        "caseIgnoreSubstringsMatch applies to substrings.",
        "(cn=A*)",
        "ada",
    ),
];

/// Checks that a search request with this encoded filter is refused, or ends the session.
fn malformed(book: &mut Book) {
    let mut section = book.section("rfc4511", "4.5.1.7");
    let rows = [
        ("not-of-two", "A not of two filters", {
            constructed(0xA2, &[tagged(0x87, "cn"), tagged(0x87, "sn")])
        }),
        ("empty-substrings", "Substrings without a piece", {
            constructed(0xA4, &[octets("cn"), sequence(&[])])
        }),
        (
            "final-before-initial",
            "Substrings with final before initial",
            {
                let pieces = sequence(&[tagged(0x82, "a"), tagged(0x80, "b")]);
                constructed(0xA4, &[octets("cn"), pieces])
            },
        ),
        ("two-initials", "Substrings with two initials", {
            let pieces = sequence(&[tagged(0x80, "a"), tagged(0x80, "b")]);
            constructed(0xA4, &[octets("cn"), pieces])
        }),
        ("assertion-without-value", "An equality without a value", {
            constructed(0xA3, &[octets("cn")])
        }),
        (
            "extensible-without-value",
            "An extensible match without a value",
            { constructed(0xA9, &[tagged(0x81, "2.5.13.2"), tagged(0x82, "cn")]) },
        ),
    ];
    for (words, what, filter) in rows {
        let clause = section.clause(
            format_args!("malformed-{words}"),
            format_args!("{what} is refused: protocolError or an end of the session."),
            move |it| {
                let mut session = it.session()?;
                let mut parts = vec![octets(""), enumerated(0), enumerated(0)];
                parts.extend([integer(0), integer(0), boolean(false)]);
                parts.extend([filter.clone(), sequence(&[])]);
                let search = constructed(0x63, &parts);
                session.send_raw(&sequence(&[integer(1), search]))?;
                match session.receive() {
                    Ok((_, Event::Done(outcome))) => {
                        outcome.is(ResultCode::PROTOCOL_ERROR).map(|_| ())
                    }
                    Ok((_, event)) => Finding::wrong("a refusal", format_args!("{event:?}")),
                    Err(_) => ensure(session.is_closed_by_server(), "an end", "none"),
                }
            },
        );
        if ["empty-substrings", "final-before-initial", "two-initials"].contains(&words) {
            clause.slapd("slapd answers success, as if such substrings were Undefined");
        }
    }
}
