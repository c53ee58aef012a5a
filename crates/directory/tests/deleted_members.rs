//! An entry in very many groups is deleted, or added under a name that they have as a text, in a
//! short write: its groups change afterwards, in slices between the writes of others.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::groups::{
    BASE, comes_to_change, dn, found, group, groups_of, is_changed, keep_deleted_members, names,
    read, stamps,
};
use kit::{Client, success};
use protocol::control::{SyncMode, SyncRequest};
use protocol::{OwnedControl, ResultCode, Scope, oid};
use std::collections::{BTreeMap, BTreeSet};

/// Groups that one entry is in: more than two writes of the server change.
const GROUPS: usize = 1_100;
/// Groups that one write changes at most.
const AT_ONCE: usize = 512;

/// A directory with an entry in many groups, some of which have another member, too.
fn popular() -> (Client, Vec<String>) {
    let mut client = Client::admin();
    for name in ["a", "b"] {
        client.add_person(name);
    }
    let groups = groups_of(&mut client, "a", GROUPS);
    group(&mut client, "both", &["a", "b"]);
    (client, groups)
}

/// Follows everything below the base from now on.
fn follow(client: &mut Client) {
    let asked = SyncRequest {
        mode: SyncMode::RefreshAndPersist,
        cookie: None,
        reload_hint: false,
    };
    let control = OwnedControl::with_value(oid::SYNC_REQUEST, true, |out| asked.encode(out));
    let scope = Scope::WholeSubtree;
    client.search_with(BASE, scope, "(cn=*)", &["member"], |_| (), &[control]);
}

/// The entries that the followed search tells until it has told these.
fn told(client: &mut Client, expected: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let mut told = BTreeMap::new();
    while !expected.iter().all(|it| told.contains_key(it)) {
        let (answer, _) = client.news();
        for (name, attributes) in answer.entries {
            let members = attributes.into_iter().flat_map(|(_, values)| values);
            told.insert(name, members.collect());
        }
        std::thread::yield_now();
    }
    told
}

/// How many of these entries were changed by each write.
fn changed_together(client: &mut Client, groups: &[String]) -> BTreeMap<String, usize> {
    let mut writes = BTreeMap::new();
    for name in groups {
        let csn = read(client, name, "entryCSN").into_iter().next().unwrap();
        let time = csn.split('#').next().unwrap().to_owned();
        *writes.entry(time).or_default() += 1;
    }
    writes
}

#[test]
fn an_entry_in_many_groups_is_gone_at_once_and_its_groups_change_in_slices() {
    let (mut client, groups) = popular();
    let mut follower = client.another();
    success(&follower.bind(kit::ADMIN, kit::PASSWORD));
    follow(&mut follower);
    let before: Vec<_> = groups.iter().map(|it| stamps(&mut client, it)).collect();
    success(&client.delete_with(&dn("a"), &[]).result);
    // From the answer on nobody sees it, whatever its groups look like.
    assert_eq!(
        found(&mut client, &format!("(member={})", dn("a"))),
        names(&[])
    );
    assert_eq!(found(&mut client, "(cn=a)"), names(&[]));
    assert_eq!(found(&mut client, "(member=*)"), names(&["both"]));
    assert_eq!(read(&mut client, "both", "member"), names(&["b"]));
    for name in &groups {
        assert_eq!(read(&mut client, name, "member"), names(&[]), "{name}");
        let held = client.compare(&dn(name), "member", &dn("a")).result.code;
        assert_ne!(held, ResultCode::COMPARE_TRUE, "{name}");
    }
    // The name is free, and groups do not name who gets it next.
    client.add_person("a");
    assert_eq!(read(&mut client, "a", "memberOf"), names(&[]));
    for (name, before) in groups.iter().zip(&before) {
        comes_to_change(&mut client, name, before);
    }
    let writes = changed_together(&mut client, &groups);
    assert!(writes.values().all(|it| *it <= AT_ONCE), "{writes:?}");
    let expected: BTreeSet<String> = groups.iter().map(|it| dn(it)).collect();
    for (name, members) in told(&mut follower, &expected) {
        assert!(
            !expected.contains(&name) || members.is_empty(),
            "{name}: {members:?}"
        );
    }
    drop(follower);
    assert_eq!(read(&mut client, "a", "memberOf"), names(&[]));
    client.check();
}

