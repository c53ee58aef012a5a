//! `memberUid` (RFC 2307): many of them are kept as members are, few in the row; nobody can tell.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;
mod node;

use kit::{Client, success};
use node::Node;
use protocol::control::Explanation;
use protocol::{ChangeOperation, OwnedControl, ResultCode, Scope, oid};
use std::collections::BTreeSet;
use transfer::import::Format;

const BASE: &str = "dc=example,dc=com";
const GROUP: &str = "cn=g,dc=example,dc=com";
/// More than stay in a row.
const MANY: usize = 400;

fn uids(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|at| format!("user.{at}")).collect()
}

fn add_group(client: &mut Client, dn: &str, uids: &[String]) {
    let uids: Vec<&str> = uids.iter().map(String::as_str).collect();
    let mut attributes = vec![
        ("objectClass", &["groupOfEntries", "posixGroup"][..]),
        ("gidNumber", &["5000"][..]),
    ];
    if !uids.is_empty() {
        attributes.push(("memberUid", &uids));
    }
    success(&client.add(dn, &attributes));
}

fn change(client: &mut Client, how: ChangeOperation, uids: &[&str]) -> ResultCode {
    client.modify(GROUP, &[(how, "memberUid", uids)]).code
}

fn shown(client: &mut Client) -> BTreeSet<String> {
    let every = "(objectClass=*)";
    let answer = client.search(GROUP, Scope::BaseObject, every, &["memberUid"]);
    success(&answer.result);
    let values = answer.values("memberUid").into_iter();
    values.map(str::to_owned).collect()
}

fn found(client: &mut Client, filter: &str) -> Vec<String> {
    let answer = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
    success(&answer.result);
    answer.names().into_iter().map(str::to_owned).collect()
}

fn compared(client: &mut Client, value: &str) -> ResultCode {
    client.compare(GROUP, "memberUid", value).result.code
}

fn plan(client: &mut Client, filter: &str) -> String {
    let explain = OwnedControl::new(oid::EXPLAIN, true);
    let scope = Scope::WholeSubtree;
    let answer = client.search_with(BASE, scope, filter, &["1.1"], |_| (), &[explain]);
    let value = answer.controls[0].1.as_deref().unwrap();
    Explanation::decode(value).unwrap().regions[0]
        .plan
        .to_owned()
}

