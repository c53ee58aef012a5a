//! Values that no two entries share.

use crate::kit::{ADMIN, Client, PASSWORD};
use crate::{BASE, rule, unit};
use protocol::ChangeOperation::{Add, Delete, Replace};
use protocol::{LdapResult, ResultCode, Scope};
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;

const REFUSED: ResultCode = ResultCode::CONSTRAINT_VIOLATION;
const OK: ResultCode = ResultCode::SUCCESS;

/// A directory in which no two entries share a `mail` value.
fn with_rule(more: &[(&str, &[&str])]) -> Client {
    let mut client = Client::admin();
    unit(&mut client, "People");
    unit(&mut client, "Guests");
    let mut attributes: Vec<(&str, &[&str])> = vec![
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["mail"]),
    ];
    attributes.extend(more);
    rule(&mut client, "mail", &attributes).unwrap();
    client
}

fn person(client: &mut Client, name: &str, mail: &[&str]) -> LdapResult {
    let attributes: [(&str, &[&str]); 4] = [
        ("objectClass", &["inetOrgPerson"]),
        ("cn", &["x"]),
        ("sn", &["x"]),
        ("mail", mail),
    ];
    let filled = attributes.iter().filter(|(_, values)| !values.is_empty());
    client.add(
        &format!("uid={name},{BASE}"),
        &filled.copied().collect::<Vec<_>>(),
    )
}

#[test]
fn an_index_that_a_rule_needs_can_be_built_anew() {
    let mut client = with_rule(&[]);
    assert_eq!(person(&mut client, "a", &["a@x"]).code, OK);
    let index = "cn=mail,cn=indexes,cn=config";
    let gone = client.delete_with(index, &[]).result;
    assert_eq!(gone.code, ResultCode::CONSTRAINT_VIOLATION);
    for mark in ["1", "2"] {
        let change = (Replace, "pandoIndexRebuild", &[mark][..]);
        assert_eq!(client.modify(index, &[change]).code, OK);
        // The rule holds meanwhile.
        assert_eq!(person(&mut client, "b", &["A@x"]).code, REFUSED);
        assert_eq!(person(&mut client, mark, &[&format!("{mark}@x")]).code, OK);
    }
}

/// A client of a copy of the folder as a crash would leave it, opened again.
fn after_a_crash(client: &Client) -> Client {
    let (folder, crashed) = (client.folder.path(), TempDir::new().unwrap());
    fs::create_dir(crashed.path().join("log")).unwrap();
    for file in ["checkpoint", "pando.mdb", "log/00000001.log"] {
        fs::copy(folder.join(file), crashed.path().join(file)).unwrap();
    }
    let mut client = Client::open(Arc::new(crashed));
    assert_eq!(client.bind(ADMIN, PASSWORD).code, OK);
    client
}

#[test]
fn writes_under_a_rule_survive_a_crash_after_its_index_was_built() {
    let mut client = Client::admin();
    let index = "cn=employeeNumber,cn=indexes,cn=config";
    let definition: [(&str, &[&str]); 3] = [
        ("objectClass", &["pandoIndex"]),
        ("pandoIndexAttribute", &["employeeNumber"]),
        ("pandoIndexKind", &["equality"]),
    ];
    assert_eq!(client.add(index, &definition).code, OK);
    loop {
        let wanted = ["pandoIndexState"];
        let state = client.search(index, Scope::BaseObject, "(cn=*)", &wanted);
        if state.values("pandoIndexState") == ["ready"] {
            break;
        }
        std::thread::yield_now();
    }
    let unique: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["employeeNumber"]),
    ];
    rule(&mut client, "number", &unique).unwrap();
    for number in ["1", "2"] {
        let person: [(&str, &[&str]); 3] = [
            ("objectClass", &["inetOrgPerson"]),
            ("sn", &["x"]),
            ("employeeNumber", &[number]),
        ];
        let added = client.add(&format!("cn=p{number},{BASE}"), &person);
        assert_eq!(added.code, OK, "{}", added.diagnostic);
    }
    let mut again = after_a_crash(&client);
    let found = again.search(BASE, Scope::WholeSubtree, "(employeeNumber=*)", &["1.1"]);
    assert_eq!(found.names().len(), 2);
}

