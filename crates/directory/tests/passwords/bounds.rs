//! How long, how costly and how many passwords may be.

use super::{ADA, add_ada, change, set};
use crate::kit::{Client, success};
use protocol::{ChangeOperation, ResultCode, Scope};
use transfer::Meter;
use transfer::import::{Files, Format, ImportOptions, import};

/// A value that asks for eight times the memory there is for one verification.
const HOSTILE: &str = "{ARGON2}$argon2id$v=19$m=2097152,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$\
                       wrongwrongwrongwrongwrongwrongwrongwrongwro";

#[test]
fn a_password_longer_than_the_longest_is_none() {
    let mut admin = Client::admin();
    add_ada(&mut admin, "right");
    let (longest, longer) = ("x".repeat(1_024), "x".repeat(1_025));
    let refused = set(&mut admin, &[&longer]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    let expected = "userPassword: expected at most 1024 octets in a password, got 1025";
    assert_eq!(refused.diagnostic, expected);
    let refused = change(&mut admin, None, Some(&longer), &[]).result;
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    let bob = [
        ("objectClass", &["person"][..]),
        ("sn", &["bob"]),
        ("userPassword", &[&longer]),
    ];
    let refused = admin.add("cn=bob,dc=example,dc=com", &bob);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    success(&set(&mut admin, &[&longest]));
    let mut ada = admin.another();
    success(&ada.bind(ADA, &longest));
    let code = ada.bind(ADA, &longer).code;
    assert_eq!(code, ResultCode::INVALID_CREDENTIALS);
    let compared = admin.compare(ADA, "userPassword", &longer).result.code;
    assert_eq!(compared, ResultCode::COMPARE_FALSE);
    let wrong = change(&mut admin, Some(&longer), Some("new"), &[]).result;
    assert_eq!(wrong.code, ResultCode::INVALID_CREDENTIALS);
}

#[test]
fn a_hash_that_asks_for_too_much_is_refused() {
    let mut admin = Client::admin();
    add_ada(&mut admin, "right");
    let mut ada = admin.another();
    success(&ada.bind(ADA, "right"));
    let refused = set(&mut ada, &[HOSTILE]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    let expected = "userPassword: expected at most 262144 KiB of memory for Argon2, got 2097152";
    assert_eq!(refused.diagnostic, expected);
    success(&ada.bind(ADA, "right"));
}

#[test]
fn an_entry_has_eight_passwords_at_most() {
    let mut admin = Client::admin();
    add_ada(&mut admin, "0");
    let all: Vec<String> = (1..10).map(|it| it.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let refused = set(&mut admin, &all);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    let expected = "userPassword: expected at most 8 values, got 9";
    assert_eq!(refused.diagnostic, expected);
    // Values already there count, and so do values with options.
    let mut add =
        |name: &str, values: &[&str]| admin.modify(ADA, &[(ChangeOperation::Add, name, values)]);
    success(&add("userPassword", &all[..5]));
    success(&add("userPassword;x-app", &all[..2]));
    let refused = add("userPassword;x-other", &all[..1]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(refused.diagnostic, expected);
    success(&admin.modify(ADA, &[(ChangeOperation::Delete, "userPassword;x-app", &[])]));
    success(&admin.modify(ADA, &[(ChangeOperation::Add, "userPassword", &["7"])]));
    let mut client = admin.another();
    for password in ["0", "5", "7"] {
        success(&client.bind(ADA, password));
    }
    // Not by way of a request with very many either, of which few would stay.
    let changes = all
        .iter()
        .map(|it| (ChangeOperation::Replace, "userPassword", it));
    let changes: Vec<_> = changes
        .map(|(operation, name, value)| (operation, name, std::slice::from_ref(value)))
        .collect();
    let refused = admin.modify(ADA, &changes);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn import_names_what_is_beyond() {
    let client = Client::new();
    let folder = std::sync::Arc::clone(&client.folder);
    client.close();
    let person = |name: &str, passwords: &[&str]| {
        let lines: String = passwords
            .iter()
            .map(|it| format!("userPassword: {it}\n"))
            .collect();
        format!("dn: cn={name},dc=example,dc=com\nobjectClass: person\nsn: {name}\n{lines}\n")
    };
    let nine = [
        "{SSHA}a", "{SSHA}b", "{SSHA}c", "d", "e", "f", "g", "h", "i",
    ];
    let text = [
        person("good", &["{SSHA}98k4LrEZZWEd3StQOLt1FZsY5YQ6kPWy"]),
        person("many", &nine),
        person("hostile", &[HOSTILE]),
        person("long", &[&"x".repeat(1_025)]),
    ];
    let file = folder.path().join("people.ldif");
    std::fs::write(&file, text.concat()).unwrap();
    let rejects = folder.path().join("rejects.ldif");
    let source = Box::new(Files::new(vec![file], Format::Ldif));
    let options = ImportOptions::new(rejects.clone());
    let imported = import(folder.path(), source, &options, &Meter::default()).unwrap();
    assert_eq!(imported.rejected, 3);
    let said = std::fs::read_to_string(rejects).unwrap();
    for reason in [
        "userPassword: expected at most 8 values, got 9",
        "userPassword: expected at most 262144 KiB of memory for Argon2, got 2097152",
        "userPassword: expected at most 1024 octets in a password, got 1025",
    ] {
        assert!(said.contains(reason), "{reason}: {said}");
    }
    let mut client = Client::open(folder);
    let found = client.search("dc=example,dc=com", Scope::WholeSubtree, "(sn=*)", &["1.1"]);
    assert_eq!(found.names(), ["cn=good,dc=example,dc=com"]);
}
