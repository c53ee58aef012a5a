//! Rules for values in imports: what an import adds obeys them as single writes do.

use crate::kit::{ADMIN, Client, PASSWORD};
use crate::{BASE, rule, unit};
use protocol::Scope;
use std::sync::Arc;
use tempfile::TempDir;
use transfer::Meter;
use transfer::import::{Files, Format, ImportOptions, Imported, WrittenTo, import};

/// A directory with rules: `mail` and `uid` share their values below `ou=People`,
/// `uidNumber` is given from 1000, and everything else may repeat.
fn with_rules() -> Client {
    let mut client = Client::admin();
    unit(&mut client, "People");
    unit(&mut client, "Others");
    let people = format!("ou=People,{BASE}");
    let shared: [(&str, &[&str]); 3] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["mail", "uid"]),
        ("pandoBase", &[&people]),
    ];
    rule(&mut client, "mail", &shared).unwrap();
    let numbers: [(&str, &[&str]); 5] = [
        ("objectClass", &["pandoNumbers"]),
        ("pandoNumberAttribute", &["uidNumber"]),
        ("pandoNumberClass", &["posixAccount"]),
        ("pandoNumberRange", &["1000-1009", "2000-"]),
        ("pandoNumberRequest", &["-1"]),
    ];
    rule(&mut client, "numbers", &numbers).unwrap();
    client
}