#[test]
fn a_group_grows_and_shrinks_and_stays_the_same_to_see() {
    use ChangeOperation::{Add, Delete, Replace};
    let mut client = Client::admin();
    add_group(&mut client, GROUP, &[]);
    let all = uids(0..MANY);
    let mut expected = BTreeSet::new();
    for part in all.chunks(50) {
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        assert_eq!(change(&mut client, Add, &part), ResultCode::SUCCESS);
        expected.extend(part.iter().map(|it| (*it).to_owned()));
        assert_eq!(shown(&mut client), expected);
        for (uid, holders) in [("user.7", 1), ("user.9999", 0), ("USER.7", 0)] {
            let filter = format!("(memberUid={uid})");
            assert_eq!(found(&mut client, &filter).len(), holders, "{filter}");
        }
        let exists = change(&mut client, Add, &["new", "user.3"]);
        assert_eq!(exists, ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
        let missing = change(&mut client, Delete, &["user.3", "nobody"]);
        assert_eq!(missing, ResultCode::NO_SUCH_ATTRIBUTE);
        assert_eq!(compared(&mut client, "user.7"), ResultCode::COMPARE_TRUE);
        assert_eq!(compared(&mut client, "nobody"), ResultCode::COMPARE_FALSE);
    }
    for part in all.chunks(90) {
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        assert_eq!(change(&mut client, Delete, &part), ResultCode::SUCCESS);
        expected.retain(|it| !part.contains(&it.as_str()));
        if !expected.is_empty() {
            assert_eq!(shown(&mut client), expected);
        }
    }
    assert!(found(&mut client, "(memberUid=*)").is_empty());
    assert_eq!(change(&mut client, Add, &["one"]), ResultCode::SUCCESS);
    assert_eq!(change(&mut client, Replace, &["two"]), ResultCode::SUCCESS);
    assert_eq!(found(&mut client, "(memberUid=two)"), [GROUP]);
    let many: Vec<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(change(&mut client, Replace, &many), ResultCode::SUCCESS);
    assert!(found(&mut client, "(memberUid=two)").is_empty());
    assert_eq!(change(&mut client, Replace, &[]), ResultCode::SUCCESS);
    assert!(found(&mut client, "(memberUid=user.7)").is_empty());
    client.check();
}

#[test]
fn a_uid_that_reads_like_a_name_is_none() {
    let mut client = Client::admin();
    client.add_person("ada");
    let mut all = uids(0..MANY);
    all.push("cn=ada,dc=example,dc=com".to_owned());
    all.push("dc=x".to_owned());
    add_group(&mut client, GROUP, &all);
    success(&client.add(
        "cn=names,dc=example,dc=com",
        &[
            ("objectClass", &["groupOfNames"]),
            ("member", &["cn=ada,dc=example,dc=com", "dc=x"]),
        ],
    ));
    let renamed = client.rename_with("cn=ada,dc=example,dc=com", "cn=eve", None, &[]);
    success(&renamed.result);
    assert_eq!(shown(&mut client), all.iter().cloned().collect());
    assert_eq!(
        found(&mut client, "(memberUid=cn=ada,dc=example,dc=com)"),
        [GROUP]
    );
    assert_eq!(found(&mut client, "(memberUid=dc=x)"), [GROUP]);
    assert!(found(&mut client, "(memberUid=cn=eve,dc=example,dc=com)").is_empty());
    assert_eq!(found(&mut client, "(member=dc=x)").len(), 1);
    let deleted = client.delete_with("cn=eve,dc=example,dc=com", &[]);
    success(&deleted.result);
    assert_eq!(shown(&mut client).len(), all.len());
    assert!(found(&mut client, "(memberOf=cn=g,dc=example,dc=com)").is_empty());
    client.check();
}

#[test]
fn filters_find_groups_by_links_and_rows() {
    // Enough entries that a scan would be chosen where nothing helps.
    let person = |n: usize| {
        format!("dn: cn=p{n},{BASE}\nobjectClass: inetOrgPerson\nsn: p{n}\nuid: p{n}\n\n")
    };
    let mut client = Client::filled(&(0..5_000).map(person).collect::<String>());
    let small = "cn=small,dc=example,dc=com";
    add_group(&mut client, GROUP, &uids(0..MANY));
    let names = (ChangeOperation::Add, "description", &["x"][..]);
    success(&client.modify(GROUP, &[names]));
    // All values are links, so presence needs no index.
    let member = "cn=names,dc=example,dc=com";
    success(&client.add(
        member,
        &[
            ("objectClass", &["groupOfNames"]),
            ("member", &["cn=p1,dc=example,dc=com"]),
        ],
    ));
    assert_eq!(
        plan(&mut client, "(member=*)"),
        "links of member (1); about 1 candidates"
    );
    assert_eq!(found(&mut client, "(member=*)"), [member]);
    assert_eq!(found(&mut client, "(memberUid=*)"), [GROUP]);
    assert!(plan(&mut client, "(memberUid=*)").contains("links of memberUid (1)"));
    assert!(plan(&mut client, "(memberUid=user.3)").contains("links between entries (1)"));
    let own_rule = "(memberUid:caseExactMatch:=user.3)";
    assert_eq!(found(&mut client, own_rule), [GROUP]);
    // Some are in a row: an index finds these.
    add_group(&mut client, small, &uids(0..5));
    assert!(plan(&mut client, "(memberUid=*)").contains("scan"));
    let index = "cn=memberUid,cn=indexes,cn=config";
    let kinds = ["presence", "approximate"];
    success(&client.modify(index, &[(ChangeOperation::Add, "pandoIndexKind", &kinds)]));
    while ["(memberUid=*)", "(memberUid~=user.3)"]
        .iter()
        .any(|it| plan(&mut client, it).contains("scan"))
    {
        std::thread::yield_now();
    }
    for filter in ["(memberUid=*)", "(memberUid~=user.3)", "(memberUid=user.3)"] {
        let words = plan(&mut client, filter);
        assert!(!words.contains("scan"), "{filter}: {words}");
        let both: BTreeSet<String> = found(&mut client, filter).into_iter().collect();
        assert_eq!(both.len(), 2, "{filter}: {both:?}");
    }
    assert_eq!(found(&mut client, "(memberUid=user.39)"), [GROUP]);
    client.check();
}

#[test]
fn imports_and_exports_keep_them() {
    let node = Node::new(BASE, true);
    let mut ldif = String::new();
    for (name, count) in [("few", 3), ("many", MANY), ("more", MANY + 50)] {
        ldif.push_str(&format!(
            "dn: cn={name},{BASE}\nobjectClass: groupOfEntries\nobjectClass: posixGroup\n\
             gidNumber: 1\n"
        ));
        for uid in uids(0..count) {
            ldif.push_str(&format!("memberUid: {uid}\n"));
        }
        ldif.push('\n');
    }
    node.import(&ldif);
    node.check();
    let lines = |text: &str| {
        let lines = text.lines().filter(|it| it.starts_with("memberUid"));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines(&node.export()), lines(&ldif));
    // Once more, into a full node, which gives new ids.
    node.import(&format!("dn: cn=x,{BASE}\nobjectClass: device\n"));
    node.check();
    let after = node.export();
    assert_eq!(lines(&after), lines(&ldif));
    let other = Node::new(BASE, true);
    let file = other.file("copy.ldif", after.as_bytes());
    other.import_files(vec![file], Format::Ldif).unwrap();
    other.check();
    assert_eq!(lines(&other.export()), lines(&ldif));
}

/// Substrings of few and of many.
#[test]
fn parts_of_values_are_found() {
    let mut client = Client::admin();
    for count in [3, MANY] {
        let dn = format!("cn=g{count},{BASE}");
        add_group(&mut client, &dn, &uids(0..count));
        let of_many = format!("(memberUid=*er.{})", count - 1);
        assert_eq!(found(&mut client, &of_many), [dn]);
    }
    assert_eq!(found(&mut client, "(memberUid=user.*)").len(), 2);
    assert!(found(&mut client, "(memberUid=*nobody*)").is_empty());
}