#[test]
fn a_value_has_one_holder() {
    let mut client = with_rule(&[]);
    assert_eq!(
        person(&mut client, "ada,ou=People", &["a@x", "b@x"]).code,
        OK
    );
    let refused = person(&mut client, "bob,ou=Guests", &["c@x", "A@X"]);
    assert_eq!(refused.code, REFUSED);
    assert_eq!(
        refused.diagnostic,
        format!(
            "mail: the value \"A@X\" is held by \"uid=ada,ou=People,{BASE}\", and no two entries \
             may share it"
        )
    );
    assert_eq!(person(&mut client, "bob,ou=Guests", &["c@x"]).code, OK);
    let bob = format!("uid=bob,ou=Guests,{BASE}");
    let mut modify = |changes: &[_]| client.modify(&bob, changes).code;
    assert_eq!(modify(&[(Add, "mail", &["b@x"])]), REFUSED);
    assert_eq!(modify(&[(Replace, "mail", &["d@x", "b@x"])]), REFUSED);
    // Its own values are no obstacle, nor is what a change does not touch.
    assert_eq!(modify(&[(Replace, "mail", &["c@x", "d@x"])]), OK);
    assert_eq!(modify(&[(Replace, "title", &["a@x"])]), OK);
}

#[test]
fn a_value_that_is_given_up_is_free() {
    let mut client = with_rule(&[]);
    assert_eq!(person(&mut client, "ada,ou=People", &["a@x"]).code, OK);
    let ada = format!("uid=ada,ou=People,{BASE}");
    assert_eq!(client.modify(&ada, &[(Delete, "mail", &["a@x"])]).code, OK);
    assert_eq!(person(&mut client, "bob,ou=People", &["a@x"]).code, OK);
    let bob = format!("uid=bob,ou=People,{BASE}");
    assert_eq!(client.delete_with(&bob, &[]).result.code, OK);
    assert_eq!(client.modify(&ada, &[(Add, "mail", &["a@x"])]).code, OK);
}

#[test]
fn several_attributes_share_their_values() {
    let mut client = Client::admin();
    unit(&mut client, "People");
    let attributes: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["mail", "uid"]),
    ];
    rule(&mut client, "both", &attributes).unwrap();
    assert_eq!(
        person(&mut client, "ada,ou=People", &["a@x", "ada"]).code,
        OK
    );
    assert_eq!(person(&mut client, "bob,ou=People", &["ada"]).code, REFUSED);
    assert_eq!(person(&mut client, "a@x,ou=People", &[]).code, REFUSED);
    let carl = "carl,ou=People";
    assert_eq!(person(&mut client, carl, &[]).code, OK);
    // A new name brings a value too.
    let carl = format!("uid={carl},{BASE}");
    let renamed = client.rename_with(&carl, "uid=A@X", None, &[]);
    assert_eq!(renamed.result.code, REFUSED);
    let renamed = client.rename_with(&carl, "uid=carla", None, &[]);
    assert_eq!(renamed.result.code, OK);
}

#[test]
fn a_rule_may_be_for_subtrees() {
    let people = format!("ou=People,{BASE}");
    let mut client = with_rule(&[("pandoBase", &[&people])]);
    assert_eq!(person(&mut client, "ada,ou=People", &["a@x"]).code, OK);
    assert_eq!(person(&mut client, "ada,ou=Guests", &["a@x"]).code, OK);
    assert_eq!(person(&mut client, "bob,ou=Guests", &["b@x"]).code, OK);
    assert_eq!(person(&mut client, "bob,ou=People", &["a@x"]).code, REFUSED);
    // Moves into the subtree.
    let mut into = |rdn: &str| {
        let from = format!("{rdn},ou=Guests,{BASE}");
        let moved = client.rename_with(&from, &format!("{rdn}1"), Some(&people), &[]);
        moved.result.code
    };
    assert_eq!(into("uid=ada"), REFUSED);
    assert_eq!(into("uid=bob"), OK);
}

