//! Indexes that rules need: a write that would go without one is refused before it is ordered.

use crate::kit::Client;
use crate::{BASE, rule, unit};
use protocol::{ResultCode, Scope};
use std::slice::from_ref;

const OK: ResultCode = ResultCode::SUCCESS;

type Attributes<'a> = &'a [(&'a str, &'a [&'a str])];

const INDEX: Attributes<'_> = &[
    ("objectClass", &["pandoIndex"]),
    ("pandoIndexAttribute", &["employeeNumber"]),
    ("pandoIndexKind", &["equality"]),
];
const INDEX_NAME: &str = "cn=employeeNumber,cn=indexes,cn=config";
const RULE: Attributes<'_> = &[
    ("objectClass", &["pandoUnique"]),
    ("pandoUniqueAttribute", &["employeeNumber"]),
];
const RULE_NAME: &str = "cn=number,cn=rules,cn=config";

#[test]
fn a_rule_waits_for_its_index() {
    let mut client = Client::admin();
    let inside = client.begin_transaction();
    for (name, attributes) in [(INDEX_NAME, INDEX), (RULE_NAME, RULE)] {
        let added = client.add_with(name, attributes, from_ref(&inside)).result;
        assert_eq!(added.code, OK, "{}", added.diagnostic);
    }
    let ended = client.commit(&inside).result;
    assert_eq!(
        (ended.code, ended.diagnostic.as_str()),
        (
            ResultCode::BUSY,
            "the equality index of employeeNumber is being built, and a rule in \
             cn=rules,cn=config needs it; try again when `pando index status` says that it is \
             ready"
        )
    );
    // One after the other it goes.
    assert_eq!(client.add(INDEX_NAME, INDEX).code, OK);
    await_ready(&mut client, INDEX_NAME);
    let added = client.add(RULE_NAME, RULE);
    assert_eq!(added.code, OK, "{}", added.diagnostic);
}

fn await_ready(client: &mut Client, index: &str) {
    let wanted = ["pandoIndexState"];
    let mut state = || {
        let found = client.search(index, Scope::BaseObject, "(objectClass=*)", &wanted);
        found.values("pandoIndexState") == ["ready"]
    };
    while !state() {
        std::thread::yield_now();
    }
}

#[test]
fn an_index_is_told_of_by_whatever_name_it_is_defined() {
    let mut client = Client::admin();
    let index: Attributes<'_> = &[
        ("objectClass", &["pandoIndex"]),
        ("pandoIndexAttribute", &["surname"]),
        ("pandoIndexKind", &["equality"]),
    ];
    let name = "cn=surname,cn=indexes,cn=config";
    assert_eq!(client.add(name, index).code, OK);
    let wanted = ["pandoIndexState"];
    let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &wanted);
    assert_ne!(found.values("pandoIndexState"), ["unknown"]);
}

/// Adds somebody with one more attribute.
fn person(client: &mut Client, name: &str, attribute: &str, value: &str) -> (ResultCode, String) {
    let attributes: Attributes<'_> = &[
        ("objectClass", &["inetOrgPerson", "staff"]),
        ("sn", &["x"]),
        (attribute, &[value]),
    ];
    let result = client.add(&format!("cn={name},{BASE}"), attributes);
    (result.code, result.diagnostic)
}

#[test]
fn a_subtype_that_comes_into_use_needs_an_index_too() {
    let mut client = Client::admin();
    let schema: Attributes<'_> = &[
        ("objectClass", &["pandoSchema"]),
        (
            "attributeTypes",
            &["( 1.2.3.4.5 NAME 'staffMail' SUP mail )"],
        ),
        (
            "objectClasses",
            &["( 1.2.3.4.6 NAME 'staff' SUP top AUXILIARY MAY staffMail )"],
        ),
    ];
    let added = client.add("cn=staff,cn=schema,cn=config", schema);
    assert_eq!(added.code, OK, "{}", added.diagnostic);
    let unique: Attributes<'_> = &[
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["mail"]),
        ("pandoBase", &["ou=People,dc=example,dc=com"]),
    ];
    unit(&mut client, "People");
    rule(&mut client, "mail", unique).unwrap();
    assert_eq!(person(&mut client, "a,ou=People", "mail", "a@x").0, OK);
    // Also where the rule is not for: from then on each look would go through all entries.
    let (code, said) = person(&mut client, "b", "staffMail", "b@x");
    assert_eq!(code, ResultCode::UNWILLING_TO_PERFORM);
    let expected = "needs an equality index of it: `pando index add DIR staffMail equality`";
    assert!(said.contains(expected), "{said}");
    let index: Attributes<'_> = &[
        ("objectClass", &["pandoIndex"]),
        ("pandoIndexAttribute", &["staffMail"]),
        ("pandoIndexKind", &["equality"]),
    ];
    let name = "cn=staffMail,cn=indexes,cn=config";
    assert_eq!(client.add(name, index).code, OK);
    await_ready(&mut client, name);
    assert_eq!(person(&mut client, "b,ou=People", "staffMail", "b@x").0, OK);
    assert_eq!(
        person(&mut client, "c,ou=People", "mail", "B@x").0,
        ResultCode::CONSTRAINT_VIOLATION
    );
    // Nor can it be taken away again.
    let gone = client.delete_with(name, &[]).result;
    assert_eq!(gone.code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(gone.diagnostic.contains("staffMail"), "{}", gone.diagnostic);
}
