//! Groups are changed when their members get other names: for those who assert that nothing has
//! changed, and for those who follow the directory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::groups::{BASE, comes_to_change, dn, group, groups_of, is_changed, names, read, stamps};
use kit::{Client, success};
use protocol::{ChangeOperation, OwnedControl, ResultCode, oid};
use std::collections::BTreeSet;

fn asserting(filter: &str) -> OwnedControl {
    let encoded = protocol::parse_filter(filter).unwrap();
    OwnedControl::with_value(oid::ASSERTION, true, |out| out.extend(&encoded))
}

#[test]
fn a_group_is_changed_when_its_member_is_renamed() {
    let mut client = Client::admin();
    for name in ["a", "b"] {
        client.add_person(name);
    }
    group(&mut client, "g", &["a", "b"]);
    group(&mut client, "other", &["b"]);
    let (before, others) = (stamps(&mut client, "g"), stamps(&mut client, "other"));
    success(&client.rename_with(&dn("a"), "cn=z", None, &[]).result);
    is_changed(&mut client, "g", &before);
    assert_eq!(stamps(&mut client, "other"), others);
    let etag = before[1].first().unwrap();
    let old = asserting(&format!("(etag={etag})"));

    let change = (ChangeOperation::Replace, "description", &["seen"][..]);
    let refused = client.modify_with(&dn("g"), &[change], &[old]).result;
    assert_eq!(refused.code, ResultCode::ASSERTION_FAILED);
    // The name it has already is no news.
    let before = stamps(&mut client, "g");
    success(&client.rename_with(&dn("z"), "cn=z", None, &[]).result);
    assert_eq!(stamps(&mut client, "g"), before);
    // A group that is its own member is changed once, by who renames it.
    group(&mut client, "own", &["own"]);
    success(&client.rename_with(&dn("own"), "cn=self", None, &[]).result);
    let by = read(&mut client, "self", "modifiersName");
    assert_eq!(by, BTreeSet::from([kit::ADMIN.to_owned()]));
    client.check();
}

#[test]
fn a_group_is_changed_when_a_text_becomes_a_member_that_is_spelled_otherwise() {
    let mut client = Client::admin();
    group(&mut client, "g", &["Later"]);
    group(&mut client, "same", &["now"]);
    let (before, same) = (stamps(&mut client, "g"), stamps(&mut client, "same"));
    client.add_person("later");
    client.add_person("now");
    assert_eq!(read(&mut client, "g", "member"), names(&["later"]));
    is_changed(&mut client, "g", &before);
    assert_eq!(stamps(&mut client, "same"), same);
    client.check();
}

/// Groups that one entry is in: more than are changed with it.
const GROUPS: usize = 1_100;

#[test]
fn many_groups_of_a_renamed_member_are_changed_afterwards() {
    let mut client = Client::admin();
    client.add_person("a");
    let groups = groups_of(&mut client, "a", GROUPS);
    let before: Vec<_> = groups.iter().map(|it| stamps(&mut client, it)).collect();
    success(&client.rename_with(&dn("a"), "cn=z", None, &[]).result);
    assert_eq!(read(&mut client, &groups[0], "member"), names(&["z"]));
    // Ends in the middle of it; the next start goes on.
    let mut client = client.reopen();
    success(&client.bind(kit::ADMIN, kit::PASSWORD));
    for (name, before) in groups.iter().zip(&before) {
        comes_to_change(&mut client, name, before);
    }
    client.check();
}

#[test]
fn groups_are_changed_when_a_subtree_that_holds_members_moves() {
    let mut client = Client::admin();
    let unit = [("objectClass", &["organizationalUnit"][..])];
    for name in ["ou=top", "ou=inner,ou=top", "ou=place"] {
        success(&client.add(&format!("{name},{BASE}"), &unit));
    }
    // More than are looked at in the move itself.
    let many: Vec<String> = (0..5_000)
        .map(|at| format!("p{at},ou=inner,ou=top"))
        .collect();
    for name in &many {
        client.add_person(name);
    }
    let members: Vec<&str> = many.iter().map(String::as_str).collect();
    group(&mut client, "all", &members);
    group(&mut client, "last", &members[4_999..]);
    group(&mut client, "top", &[]);
    let top = [(
        ChangeOperation::Add,
        "member",
        &["ou=top,dc=example,dc=com"][..],
    )];
    success(&client.modify(&dn("top"), &top));
    group(&mut client, "other", &["nobody"]);
    let others = stamps(&mut client, "other");
    let changed = ["all", "last", "top"];
    let before = changed.map(|it| stamps(&mut client, it));
    let (top, to) = (format!("ou=top,{BASE}"), format!("ou=place,{BASE}"));
    success(&client.rename_with(&top, "ou=top", Some(&to), &[]).result);
    for (name, before) in changed.iter().zip(&before) {
        comes_to_change(&mut client, name, before);
    }
    assert_eq!(stamps(&mut client, "other"), others);
    client.check();
}
