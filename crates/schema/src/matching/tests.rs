//! Tables of values that are equal or ordered under a rule.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::normalise::NESTED_NAMES_MAX;
use super::*;
use crate::schema::Schema;
use crate::syntax::Syntax;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::standard);

fn normal(rule: &str, value: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let rule = MatchingRule::by_name(rule).unwrap();
    rule.normalise(&SCHEMA, value, &mut out).ok().map(|()| out)
}

/// Checks that values of one line are equal, and different from those of all other lines.
#[track_caller]
fn check(rule: &str, lines: &[&[&str]]) {
    let all = lines.iter().enumerate().flat_map(|(line, values)| {
        values
            .iter()
            .map(move |value| (line, value, normal(rule, value.as_bytes())))
    });
    let all: Vec<_> = all.collect();
    for (line, value, normal) in &all {
        assert!(normal.is_some(), "{rule}: {value:?} is refused");
        for (other_line, other_value, other_normal) in &all {
            assert_eq!(
                line == other_line,
                normal == other_normal,
                "{rule}: {value:?} and {other_value:?}"
            );
        }
    }
}

#[track_caller]
fn check_refused(rule: &str, values: &[&str]) {
    for value in values {
        assert_eq!(normal(rule, value.as_bytes()), None, "{rule}: {value:?}");
    }
}

/// Checks that values are given in ascending order.
#[track_caller]
fn check_order(rule: &str, values: &[&str]) {
    let normals: Vec<_> = values
        .iter()
        .map(|value| normal(rule, value.as_bytes()).expect("a value"))
        .collect();
    for (at, pair) in normals.windows(2).enumerate() {
        assert!(
            pair[0] < pair[1],
            "{rule}: {:?} and {:?}",
            values[at],
            values[at + 1]
        );
    }
}

#[test]
fn every_listed_rule_is_there_once() {
    let numbers = (0..=24).chain(27..=30).map(|it| format!("2.5.13.{it}"));
    let others = [
        "1.3.6.1.4.1.1466.109.114.1",
        "1.3.6.1.4.1.1466.109.114.2",
        "1.3.6.1.4.1.1466.109.114.3",
        "1.3.6.1.1.16.2",
        "1.3.6.1.1.16.3",
        "1.3.6.1.4.1.4203.1.2.1",
        "2.5.13.34",
        "2.5.13.35",
        "2.5.13.38",
        "2.5.13.39",
        "1.2.840.113556.1.4.803",
        "1.2.840.113556.1.4.804",
        OID_IN_CHAIN,
    ];
    for oid in numbers.chain(others.map(str::to_owned)) {
        assert_eq!(
            MATCHING_RULES.iter().filter(|rule| rule.oid == oid).count(),
            1,
            "{oid}"
        );
    }
    for (at, rule) in MATCHING_RULES.iter().enumerate() {
        let earlier = &MATCHING_RULES[..at];
        assert!(
            earlier
                .iter()
                .all(|it| it.oid != rule.oid && it.name != rule.name),
            "{rule:?}"
        );
        assert!(Syntax::by_oid(rule.syntax_oid).is_some(), "{rule:?}");
        assert!(
            rule.applies.iter().all(|oid| Syntax::by_oid(oid).is_some()),
            "{rule:?}"
        );
    }
    assert_eq!(
        MatchingRule::by_name("CASEIGNOREMATCH").unwrap().oid,
        "2.5.13.2"
    );
    assert!(MatchingRule::by_name("nothing").is_none());
}

#[test]
fn text() {
    check(
        "caseIgnoreMatch",
        &[
            &["Babs Jensen", " babs  JENSEN "],
            &["babsjensen"],
            &["bäbs"],
        ],
    );
    check(
        "caseIgnoreMatch",
        &[&["Straße", "STRASSE"], &["a\u{301}", "Á"], &["a"]],
    );
    check(
        "caseExactMatch",
        &[&["Foo Bar", " Foo   Bar"], &["foo bar"], &["a"], &["A"]],
    );
    check("caseExactMatch", &[&["e\u{301}", "é"], &["É"]]);
    check(
        "caseIgnoreIA5Match",
        &[&["A@B.c", "a@b.C"], &["a@b.cc"], &["", " "]],
    );
    check(
        "caseExactIA5Match",
        &[&["/home/a", "/home/a "], &["/home/A"]],
    );
    check_refused("caseIgnoreMatch", &["", "\u{e000}"]);
    check_refused("caseIgnoreIA5Match", &["é"]);
    assert_eq!(normal("caseIgnoreMatch", b"\xff"), None);
    check_order(
        "caseIgnoreOrderingMatch",
        &["Adam", "adams", "BETA", "gamma", "Ö"],
    );
}

