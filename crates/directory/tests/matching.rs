//! Every matching rule twice: on an attribute with all indexes, and on one without any. The
//! answers have to be the same, whatever the values.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::Client;
use proptest::prelude::*;
use protocol::{ResultCode, Scope};
use std::collections::BTreeSet;

const BASE: &str = "dc=example,dc=com";

/// A syntax with its rules, and values that are often but not always equal under them.
struct Case {
    syntax: &'static str,
    equality: &'static str,
    ordering: &'static str,
    substring: &'static str,
    values: &'static [&'static str],
}

const fn case(
    syntax: &'static str,
    rules: [&'static str; 3],
    values: &'static [&'static str],
) -> Case {
    let [equality, ordering, substring] = rules;
    Case {
        syntax,
        equality,
        ordering,
        substring,
        values,
    }
}

const NONE: &str = "";
const TEXT: &[&str] = &[
    "Ada Lovelace",
    "ada  lovelace",
    " ADA LOVELACE",
    "Straße",
    "STRASSE",
    "Ａda",
    "e\u{301}t",
    "ÉT",
    "x",
    "xyz abc",
    "a-b c",
    "Catherine",
    "Kathryn",
    "İstanbul",
    "i̇stanbul",
    "ΣΑΣ",
    "σας",
];

const CASES: &[Case] = &[
    case(
        "15",
        [
            "caseIgnoreMatch",
            "caseIgnoreOrderingMatch",
            "caseIgnoreSubstringsMatch",
        ],
        TEXT,
    ),
    case(
        "15",
        [
            "caseExactMatch",
            "caseExactOrderingMatch",
            "caseExactSubstringsMatch",
        ],
        TEXT,
    ),
    case(
        "26",
        ["caseIgnoreIA5Match", NONE, "caseIgnoreIA5SubstringsMatch"],
        &["a@b.c", "A@B.C", "a @ b", "x", "abc def", "ABC  DEF"],
    ),
    case(
        "26",
        ["caseExactIA5Match", NONE, "caseExactIA5SubstringsMatch"],
        &["a@b.c", "A@B.C", "a @ b", "x", "abc def", "abc  def"],
    ),
    case(
        "36",
        [
            "numericStringMatch",
            "numericStringOrderingMatch",
            "numericStringSubstringsMatch",
        ],
        &["123", "1 23", "12 3", "0123", "9", "12345 6789"],
    ),
    case(
        "50",
        [
            "telephoneNumberMatch",
            NONE,
            "telephoneNumberSubstringsMatch",
        ],
        &[
            "+1 512 315 0280",
            "+1-512-315-0280",
            "+15123150280",
            "+49 30 1",
            "+49-301",
        ],
    ),
    case(
        "41",
        ["caseIgnoreListMatch", NONE, "caseIgnoreListSubstringsMatch"],
        &[
            "Main St.$Town",
            "main st. $ town",
            "Main$St.$Town",
            "a\\24b",
            "x$y",
        ],
    ),
    case("7", ["booleanMatch", NONE, NONE], &["TRUE", "FALSE"]),
    case(
        "27",
        ["integerMatch", "integerOrderingMatch", NONE],
        &[
            "0",
            "1",
            "-1",
            "255",
            "256",
            "-256",
            "99999999999999999999999",
            "-99999999999999999999999",
            "7",
        ],
    ),
    case(
        "6",
        ["bitStringMatch", NONE, NONE],
        &["'01'B", "'010'B", "''B", "'1'B"],
    ),
    case(
        "40",
        [
            "octetStringMatch",
            "octetStringOrderingMatch",
            "octetStringSubstringsMatch",
        ],
        &["a", "A", "ab", "abc", "abcd", " a"],
    ),
    case(
        "38",
        ["objectIdentifierMatch", NONE, NONE],
        &["cn", "2.5.4.3", "commonName", "person", "1.2.3", "sn"],
    ),
    case(
        "12",
        ["distinguishedNameMatch", NONE, NONE],
        &[
            "cn=a,dc=com",
            "CN = A , DC=com",
            "2.5.4.3=#040161,dc=com",
            "cn=a+sn=b,dc=com",
            "sn=B+cn=a;dc=com",
            "OID.2.5.4.3=\"a\",dc=com",
            "cn=\\61,dc=com",
            "dc=com",
            "ou=x,dc=com",
        ],
    ),
    case(
        "34",
        ["uniqueMemberMatch", NONE, NONE],
        &[
            "cn=a,dc=com",
            "CN=A,dc=com",
            "cn=a,dc=com#'01'B",
            "cn=A,dc=com#'01'B",
        ],
    ),
    case(
        "24",
        ["generalizedTimeMatch", "generalizedTimeOrderingMatch", NONE],
        &[
            "199412161032Z",
            "19941216103200Z",
            "199412160532-0500",
            "19941216103200.5Z",
            "2026010100Z",
        ],
    ),
    case(
        "53",
        ["uTCTimeMatch", NONE, NONE],
        &["9412161032Z", "941216103200Z", "0412161032Z"],
    ),
    case(
        "1.3.6.1.1.16.1",
        ["UUIDMatch", "UUIDOrderingMatch", NONE],
        &[
            "597ae2f6-16a6-1027-98f4-d28b5365dc14",
            "597AE2F6-16A6-1027-98F4-D28B5365DC14",
            "597ae2f6-16a6-1027-98f4-d28b5365dc15",
        ],
    ),
];

