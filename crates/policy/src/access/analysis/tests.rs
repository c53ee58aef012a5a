//! What is found in rule sets, and what is not.

use super::*;
use crate::access::facts::{Asker, Identity, Origin};
use crate::access::model::World;
use crate::access::parse::parse;
use crate::access::sets;
use crate::access::words::Ways;
use schema::Schema;

fn findings(text: &str) -> Vec<String> {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let rules = parse(text).unwrap_or_else(|error| panic!("{error}")).rules;
    let set = RuleSet::compile(&schema, &secrets, &rules).unwrap();
    set.findings(&secrets)
        .iter()
        .map(Finding::to_string)
        .collect()
}

#[test]
fn rules_and_clauses_that_are_never_asked_are_found() {
    let text = "\
rule a
on subtree \"dc=a\"
for cn, sn
let users read
let anyone none
let self write

rule b
on one \"dc=a\", entry \"dc=a\"
for cn
let users write

rule c
on one \"dc=a\", entry \"dc=b\"
for cn
let users write

rule d
on children \"dc=a\" where (cn=x)
for cn, mail
let users write then next rule

rule e
on pattern \"uid=*,dc=a\"
for mail
let users write
";
    assert_eq!(
        findings(text),
        [
            "rule a, let self write: never asked, as a clause before is for everybody",
            "rule b is never asked: earlier rules decide all that it is about",
        ]
    );
}

#[test]
fn secrets_that_are_open_to_anonymous_clients_are_found() {
    assert_eq!(findings(sets::BUILTIN), [""; 0]);
    assert_eq!(findings(sets::DEFAULT), [""; 0]);
    let open = |clause: &str| {
        let text = format!("rule a\non entry \"dc=a\"\nfor userPassword\n{clause}\n");
        !findings(&text).is_empty()
    };
    for clause in [
        "let anyone read",
        "let anonymous compare",
        "let from 10.0.0.0/8 search",
        "let not users read",
        "let users or via tls read",
        "let real users read",
    ] {
        assert!(open(clause), "{clause}");
    }
    for clause in [
        "let users read",
        "let self write",
        "let anyone authenticate",
        "let not anonymous, from local read",
        "deny anonymous read\nlet anyone none",
    ] {
        assert!(!open(clause), "{clause}");
    }
    let text = "rule a\non everything\nfor userPassword, pwdHistory\nlet anyone read";
    let mut attributes: Vec<String> = findings(text)
        .iter()
        .flat_map(|it| it.split([':', ',']).skip(1))
        .map(|it| it.trim().to_owned())
        .collect();
    attributes.sort();
    assert_eq!(attributes, ["pwdHistory", "userPassword"]);
}

#[test]
fn who_is_locked_out_is_told() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let world = World {
        schema: &schema,
        secrets: &secrets,
        seed: 0,
    };
    let name = |dn: &str| schema.resolve_name(dn).unwrap();
    let set = RuleSet::compile(&schema, &secrets, &sets::default()).unwrap();
    let administers = |identity: Identity| {
        let asker = Asker {
            acting: identity.clone(),
            real: identity,
            origin: Origin::Socket,
            ways: Ways::of(&[]),
            minute: None,
        };
        set.of_subject(asker, &world).administers(&name("dc=a"))
    };
    assert!(administers(Identity::Administrator(name("cn=admin"))));
    assert!(!administers(Identity::Entry(name("uid=ada,dc=a"))));
}