#[test]
fn what_a_deleted_entry_left_in_groups_is_done_after_a_restart() {
    let (mut client, groups) = popular();
    let before: Vec<_> = groups.iter().map(|it| stamps(&mut client, it)).collect();
    success(&client.delete_with(&dn("a"), &[]).result);
    let mut client = client.reopen();
    success(&client.bind(kit::ADMIN, kit::PASSWORD));
    for (name, before) in groups.iter().zip(&before) {
        assert_eq!(read(&mut client, name, "member"), names(&[]), "{name}");
        comes_to_change(&mut client, name, before);
    }
    client.check();
}

#[test]
fn the_name_of_an_entry_stays_in_many_groups_if_the_setting_says_so() {
    let (mut client, groups) = popular();
    keep_deleted_members(&mut client, "refuse");
    let refused = client.delete_with(&dn("a"), &[]).result;
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    keep_deleted_members(&mut client, "keep");
    let before = stamps(&mut client, &groups[0]);
    success(&client.delete_with(&dn("a"), &[]).result);
    for name in &groups {
        assert_eq!(read(&mut client, name, "member"), names(&["a"]), "{name}");
    }
    while client.directory.status().unwrap().deleted_subtrees > 0 {
        std::thread::yield_now();
    }
    for name in &groups {
        assert_eq!(read(&mut client, name, "member"), names(&["a"]), "{name}");
    }
    assert_eq!(stamps(&mut client, &groups[0]), before);
    client.check();
}

#[test]
fn a_subtree_whose_entries_are_in_many_groups_is_gone_at_once() {
    let (mut client, groups) = popular();
    let unit = [("objectClass", &["organizationalUnit"][..])];
    success(&client.add(&format!("ou=top,{BASE}"), &unit));
    let to = format!("ou=top,{BASE}");
    success(&client.rename_with(&dn("a"), "cn=a", Some(&to), &[]).result);
    let moved: Vec<_> = groups.iter().map(|it| stamps(&mut client, it)).collect();
    let tree = OwnedControl::new(oid::TREE_DELETE, true);
    success(&client.delete_with(&to, &[tree]).result);
    for (name, moved) in groups.iter().zip(&moved) {
        assert_eq!(read(&mut client, name, "member"), names(&[]), "{name}");
        comes_to_change(&mut client, name, moved);
    }
    let writes = changed_together(&mut client, &groups);
    assert!(writes.values().all(|it| *it <= AT_ONCE), "{writes:?}");
    client.check();
}

#[test]
fn an_entry_that_many_groups_name_is_added_and_they_change_in_slices() {
    let mut client = Client::admin();
    let groups = groups_of(&mut client, "Later", GROUPS);
    group(&mut client, "same", &["later"]);
    // All groups name the entry by one text, spelled as it was first.
    let before: Vec<_> = groups.iter().map(|it| stamps(&mut client, it)).collect();
    client.add_person("later");
    for name in &groups {
        assert_eq!(
            read(&mut client, name, "member"),
            names(&["later"]),
            "{name}"
        );
    }
    assert_eq!(read(&mut client, "later", "memberOf").len(), GROUPS + 1);
    for (name, before) in groups.iter().zip(&before) {
        comes_to_change(&mut client, name, before);
    }
    // The groups follow a rename of the entry, and a delete removes it from them.
    success(&client.rename_with(&dn("later"), "cn=now", None, &[]).result);
    for name in &groups {
        assert_eq!(read(&mut client, name, "member"), names(&["now"]), "{name}");
    }
    success(&client.delete_with(&dn("now"), &[]).result);
    assert_eq!(found(&mut client, "(member=*)"), names(&[]));
    client.check();
}

#[test]
fn a_new_group_may_have_its_own_name_as_a_text() {
    let mut client = Client::admin();
    group(&mut client, "g", &["own", "self"]);
    let before = stamps(&mut client, "g");
    group(&mut client, "own", &["OWN"]);
    group(&mut client, "self", &["self", "own"]);
    assert_eq!(read(&mut client, "own", "member"), names(&["own"]));
    assert_eq!(read(&mut client, "self", "member"), names(&["own", "self"]));
    assert_eq!(
        read(&mut client, "own", "memberOf"),
        names(&["g", "own", "self"])
    );
    assert_eq!(stamps(&mut client, "g"), before);
    success(&client.rename_with(&dn("own"), "cn=other", None, &[]).result);
    is_changed(&mut client, "g", &before);
    assert_eq!(
        read(&mut client, "self", "member"),
        names(&["other", "self"])
    );
    client.check();
}