/// One directory with `indexedN` and `plainN` for each case.
fn directory() -> Client {
    let mut client = Client::admin();
    let mut types = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        for (kind, name) in ["indexed", "plain"].into_iter().enumerate() {
            let syntax = match case.syntax.contains('.') {
                true => case.syntax.to_owned(),
                false => format!("1.3.6.1.4.1.1466.115.121.1.{}", case.syntax),
            };
            let mut text = format!(
                "( 1.2.3.{number}.{kind} NAME '{name}{number}' EQUALITY {}",
                case.equality
            );
            if case.ordering != NONE {
                text.push_str(&format!(" ORDERING {}", case.ordering));
            }
            if case.substring != NONE {
                text.push_str(&format!(" SUBSTR {}", case.substring));
            }
            types.push(format!("{text} SYNTAX {syntax} )"));
        }
    }
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let added = client.add(
        "cn=cases,cn=schema,cn=config",
        &[
            ("objectClass", &["pandoSchema"]),
            ("attributeTypes", &types),
        ],
    );
    assert_eq!(added.code, ResultCode::SUCCESS, "{}", added.diagnostic);
    for (number, case) in CASES.iter().enumerate() {
        let name = format!("indexed{number}");
        let mut kinds = vec!["equality", "presence", "approximate"];
        if case.ordering != NONE {
            kinds.push("ordering");
        }
        if case.substring != NONE {
            kinds.push("substring");
        }
        let added = client.add(
            &format!("cn={name},cn=indexes,cn=config"),
            &[
                ("objectClass", &["pandoIndex"]),
                ("pandoIndexAttribute", &[&name]),
                ("pandoIndexKind", &kinds),
            ],
        );
        assert_eq!(added.code, ResultCode::SUCCESS, "{}", added.diagnostic);
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let ready = |client: &mut Client| {
        let states = client.search(
            "cn=indexes,cn=config",
            Scope::SingleLevel,
            "(&(cn=indexed*)(pandoIndexState=ready))",
            &["1.1"],
        );
        states.entries.len() == CASES.len()
    };
    while !ready(&mut client) {
        assert!(
            std::time::Instant::now() < deadline,
            "the indexes are not built"
        );
        std::thread::yield_now();
    }
    client
}

fn found(client: &mut Client, filter: &str) -> BTreeSet<String> {
    let answer = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
    assert_eq!(answer.result.code, ResultCode::SUCCESS, "{filter}");
    answer.names().into_iter().map(str::to_owned).collect()
}

/// A value in a filter, with what has a meaning there escaped.
fn escaped(value: &str) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        match byte {
            b'(' | b')' | b'*' | b'\\' | 0x80.. => out.push_str(&format!("\\{byte:02x}")),
            _ => out.push(char::from(byte)),
        }
    }
    out
}

/// Every assertion about a value of a case.
fn assertions(attribute: &str, case: &Case, value: &str) -> Vec<String> {
    let (whole, half) = (escaped(value), value.chars().count() / 2);
    let first: String = value.chars().take(half.max(1)).collect();
    let last: String = value.chars().skip(half).collect();
    let (first, last) = (escaped(&first), escaped(&last));
    let mut all = vec![
        format!("({attribute}={whole})"),
        format!("({attribute}~={whole})"),
        format!("(!({attribute}={whole}))"),
        format!("({attribute}:{}:={whole})", case.equality),
        format!("({attribute}:dn:={whole})"),
        format!("({attribute}=*)"),
        format!("(!({attribute}=*))"),
    ];
    if case.ordering != NONE {
        all.push(format!("({attribute}>={whole})"));
        all.push(format!("({attribute}<={whole})"));
        all.push(format!("(&({attribute}>={whole})({attribute}<={whole}))"));
        all.push(format!("({attribute}:{}:={whole})", case.ordering));
    }
    if case.substring != NONE {
        all.push(format!("({attribute}={first}*)"));
        all.push(format!("({attribute}=*{last})"));
        all.push(format!("({attribute}=*{last}*)"));
        all.push(format!("({attribute}={first}*{last})"));
    }
    match case.equality {
        "integerMatch" => {
            all.push(format!("({attribute}:1.2.840.113556.1.4.803:={whole})"));
            all.push(format!("({attribute}:1.2.840.113556.1.4.804:={whole})"));
        }
        "distinguishedNameMatch" => {
            for rule in [
                "dnSubtreeMatch",
                "dnOneLevelMatch",
                "dnSubordinateMatch",
                "dnSuperiorMatch",
            ] {
                all.push(format!("({attribute}:{rule}:={whole})"));
            }
        }
        "generalizedTimeMatch" => {
            all.push(format!("({attribute}:1.3.6.1.4.1.26027.1.4.5:=-3650d)"));
            all.push(format!("({attribute}:1.3.6.1.4.1.26027.1.4.6:=-3650d)"));
            all.push(format!(
                "({attribute}:partialDateAndTimeMatchingRule:=12MM)"
            ));
        }
        _ => {}
    }
    all
}