/// Imports into the closed directory and opens it again; the rejects come as one line each.
fn run(client: Client, ldif: &str) -> (Client, Imported, String) {
    let folder: Arc<TempDir> = Arc::clone(&client.folder);
    client.directory.shutdown();
    drop(client);
    let beside = TempDir::new().unwrap();
    let (input, rejects) = (beside.path().join("in"), beside.path().join("rejects"));
    std::fs::write(&input, ldif).unwrap();
    let options = ImportOptions {
        threads: 2,
        // Rules ask for the values of all entries, so a new database is made all the same.
        place: WrittenTo::Old,
        ..ImportOptions::new(rejects.clone())
    };
    let source = Box::new(Files::new(vec![input], Format::Ldif));
    let imported = import(folder.path(), source, &options, &Meter::default()).unwrap();
    let report = replica::check::check(folder.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    let mut client = Client::open(folder);
    client.bind(ADMIN, PASSWORD);
    let rejects = std::fs::read_to_string(rejects).unwrap_or_default();
    (
        client,
        imported,
        rejects.replace("\n# ", "").replace("\n ", ""),
    )
}

fn person(name: &str, unit: &str, more: &str) -> String {
    format!("dn: cn={name},ou={unit},{BASE}\nobjectClass: inetOrgPerson\nsn: {name}\n{more}\n")
}

fn account(name: &str, more: &str) -> String {
    format!(
        "dn: uid={name},ou=People,{BASE}\nobjectClass: account\nobjectClass: posixAccount\ncn: x\n\
         gidNumber: 1\nhomeDirectory: /home\n{more}\n"
    )
}

fn number(client: &mut Client, name: &str) -> String {
    let dn = format!("uid={name},ou=People,{BASE}");
    let found = client.search(&dn, Scope::BaseObject, "(uid=*)", &["uidNumber"]);
    found.values("uidNumber").concat()
}

#[test]
fn a_value_that_is_held_is_rejected_with_its_holder() {
    let mut client = with_rules();
    let before: [(&str, &[&str]); 3] = [
        ("objectClass", &["inetOrgPerson"]),
        ("sn", &["x"]),
        ("mail", &["old@example.com"]),
    ];
    let old = format!("cn=old,ou=People,{BASE}");
    client.add(&old, &before);
    let ldif = [
        // One that comes before its superior falls under the rules when that has come.
        person("late,ou=Deep", "People", "mail: first@example.com\n"),
        person("a", "People", "mail: First@example.com\n"),
        person("b", "People", "mail: OLD@example.com\n"),
        person("c", "People", "uid: first@example.com\n"),
        person("d", "People", "mail: d@example.com\nuid: d@example.com\n"),
        person("e", "Others", "mail: first@example.com\n"),
        person("f", "People", "mail: f@example.com\nmail: d@example.com\n"),
        person("g", "People", "mail: f@example.com\n"),
        format!("dn: ou=Deep,ou=People,{BASE}\nobjectClass: organizationalUnit\n"),
    ];
    let (mut client, imported, rejects) = run(client, &ldif.join("\n"));
    assert_eq!((imported.entries, imported.rejected), (5, 4), "{rejects}");
    let a = format!("cn=a,ou=People,{BASE}");
    let d = format!("cn=d,ou=People,{BASE}");
    for (who, what, holder) in [
        (
            "cn=late,ou=Deep",
            "mail: the value \"first@example.com\"",
            &a,
        ),
        ("cn=b", "mail: the value \"OLD@example.com\"", &old),
        ("cn=c", "mail: the value \"first@example.com\"", &a),
        ("cn=f", "mail: the value \"d@example.com\"", &d),
    ] {
        let said = format!("{what} is held by \"{holder}\", and no two entries may share it");
        let told = rejects
            .split("\n\n")
            .find(|it| it.contains(&format!("dn: {who},")));
        assert!(
            told.is_some_and(|it| it.contains(&said)),
            "{said}\n{rejects}"
        );
    }
    // Afterwards too.
    let result = client.add(&format!("cn=h,ou=People,{BASE}"), &before);
    assert!(result.diagnostic.contains(&old), "{}", result.diagnostic);
}

#[test]
fn numbers_are_given_in_the_order_of_the_input() {
    let client = with_rules();
    let mut ldif: Vec<String> = (0..7).map(|it| account(&format!("a{it}"), "")).collect();
    ldif.push(account("given", "uidNumber: 1003\n"));
    ldif.push(account("asked", "uidNumber: -1\n"));
    ldif.push(account("a1", "description: again\n"));
    ldif.push(person("none", "People", ""));
    ldif.push(account("last", ""));
    let (mut client, imported, rejects) = run(client, &ldif.join("\n"));
    assert_eq!((imported.entries, imported.rejected), (11, 1), "{rejects}");
    assert!(
        rejects.contains("an entry with this name already exists"),
        "{rejects}"
    );
    // 1003 is passed over, since an entry of the same piece holds it.
    for (name, expected) in [
        ("a0", "1000"),
        ("a2", "1002"),
        ("a3", "1004"),
        ("a6", "1007"),
        ("given", "1003"),
        ("asked", "1008"),
        ("last", "1009"),
    ] {
        assert_eq!(number(&mut client, name), expected, "{name}");
    }
    let found = client.search(BASE, Scope::WholeSubtree, "(uidNumber=1008)", &["1.1"]);
    assert_eq!(found.names(), [format!("uid=asked,ou=People,{BASE}")]);
    // The next import and single writes do not give these numbers again.
    client.delete_with(&format!("uid=last,ou=People,{BASE}"), &[]);
    let (mut client, _, rejects) = run(client, &account("next", ""));
    assert_eq!(number(&mut client, "next"), "2000", "{rejects}");
    let account: [(&str, &[&str]); 4] = [
        ("objectClass", &["account", "posixAccount"]),
        ("cn", &["x"]),
        ("gidNumber", &["1"]),
        ("homeDirectory", &["/"]),
    ];
    client.add(&format!("uid=single,ou=People,{BASE}"), &account);
    assert_eq!(number(&mut client, "single"), "2001");
}

#[test]
fn numbers_that_entries_bring_count_as_given_where_a_range_stands() {
    let client = with_rules();
    let bring = |it: u32| account(&format!("a{it}"), &format!("uidNumber: {it}\n"));
    let ldif: Vec<String> = (1000..1006).chain([1008]).map(bring).collect();
    let (mut client, imported, rejects) = run(client, &ldif.join("\n"));
    assert_eq!((imported.entries, imported.rejected), (7, 0), "{rejects}");
    // Also when its entry is gone; what nobody had is given, whatever lies above.
    for name in ["a1003", "a1008"] {
        client.delete_with(&format!("uid={name},ou=People,{BASE}"), &[]);
    }
    let account: [(&str, &[&str]); 4] = [
        ("objectClass", &["account", "posixAccount"]),
        ("cn", &["x"]),
        ("gidNumber", &["1"]),
        ("homeDirectory", &["/"]),
    ];
    for (name, expected) in [("x", "1006"), ("y", "1007"), ("z", "1008")] {
        client.add(&format!("uid={name},ou=People,{BASE}"), &account);
        assert_eq!(number(&mut client, name), expected);
    }
}

#[test]
fn numbers_that_share_their_values_with_others_are_passed_over() {
    let mut client = Client::admin();
    unit(&mut client, "People");
    let numbers: [(&str, &[&str]); 4] = [
        ("objectClass", &["pandoNumbers"]),
        ("pandoNumberAttribute", &["uidNumber"]),
        ("pandoNumberClass", &["posixAccount"]),
        ("pandoNumberRange", &["1000-1999"]),
    ];
    rule(&mut client, "numbers", &numbers).unwrap();
    let shared: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["uidNumber", "uid"]),
    ];
    rule(&mut client, "shared", &shared).unwrap();
    let ldif = [
        person("p", "People", "uid: 1000\n"),
        account("a", ""),
        account("b", ""),
    ];
    let (mut client, imported, rejects) = run(client, &ldif.join("\n"));
    assert_eq!((imported.entries, imported.rejected), (3, 0), "{rejects}");
    assert_eq!(number(&mut client, "a"), "1001");
    assert_eq!(number(&mut client, "b"), "1002");
}

#[test]
fn when_no_number_is_left_entries_are_rejected() {
    let mut client = Client::admin();
    unit(&mut client, "People");
    let numbers: [(&str, &[&str]); 4] = [
        ("objectClass", &["pandoNumbers"]),
        ("pandoNumberAttribute", &["uidNumber"]),
        ("pandoNumberClass", &["posixAccount"]),
        ("pandoNumberRange", &["1-2"]),
    ];
    rule(&mut client, "numbers", &numbers).unwrap();
    let ldif: Vec<String> = (0..4).map(|it| account(&format!("a{it}"), "")).collect();
    let (_, imported, rejects) = run(client, &ldif.join("\n"));
    assert_eq!((imported.entries, imported.rejected), (2, 2), "{rejects}");
    assert!(
        rejects.contains("all numbers for uidNumber in 1-2 are given away"),
        "{rejects}"
    );
}