#[test]
fn numbers_without_their_spaces() {
    check(
        "numericStringMatch",
        &[&["123 456", "12 34 56", "123456"], &["0123456"]],
    );
    check_refused("numericStringMatch", &["", "12a"]);
    check(
        "telephoneNumberMatch",
        &[
            &["+1 512 315 0280", "+1-512-315-0280", "+15123150280"],
            &["+1 512 315 0281"],
            &["x12", "X 12"],
        ],
    );
    check_refused("telephoneNumberMatch", &["", "12_3"]);
}

#[test]
fn postal_addresses() {
    check(
        "caseIgnoreListMatch",
        &[
            &["1234 Main St.$Anytown$USA", "1234  main st. $ anytown $usa"],
            &["1234 Main St. Anytown USA"],
            &["Anytown$1234 Main St.$USA"],
        ],
    );
    check(
        "caseIgnoreListMatch",
        &[&["a\\24b"], &["a$b"], &["x\\5cy", "X\\5CY"]],
    );
}

#[test]
fn booleans_bits_octets() {
    check("booleanMatch", &[&["TRUE"], &["FALSE"]]);
    check_refused("booleanMatch", &["true", ""]);
    check("bitStringMatch", &[&["'01'B"], &["'010'B"], &["''B"]]);
    check("octetStringMatch", &[&["a"], &["A"], &["a "], &[""]]);
    check(
        "UUIDMatch",
        &[
            &[
                "597ae2f6-16a6-1027-98f4-d28b5365dc14",
                "597AE2F6-16A6-1027-98F4-D28B5365DC14",
            ],
            &["597ae2f6-16a6-1027-98f4-d28b5365dc15"],
        ],
    );
    let uuid = normal("UUIDMatch", b"597ae2f6-16a6-1027-98f4-d28b5365dc14").unwrap();
    assert_eq!(uuid.len(), 16);
    assert_eq!(uuid[..2], [0x59, 0x7a]);
}

#[test]
fn integers() {
    check("integerMatch", &[&["0"], &["1"], &["-1"], &["10"]]);
    check_refused("integerMatch", &["", "01", "1e3", "abc"]);
    let (large, small) = ("1".repeat(300), format!("-{}", "1".repeat(300)));
    check_order(
        "integerOrderingMatch",
        &[
            &small, "-100", "-99", "-9", "-1", "0", "1", "9", "10", "99", "100", &large,
        ],
    );
}

#[test]
fn identifiers() {
    check(
        "objectIdentifierMatch",
        &[
            &["cn", "CommonName", "2.5.4.3"],
            &["person", "2.5.6.6", "PERSON"],
            &["1.2.3.4.5"],
            &["somethingElse", "SOMETHINGELSE"],
        ],
    );
    check_refused("objectIdentifierMatch", &["", "a b", "1..2"]);
    let rule = MatchingRule::by_name("objectIdentifierMatch").unwrap();
    let mut out = b"kept".to_vec();
    assert!(
        rule.normalise_assertion(&SCHEMA, b"somethingElse", &mut out)
            .is_err()
    );
    assert_eq!(out, b"kept");
    assert!(
        rule.normalise_assertion(&SCHEMA, b"1.2.3.4.5", &mut out)
            .is_ok()
    );
}

#[test]
fn first_components() {
    let check = |rule: &str, stored: &str, asserted: &str, equal: bool| {
        let rule = MatchingRule::by_name(rule).unwrap();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        rule.normalise(&SCHEMA, stored.as_bytes(), &mut one)
            .unwrap();
        rule.normalise_assertion(&SCHEMA, asserted.as_bytes(), &mut other)
            .unwrap();
        assert_eq!(one == other, equal, "{stored} {asserted}");
    };
    let definition = "( 2.5.4.3 NAME ( 'cn' 'commonName' ) SUP name )";
    check(
        "objectIdentifierFirstComponentMatch",
        definition,
        "2.5.4.3",
        true,
    );
    check(
        "objectIdentifierFirstComponentMatch",
        definition,
        "commonName",
        true,
    );
    check(
        "objectIdentifierFirstComponentMatch",
        definition,
        "2.5.4.4",
        false,
    );
    check("integerFirstComponentMatch", "( 2 FORM x )", "2", true);
    check("integerFirstComponentMatch", "(12 FORM x)", "2", false);
    check(
        "directoryStringFirstComponentMatch",
        "( Abc X )",
        "aBC",
        true,
    );
}