#[test]
fn indexed_and_plain_attributes_answer_alike() {
    let mut client = directory();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(12));
    let pick = prop::collection::vec(any::<prop::sample::Index>(), CASES.len() * 2);
    let entries = prop::collection::vec(pick, 1..6);
    let mut round = 0;
    let cell = std::cell::RefCell::new((&mut client, &mut round));
    runner
        .run(&entries, |entries| {
            let (client, round) = &mut *cell.borrow_mut();
            **round += 1;
            for (at, picks) in entries.iter().enumerate() {
                let mut attributes: Vec<(String, &str)> = Vec::new();
                for (number, case) in CASES.iter().enumerate() {
                    // A third of the entries lack the attribute.
                    let whether = &picks[number * 2 + 1];
                    if whether.index(3) > 0 {
                        let value = case.values[picks[number * 2].index(case.values.len())];
                        attributes.push((format!("indexed{number}"), value));
                        attributes.push((format!("plain{number}"), value));
                    }
                }
                let values: Vec<[&str; 1]> = attributes.iter().map(|it| [it.1]).collect();
                let mut given: Vec<(&str, &[&str])> = vec![
                    ("objectClass", &["person", "extensibleObject"]),
                    ("sn", &["x"]),
                ];
                let names = attributes.iter().map(|it| it.0.as_str());
                given.extend(names.zip(values.iter().map(|it| &it[..])));
                let added = client.add(&format!("cn=r{round}e{at},{BASE}"), &given);
                prop_assert_eq!(added.code, ResultCode::SUCCESS, "{}", added.diagnostic);
            }
            for (number, case) in CASES.iter().enumerate() {
                let value = case.values[entries[0][number * 2].index(case.values.len())];
                let indexed = assertions(&format!("indexed{number}"), case, value);
                let plain = assertions(&format!("plain{number}"), case, value);
                for (indexed, plain) in indexed.into_iter().zip(plain) {
                    prop_assert_eq!(
                        found(client, &indexed),
                        found(client, &plain),
                        "{}",
                        indexed
                    );
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn names_are_found_by_their_place() {
    let mut client = Client::admin();
    let unit = [("objectClass", &["organizationalUnit"][..])];
    for name in ["ou=a", "ou=b,ou=a", "ou=c,ou=b,ou=a", "ou=d"] {
        assert_eq!(
            client.add(&format!("{name},{BASE}"), &unit).code,
            ResultCode::SUCCESS
        );
    }
    for (rule, expected) in [
        (
            "dnSubtreeMatch",
            &["ou=a", "ou=b,ou=a", "ou=c,ou=b,ou=a"][..],
        ),
        ("dnOneLevelMatch", &["ou=b,ou=a"]),
        ("dnSubordinateMatch", &["ou=b,ou=a", "ou=c,ou=b,ou=a"]),
        ("distinguishedNameMatch", &["ou=a"]),
    ] {
        let answer = found(&mut client, &format!("(entryDN:{rule}:=ou=A,{BASE})"));
        let expected: BTreeSet<String> = expected.iter().map(|it| format!("{it},{BASE}")).collect();
        assert_eq!(answer, expected, "{rule}");
    }
    let above = found(
        &mut client,
        &format!("(entryDN:dnSuperiorMatch:=ou=b,ou=a,{BASE})"),
    );
    assert_eq!(above.len(), 2);
    let none = found(
        &mut client,
        &format!("(entryDN:dnSubtreeMatch:=ou=none,{BASE})"),
    );
    assert_eq!(none.len(), 0);
}

#[test]
fn values_of_names_are_compared_as_they_are_spelled() {
    let mut client = Client::admin();
    let add = |client: &mut Client, name: &str, class: &str| {
        let attributes: [(&str, &[&str]); 2] = [("objectClass", &[class]), ("sn", &["x"])];
        let attributes = &attributes[..if class == "person" { 2 } else { 1 }];
        kit::success(&client.add(name, attributes));
    };
    let people = "ou=People,dc=example,dc=com";
    add(&mut client, people, "organizationalUnit");
    add(&mut client, &format!("cn=Ada,{people}"), "person");
    for (filter, count) in [
        ("(ou:dn:caseExactMatch:=People)", 2),
        ("(ou:dn:caseExactMatch:=people)", 0),
        ("(ou:dn:2.5.13.5:=People)", 2),
        ("(:dn:caseExactMatch:=People)", 2),
        ("(:dn:caseExactMatch:=people)", 0),
        ("(ou:dn:=people)", 2),
        ("(ou:dn:caseIgnoreMatch:=PEOPLE)", 2),
        ("(:dn:caseExactMatch:=Ada)", 1),
        ("(:dn:caseExactMatch:=ada)", 0),
    ] {
        let found = client.search("dc=example,dc=com", Scope::WholeSubtree, filter, &["1.1"]);
        assert_eq!(found.entries.len(), count, "{filter}");
    }
}
