//! Groups: memberOf, isMemberOf, assertions in chain, dynamic groups.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::groups::{BASE, dn, group};
use kit::{ADMIN, Client, PASSWORD};
use proptest::prelude::*;
use protocol::control::{Explanation, PagedResults};
use protocol::{ChangeOperation, OwnedControl, ResultCode, Scope, SearchRequest, oid};
use std::collections::BTreeSet;

const IN_CHAIN: &str = "1.2.840.113556.1.4.1941";

fn dynamic(client: &mut Client, name: &str, url: &str) {
    let attributes = [("objectClass", &["groupOfURLs"][..]), ("memberURL", &[url])];
    let result = client.add(&dn(name), &attributes);
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
}

/// The first RDN values of what a filter finds.
fn found(client: &mut Client, filter: &str) -> BTreeSet<String> {
    let answer = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
    let code = answer.result.code;
    assert_eq!(code, ResultCode::SUCCESS, "{}", answer.result.diagnostic);
    answer.names().into_iter().map(leaf).collect()
}

fn leaf(name: &str) -> String {
    name[3..name.find(',').unwrap()].to_owned()
}

fn groups(client: &mut Client, name: &str, attribute: &str) -> BTreeSet<String> {
    let answer = client.search(
        &dn(name),
        Scope::BaseObject,
        "(objectClass=*)",
        &[attribute],
    );
    let values = answer.values(attribute);
    values.into_iter().map(leaf).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

/// a and b are people; inner holds a, outer holds inner and b, and both hold each other.
fn nested() -> Client {
    let mut client = Client::admin();
    for person in ["a", "b", "c"] {
        client.add_person(person);
    }
    group(&mut client, "inner", &["a", "outer"]);
    group(&mut client, "outer", &["inner", "b"]);
    client
}

#[test]
fn member_of_names_direct_groups_and_is_member_of_all() {
    let mut client = nested();
    assert_eq!(groups(&mut client, "a", "memberOf"), set(&["inner"]));
    let both = set(&["inner", "outer"]);
    assert_eq!(groups(&mut client, "a", "isMemberOf"), both);
    assert_eq!(groups(&mut client, "inner", "isMemberOf"), both);
    assert_eq!(groups(&mut client, "c", "isMemberOf"), set(&[]));
    let add = (ChangeOperation::Delete, "member", &[dn("a")][..]);
    let values: Vec<&str> = add.2.iter().map(String::as_str).collect();
    client.modify(&dn("inner"), &[(add.0, add.1, &values)]);
    assert_eq!(groups(&mut client, "a", "memberOf"), set(&[]));
}

#[test]
fn membership_is_shown_when_it_is_asked_for() {
    let mut client = nested();
    let mut names = |attributes: &[&str]| {
        let found = client.search(&dn("a"), Scope::BaseObject, "(objectClass=*)", attributes);
        let (_, attributes) = found.entries.into_iter().next().unwrap();
        attributes
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    let has = |names: &[String], name: &str| names.iter().any(|it| it == name);
    assert!(!has(&names(&["*"]), "memberOf"));
    assert!(has(&names(&["+"]), "memberOf") && has(&names(&["+"]), "isMemberOf"));
    let change = (
        ChangeOperation::Add,
        "pandoShownMembership",
        &["memberOf"][..],
    );
    let result = client.modify("cn=config", &[change]);
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    let mut names = |attributes: &[&str]| {
        let found = client.search(&dn("a"), Scope::BaseObject, "(objectClass=*)", attributes);
        let (_, attributes) = found.entries.into_iter().next().unwrap();
        attributes
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    assert!(has(&names(&["+"]), "memberOf") && !has(&names(&["+"]), "isMemberOf"));
    assert!(has(&names(&["isMemberOf"]), "isMemberOf"));
    let change = (
        ChangeOperation::Replace,
        "pandoShownMembership",
        &["cn"][..],
    );
    let refused = client.modify("cn=config", &[change]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn types_only_shows_no_groups() {
    let mut client = nested();
    let found = client.search_with(
        &dn("a"),
        Scope::BaseObject,
        "(objectClass=*)",
        &["memberOf", "isMemberOf"],
        |request| request.types_only = true,
        &[],
    );
    assert_eq!(found.values("memberOf"), [""; 0]);
    assert_eq!(found.entries[0].1.len(), 2);
}

#[test]
fn assertions_about_groups() {
    let mut client = nested();
    for (filter, expected) in [
        ("(memberOf=cn=inner,DC=example,dc=com)", &["a", "outer"][..]),
        (
            "(isMemberOf=cn=outer,dc=example,dc=com)",
            &["a", "b", "inner", "outer"],
        ),
        ("(memberOf=cn=nobody,dc=example,dc=com)", &[]),
        ("(&(cn=a)(isMemberOf=cn=outer,dc=example,dc=com))", &["a"]),
        ("(&(cn=c)(isMemberOf=cn=outer,dc=example,dc=com))", &[]),
        ("(&(objectClass=person)(!(memberOf=*)))", &["c"]),
        (
            "(&(objectClass=person)(!(memberOf=cn=inner,dc=example,dc=com)))",
            &["b", "c"],
        ),
        ("(&(objectClass=person)(memberOf=*))", &["a", "b"]),
        (
            "(memberOf:1.2.840.113556.1.4.1941:=cn=outer,dc=example,dc=com)",
            &["a", "b", "inner", "outer"],
        ),
        (
            "(&(cn=a)(memberOf:1.2.840.113556.1.4.1941:=cn=outer,dc=example,dc=com))",
            &["a"],
        ),
        (
            "(member:1.2.840.113556.1.4.1941:=cn=a,dc=example,dc=com)",
            &["inner", "outer"],
        ),
        (
            "(member:inChainMatch:=cn=b,dc=example,dc=com)",
            &["inner", "outer"],
        ),
        (
            "(member:1.2.840.113556.1.4.1941:=cn=c,dc=example,dc=com)",
            &[],
        ),
    ] {
        assert_eq!(found(&mut client, filter), set(expected), "{filter}");
    }
    let base = |client: &mut Client, name: &str, filter: &str| {
        let answer = client.search(&dn(name), Scope::BaseObject, filter, &["1.1"]);
        answer.entries.len()
    };
    let filter = format!("(memberOf:{IN_CHAIN}:=cn=outer,{BASE})");
    assert_eq!(base(&mut client, "a", &filter), 1);
    assert_eq!(base(&mut client, "c", &filter), 0);
    let filter = format!("(member:{IN_CHAIN}:=cn=a,{BASE})");
    assert_eq!(base(&mut client, "outer", &filter), 1);
}

#[test]
fn links_other_than_membership_form_chains_too() {
    let mut client = Client::admin();
    let attributes = [
        ("objectClass", &["pandoIndex"][..]),
        ("pandoIndexAttribute", &["seeAlso"]),
        ("pandoIndexKind", &["equality"]),
    ];
    client.add_person("chief");
    for (name, above) in [("one", "chief"), ("two", "one"), ("three", "two")] {
        let see = dn(above);
        let person = [
            ("objectClass", &["person"][..]),
            ("sn", &[name]),
            ("seeAlso", &[&see]),
        ];
        assert_eq!(client.add(&dn(name), &person).code, ResultCode::SUCCESS);
    }
    let filter = format!("(seeAlso:{IN_CHAIN}:=cn=one,{BASE})");
    let refused = client
        .search(BASE, Scope::WholeSubtree, &filter, &[])
        .result;
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(
        refused.diagnostic.contains("equality index on seeAlso"),
        "{}",
        refused.diagnostic
    );
    let added = client.add("cn=seeAlso,cn=indexes,cn=config", &attributes);
    assert_eq!(added.code, ResultCode::SUCCESS, "{}", added.diagnostic);
    loop {
        let answer = client.search(BASE, Scope::WholeSubtree, &filter, &["1.1"]);
        if answer.result.code == ResultCode::SUCCESS {
            break;
        }
        std::thread::yield_now();
    }
    assert_eq!(found(&mut client, &filter), set(&["two", "three"]));
    let refused = client.add(
        "cn=memberOf,cn=indexes,cn=config",
        &[
            attributes[0],
            ("pandoIndexAttribute", &["memberOf"]),
            attributes[2],
        ],
    );
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn dynamic_groups_have_members() {
    let mut client = nested();
    dynamic(
        &mut client,
        "found",
        "ldap:///dc=example,dc=com??sub?(&(objectClass=person)(cn=c))",
    );
    dynamic(
        &mut client,
        "elsewhere",
        "ldap://other/dc=example,dc=com??sub?(cn=c)",
    );
    group(&mut client, "above", &["found"]);
    assert_eq!(
        groups(&mut client, "c", "isMemberOf"),
        set(&["above", "found"])
    );
    assert_eq!(groups(&mut client, "c", "memberOf"), set(&[]));
    assert_eq!(
        found(&mut client, "(isMemberOf=cn=found,dc=example,dc=com)"),
        set(&["c"])
    );
    let above = "(isMemberOf=cn=above,dc=example,dc=com)";
    assert_eq!(found(&mut client, above), set(&["c", "found"]));
    let answer = client.search(
        &dn("found"),
        Scope::BaseObject,
        "(objectClass=*)",
        &["member"],
    );
    assert_eq!(answer.values("member"), [dn("c")]);
    let plain = client.search(&dn("found"), Scope::BaseObject, "(objectClass=*)", &["*"]);
    assert_eq!(plain.values("member"), [""; 0]);
    let mut compare = |attribute: &str, entry: &str, value: &str| {
        let answer = client.compare(&dn(entry), attribute, &dn(value));
        answer.result.code
    };
    assert_eq!(compare("member", "found", "c"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare("member", "found", "a"), ResultCode::COMPARE_FALSE);
    assert_eq!(
        compare("isMemberOf", "c", "above"),
        ResultCode::COMPARE_TRUE
    );
    assert_eq!(
        compare("memberOf", "c", "above"),
        ResultCode::NO_SUCH_ATTRIBUTE
    );
    assert_eq!(compare("memberOf", "a", "inner"), ResultCode::COMPARE_TRUE);
    let mut client = client.reopen();
    assert_eq!(client.bind(ADMIN, PASSWORD).code, ResultCode::SUCCESS);
    assert_eq!(
        groups(&mut client, "c", "isMemberOf"),
        set(&["above", "found"])
    );
}

#[test]
fn the_search_of_a_dynamic_group_sees_members() {
    let mut client = nested();
    let url = format!("ldap:///{BASE}??sub?(member={})", dn("a"));
    dynamic(&mut client, "holders", &url);
    let every = "(objectClass=*)";
    let answer = client.search(&dn("holders"), Scope::BaseObject, every, &["member"]);
    assert_eq!(answer.values("member"), [dn("inner")]);
    assert_eq!(
        groups(&mut client, "inner", "isMemberOf"),
        set(&["holders", "inner", "outer"])
    );
    let found = found(&mut client, &format!("(isMemberOf={})", dn("holders")));
    assert!(found.contains("inner") && !found.contains("c"));
}

#[test]
fn nobody_writes_membership() {
    let mut client = nested();
    let value = dn("outer");
    let change = (ChangeOperation::Add, "memberOf", &[value.as_str()][..]);
    let refused = client.modify(&dn("c"), &[change]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn many_members_are_candidates_not_a_scan() {
    let mut client = Client::admin();
    let names: Vec<String> = (0..200).map(|it| format!("p{it}")).collect();
    for name in &names {
        client.add_person(name);
    }
    let members: Vec<&str> = names.iter().take(150).map(String::as_str).collect();
    group(&mut client, "many", &members);
    let expected: BTreeSet<String> = members.iter().map(|it| (*it).to_owned()).collect();
    for filter in [
        "(memberOf=cn=many,dc=example,dc=com)",
        "(isMemberOf=cn=many,dc=example,dc=com)",
        "(&(objectClass=person)(memberOf=cn=many,dc=example,dc=com))",
        "(memberOf:1.2.840.113556.1.4.1941:=cn=many,dc=example,dc=com)",
    ] {
        assert_eq!(found(&mut client, filter), expected, "{filter}");
    }
    let rest = "(&(objectClass=person)(!(memberOf=cn=many,dc=example,dc=com)))";
    assert_eq!(found(&mut client, rest).len(), 50);
}

/// Members of a group that is too large to be listed.
const MANY: usize = 5_000;
/// Others, so many that a scan is dearer.
const OTHERS: usize = 3_000;

/// People of whom the first many are members of a group.
fn crowd() -> Client {
    let mut ldif = String::new();
    for at in 0..MANY + OTHERS {
        let name = dn(&format!("p{at}"));
        ldif.push_str(&format!(
            "dn: {name}\nobjectClass: person\nsn: p{}\n\n",
            at % 10
        ));
    }
    ldif.push_str(&format!("dn: {}\nobjectClass: groupOfEntries\n", dn("big")));
    for at in 0..MANY {
        ldif.push_str(&format!("member: {}\n", dn(&format!("p{at}"))));
    }
    Client::filled(&ldif)
}

#[test]
fn members_of_a_large_group_are_not_listed() {
    let mut client = crowd();
    let count = |client: &mut Client, filter: &str| found(client, filter).len();
    let member = "(memberOf=cn=big,dc=example,dc=com)";
    assert_eq!(count(&mut client, member), MANY);
    let and = format!("(&{member}(sn=p7))");
    assert_eq!(count(&mut client, &and), MANY / 10);
    let not = format!("(&(objectClass=person)(!{member}))");
    assert_eq!(count(&mut client, &not), OTHERS);
    let or = format!("(|{member}(cn=p5500))");
    assert_eq!(count(&mut client, &or), MANY + 1);
    let plan = {
        let control = OwnedControl::new(oid::EXPLAIN, true);
        let (scope, none) = (Scope::WholeSubtree, |_: &mut SearchRequest<'_>| ());
        let answer = client.search_with(BASE, scope, member, &["1.1"], none, &[control]);
        let value = answer.controls[0].1.clone().unwrap();
        let explanation = Explanation::decode(&value).unwrap();
        explanation.regions[0].plan.to_owned()
    };
    assert!(plan.starts_with("members of a group (5000)"), "{plan}");
    // In pages, between which the group changes.
    let mut cookie = Vec::new();
    let mut seen = BTreeSet::new();
    for changed in 0.. {
        let page = PagedResults {
            size: 900,
            cookie: &cookie,
        };
        let page = OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| page.encode(out));
        let scope = Scope::WholeSubtree;
        let answer = client.search_with(BASE, scope, member, &["1.1"], |_| (), &[page]);
        assert_eq!(answer.result.code, ResultCode::SUCCESS);
        seen.extend(answer.names().into_iter().map(leaf));
        let value = answer.controls[0].1.clone().unwrap();
        cookie = PagedResults::decode(&value).unwrap().cookie.to_vec();
        if cookie.is_empty() {
            break;
        }
        // The last ones leave it, one after the other.
        let gone = dn(&format!("p{}", MANY - 1 - changed));
        let leave = (ChangeOperation::Delete, "member", &[gone.as_str()][..]);
        assert_eq!(
            client.modify(&dn("big"), &[leave]).code,
            ResultCode::SUCCESS
        );
    }
    assert_eq!(seen.len(), MANY - 5);
    assert!(seen.contains("p0") && !seen.contains("p4999"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// The indexes of any links give the result of a walk over a table of them.
    #[test]
    fn any_links_are_followed(links in prop::collection::btree_set((0usize..8, 0usize..8), 0..24)) {
        let mut client = Client::admin();
        for from in 0..8 {
            let members = links.iter().filter(|it| it.0 == from);
            let members: Vec<String> = members.map(|it| format!("g{}", it.1)).collect();
            let members: Vec<&str> = members.iter().map(String::as_str).collect();
            group(&mut client, &format!("g{from}"), &members);
        }
        for start in 0..8 {
            let mut above = BTreeSet::new();
            loop {
                let more: Vec<usize> = links
                    .iter()
                    .filter(|(group, member)| {
                        (*member == start || above.contains(member)) && !above.contains(group)
                    })
                    .map(|it| it.0)
                    .collect();
                if more.is_empty() {
                    break;
                }
                above.extend(more);
            }
            let above: BTreeSet<String> = above.into_iter().map(|it| format!("g{it}")).collect();
            let name = format!("g{start}");
            prop_assert_eq!(&groups(&mut client, &name, "isMemberOf"), &above);
            let filter = format!("(member:{IN_CHAIN}:=cn={name},{BASE})");
            prop_assert_eq!(&found(&mut client, &filter), &above);
            for group in 0..8 {
                let filter = format!("(memberOf:{IN_CHAIN}:=cn=g{group},{BASE})");
                let below = found(&mut client, &filter);
                prop_assert_eq!(below.contains(&name), above.contains(&format!("g{group}")));
            }
        }
    }
}