#[test]
fn certificates_are_compared_whole() {
    let rule = MatchingRule::by_name("certificateExactMatch").unwrap();
    let mut out = Vec::new();
    let parts = b"{ serialNumber 1, issuer rdnSequence:\"o=x\" }";
    assert!(
        rule.normalise_assertion(&SCHEMA, b"\x30\x03\x02\x01\x05", &mut out)
            .is_ok()
    );
    assert_eq!(
        Some(out),
        normal("certificateExactMatch", b"\x30\x03\x02\x01\x05")
    );
    let octets = MatchingRule::by_name("octetStringMatch").unwrap();
    assert!(
        octets
            .normalise_assertion(&SCHEMA, parts, &mut Vec::new())
            .is_ok()
    );
}

#[test]
fn times() {
    check(
        "generalizedTimeMatch",
        &[
            &[
                "199412161032Z",
                "19941216103200Z",
                "199412160532-0500",
                "19941216103200.00Z",
            ],
            &["19941216103201Z"],
            &["19941216103230Z", "199412161032.5Z"],
        ],
    );
    check_order(
        "generalizedTimeOrderingMatch",
        &[
            "19941216103200Z",
            "19941216103200.01Z",
            "19941216103200.5Z",
            "19941216063201-0400",
        ],
    );
    check(
        "uTCTimeMatch",
        &[&["9412161032Z", "941216103200Z"], &["0412161032Z"]],
    );
}

#[test]
fn distinguished_names() {
    check(
        "distinguishedNameMatch",
        &[
            &[
                "UID=jsmith,DC=example,DC=net",
                "uid = JSmith ; 0.9.2342.19200300.100.1.25=example,dc=net",
            ],
            &[
                "OU=Sales+CN=J.  Smith,DC=example,DC=net",
                "cn=j. smith+ou=sales,dc=example,dc=net",
            ],
            &["CN=James \\\"Jim\\\" Smith\\, III,DC=example,DC=net"],
            &["dc=net"],
            &["", " "],
        ],
    );
    check_refused(
        "distinguishedNameMatch",
        &["jsmith", "nothing=x", "cn=", "cn=a,,cn=b"],
    );
    check(
        "uniqueMemberMatch",
        &[
            &["cn=A,o=Test#'0101'B", "CN=a, O=test#'0101'B"],
            &["cn=A,o=Test#'01010'B"],
            &["cn=A,o=Test"],
        ],
    );
}

#[test]
fn names_in_names_have_a_limit() {
    let nested = |depth: usize| format!("{}cn=x", "seeAlso=".repeat(depth));
    let deepest = usize::from(NESTED_NAMES_MAX) - 1;
    assert!(normal("distinguishedNameMatch", nested(deepest).as_bytes()).is_some());
    assert!(normal("distinguishedNameMatch", nested(deepest + 1).as_bytes()).is_none());
    assert!(normal("distinguishedNameMatch", nested(100_000).as_bytes()).is_none());
}

proptest! {
    #[test]
    fn text_rules_are_idempotent(value in "\\PC{1,16}") {
        for rule in ["caseIgnoreMatch", "caseExactMatch", "telephoneNumberMatch"] {
            if let Some(once) = normal(rule, value.as_bytes())
                && !once.is_empty()
            {
                prop_assert_eq!(normal(rule, &once), Some(once.clone()), "{}", rule);
            }
        }
    }

    #[test]
    fn no_octets_make_a_rule_panic(value: Vec<u8>, text in "[ -~]{0,24}") {
        for rule in MATCHING_RULES {
            for value in [value.as_slice(), text.as_bytes()] {
                let mut out = Vec::new();
                let _ = rule.normalise(&SCHEMA, value, &mut out);
                let _ = rule.normalise_assertion(&SCHEMA, value, &mut out);
                let _ = rule.normalise_for_pieces(value, &mut out);
                for position in [Position::Initial, Position::Any, Position::Final] {
                    let _ = rule.normalise_piece(value, position, &mut out);
                }
            }
        }
    }
}
