//! Groups and people below one suffix, and what they show: the set-up of tests about members.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test file uses its part of the kit")]

use super::{Client, success};
use protocol::{ChangeOperation, Scope};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

pub const BASE: &str = "dc=example,dc=com";

/// How long something may take that happens after the answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// The name of an entry by its `cn`.
pub fn dn(name: &str) -> String {
    format!("cn={name},{BASE}")
}

/// Names of several entries by their `cn`.
pub fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|it| dn(it)).collect()
}

/// Adds a group with members.
pub fn group(client: &mut Client, name: &str, members: &[&str]) {
    let members: Vec<String> = members.iter().map(|it| dn(it)).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let mut attributes = vec![("objectClass", &["groupOfEntries"][..])];
    if !members.is_empty() {
        attributes.push(("member", &members));
    }
    success(&client.add(&dn(name), &attributes));
}

/// Adds many groups that have one member each, the same; returns their names.
pub fn groups_of(client: &mut Client, member: &str, count: usize) -> Vec<String> {
    let groups: Vec<String> = (0..count).map(|at| format!("g{at}")).collect();
    for name in &groups {
        group(client, name, &[member]);
    }
    groups
}

/// The values of an attribute of an entry.
pub fn read(client: &mut Client, name: &str, attribute: &str) -> BTreeSet<String> {
    let every = "(objectClass=*)";
    let answer = client.search(&dn(name), Scope::BaseObject, every, &[attribute]);
    success(&answer.result);
    let values = answer.values(attribute).into_iter();
    values.map(str::to_owned).collect()
}

/// The names of the entries that a filter finds.
pub fn found(client: &mut Client, filter: &str) -> BTreeSet<String> {
    let answer = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
    success(&answer.result);
    answer.names().into_iter().map(str::to_owned).collect()
}

/// Says what becomes of values that name a deleted entry.
pub fn keep_deleted_members(client: &mut Client, value: &str) {
    let change = (ChangeOperation::Replace, "pandoDeletedMember", &[value][..]);
    success(&client.modify("cn=config", &[change]));
}

/// Attributes that differ after each change of an entry.
pub fn stamps(client: &mut Client, name: &str) -> Vec<BTreeSet<String>> {
    let known = ["entryCSN", "etag"];
    known.iter().map(|it| read(client, name, it)).collect()
}

/// Asserts that an entry has other stamps than it had.
#[track_caller]
pub fn is_changed(client: &mut Client, name: &str, before: &[BTreeSet<String>]) {
    let now = stamps(client, name);
    let same = now.iter().zip(before).filter(|(now, then)| now == then);
    assert_eq!(same.count(), 0, "{name}: {before:?}, then {now:?}");
    let time = read(client, name, "modifyTimestamp");
    let seconds = time.first().and_then(|it| it.strip_suffix('Z')).unwrap();
    assert!(now[0].first().unwrap().starts_with(seconds), "{time:?}");
}

/// Waits until an entry has other stamps than it had.
#[track_caller]
pub fn comes_to_change(client: &mut Client, name: &str, before: &[BTreeSet<String>]) {
    let deadline = Instant::now() + PATIENCE;
    while stamps(client, name) == before && Instant::now() < deadline {
        std::thread::yield_now();
    }
    is_changed(client, name, before);
}