#[test]
fn a_subtree_that_moves_is_looked_at_as_a_whole() {
    let people = format!("ou=People,{BASE}");
    let mut client = with_rule(&[("pandoBase", &[&people])]);
    assert_eq!(person(&mut client, "ada,ou=People", &["a@x"]).code, OK);
    let mut team = |name: &str, mails: [&str; 2]| {
        let class: (&str, &[&str]) = ("objectClass", &["organizationalUnit"]);
        let from = format!("ou={name},ou=Guests,{BASE}");
        assert_eq!(client.add(&from, &[class]).code, OK);
        for (at, mail) in mails.iter().enumerate() {
            let place = format!("m{at},ou={name},ou=Guests");
            assert_eq!(person(&mut client, &place, &[mail]).code, OK);
        }
        let rdn = format!("ou={name}");
        let moved = client.rename_with(&from, &rdn, Some(&people), &[]);
        (moved.result.code, moved.result.diagnostic)
    };
    assert_eq!(team("one", ["c@x", "d@x"]).0, OK);
    assert_eq!(team("two", ["e@x", "a@x"]).0, REFUSED);
    let (code, diagnostic) = team("three", ["f@x", "F@x"]);
    assert_eq!(code, REFUSED, "{diagnostic}");
    // A new name above a rule's subtree would leave the rule without its entries.
    let above = client.rename_with(&people, "ou=Staff", None, &[]);
    assert_eq!(above.result.code, OK);
    let back = format!("ou=Staff,{BASE}");
    let back = client.rename_with(&back, "ou=People", None, &[]);
    assert_eq!(back.result.code, OK, "{}", back.result.diagnostic);
}

fn group(client: &mut Client, name: &str, member: &str) {
    let attributes: [(&str, &[&str]); 2] =
        [("objectClass", &["groupOfNames"]), ("member", &[member])];
    let added = client.add(&format!("cn={name},{BASE}"), &attributes);
    assert_eq!(added.code, OK, "{}", added.diagnostic);
}

#[test]
fn members_of_groups_that_move_are_looked_at() {
    let mut client = Client::admin();
    for name in ["People", "Guests", "Team,ou=Guests"] {
        unit(&mut client, name);
    }
    let people = format!("ou=People,{BASE}");
    let unique: [(&str, &[&str]); 3] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["member"]),
        ("pandoBase", &[&people]),
    ];
    rule(&mut client, "member", &unique).unwrap();
    let (ada, bob) = (format!("cn=ada,{BASE}"), format!("cn=bob,{BASE}"));
    group(&mut client, "a,ou=People", &ada);
    group(&mut client, "b,ou=Guests", &ada);
    group(&mut client, "c,ou=Team,ou=Guests", &ada);
    group(&mut client, "d,ou=Guests", &bob);
    let mut into = |rdn: &str| {
        let from = format!("{rdn},ou=Guests,{BASE}");
        let moved = client.rename_with(&from, rdn, Some(&people), &[]);
        moved.result.code
    };
    assert_eq!(into("cn=b"), REFUSED);
    assert_eq!(into("ou=Team"), REFUSED);
    assert_eq!(into("cn=d"), OK);
}

#[test]
fn members_share_their_values_with_unique_members() {
    let mut client = Client::admin();
    let unique: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["member", "uniqueMember"]),
    ];
    rule(&mut client, "members", &unique).unwrap();
    let (ada, bob) = (format!("cn=ada,{BASE}"), format!("cn=bob,{BASE}"));
    group(&mut client, "a", &ada);
    let other: [(&str, &[&str]); 2] = [
        ("objectClass", &["groupOfUniqueNames"]),
        ("uniqueMember", &[&bob]),
    ];
    let name = format!("cn=b,{BASE}");
    assert_eq!(client.add(&name, &other).code, OK);
    let mut add = |member: &str| {
        client
            .modify(&name, &[(Add, "uniqueMember", &[member])])
            .code
    };
    assert_eq!(add(&ada), REFUSED);
    assert_eq!(add(&format!("cn=carl,{BASE}")), OK);
}

#[test]
fn a_rule_needs_an_index() {
    let mut client = Client::admin();
    let attributes = |attribute: &'static str| -> [(&str, Vec<&str>); 2] {
        [
            ("objectClass", vec!["pandoUnique"]),
            ("pandoUniqueAttribute", vec![attribute]),
        ]
    };
    let mut add = |name: &str, attribute: &'static str| {
        let attributes = attributes(attribute);
        let attributes = attributes.each_ref().map(|(name, it)| (*name, &it[..]));
        rule(&mut client, name, &attributes)
    };
    let problem = add("title", "title").unwrap_err();
    assert!(problem.contains("cn=title,cn=rules,cn=config"), "{problem}");
    assert!(problem.contains("needs an equality index"), "{problem}");
    let problem = add("none", "noSuchType").unwrap_err();
    assert!(problem.contains("no attribute type"), "{problem}");
    add("mail", "mail").unwrap();
    // Nor can the index be taken away while a rule needs it.
    let index = client.delete_with("cn=mail,cn=indexes,cn=config", &[]);
    assert_eq!(index.result.code, REFUSED);
    let gone = client.delete_with("cn=mail,cn=rules,cn=config", &[]);
    assert_eq!(gone.result.code, OK);
    let index = client.delete_with("cn=mail,cn=indexes,cn=config", &[]);
    assert_eq!(index.result.code, OK);
}

#[test]
fn rules_hold_after_a_restart() {
    let client = with_rule(&[]);
    let mut client = client.reopen();
    assert_eq!(client.bind(ADMIN, PASSWORD).code, OK);
    assert_eq!(person(&mut client, "ada,ou=People", &["a@x"]).code, OK);
    assert_eq!(person(&mut client, "bob,ou=People", &["a@x"]).code, REFUSED);
}

#[test]
fn what_was_there_before_the_rule_is_no_obstacle_to_other_changes() {
    let mut client = Client::admin();
    unit(&mut client, "People");
    let twice: [(&str, &[&str]); 2] = [("ada", &["a@x", "b@x"]), ("bob", &["a@x", "c@x"])];
    for (name, mails) in twice {
        let place = format!("{name},ou=People");
        assert_eq!(person(&mut client, &place, mails).code, OK);
    }
    let unique: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["mail"]),
    ];
    rule(&mut client, "mail", &unique).unwrap();
    let bob = format!("uid=bob,ou=People,{BASE}");
    let mut modify = |changes: &[_]| client.modify(&bob, changes).code;
    // a@x stays as it is, whatever becomes of the values beside it.
    assert_eq!(modify(&[(Delete, "mail", &["c@x"])]), OK);
    assert_eq!(modify(&[(Add, "mail", &["d@x"])]), OK);
    assert_eq!(modify(&[(Add, "mail", &["b@x"])]), REFUSED);
    assert_eq!(modify(&[(Replace, "mail", &["A@x", "d@x"])]), REFUSED);
    assert_eq!(modify(&[(Replace, "mail", &["d@x"])]), OK);
    // Once it was given up, it is another's.
    assert_eq!(modify(&[(Add, "mail", &["a@x"])]), REFUSED);
}

#[test]
fn a_check_finds_what_was_there_before_the_rule() {
    let mut client = Client::admin();
    unit(&mut client, "People");
    for name in ["ada", "bob"] {
        let place = format!("{name},ou=People");
        assert_eq!(person(&mut client, &place, &["a@x"]).code, OK);
    }
    let attributes: [(&str, &[&str]); 2] = [
        ("objectClass", &["pandoUnique"]),
        ("pandoUniqueAttribute", &["mail"]),
    ];
    rule(&mut client, "mail", &attributes).unwrap();
    client.directory.shutdown();
    let folder = std::sync::Arc::clone(&client.folder);
    drop(client);
    let report = replica::check::check(folder.path()).unwrap();
    assert_eq!(
        report.problems,
        [format!(
            "mail: \"uid=ada,ou=People,{BASE}\" and \"uid=bob,ou=People,{BASE}\" share the value \
             \"a@x\", which a rule in cn=rules,cn=config says is unique"
        )]
    );
}
