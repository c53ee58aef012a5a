//! Reading groups of many members: some of them, or all of them in small memory, in whatever way
//! they are asked for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::Followed;
use kit::groups::{BASE, dn, names};
use kit::{Answer, Client, success};
use protocol::control::{PagedResults, ReadEntryRequest, SortKey, SortRequest, SyncMode};
use protocol::control::{PersistentSearch, SyncRequest};
use protocol::{ChangeOperation, OwnedControl, ResultCode, Scope, oid};
use std::collections::BTreeSet;

const GROUPS: &str = "(objectClass=groupOfEntries)";
/// Members of the large group: some 600 KB of names.
const MANY: usize = 12_000;
/// A slice of output, and what else may stand before and behind it.
const PART_MAX: usize = 300_000;

fn group(client: &mut Client, name: &str, members: &[&str]) {
    let members: Vec<String> = members.iter().map(|it| dn(it)).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let attributes = [
        ("objectClass", &["groupOfEntries"][..]),
        ("businessCategory", &["same"]),
        ("member", &members),
    ];
    success(&client.add(&dn(name), &attributes));
}

/// Three groups, the second of which is large.
fn groups() -> Client {
    let mut client = Client::admin();
    let many: Vec<String> = (0..MANY)
        .map(|at| format!("nobody {at:05} of a large group"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    group(&mut client, "a", &["x"]);
    group(&mut client, "b", &many);
    group(&mut client, "c", &["y", "z"]);
    client.most_at_once = 0;
    client
}

/// The entries of an answer and how many members came with them.
fn counts(answer: &Answer) -> Vec<(String, usize)> {
    let count = |attributes: &[(String, Vec<String>)]| {
        let member = attributes.iter().find(|(name, _)| name == "member");
        let distinct = |(_, values): &(String, Vec<String>)| {
            let set: BTreeSet<&String> = values.iter().collect();
            assert_eq!(set.len(), values.len());
            values.len()
        };
        member.map_or(0, distinct)
    };
    let entries = answer.entries.iter();
    entries
        .map(|(name, attributes)| {
            (
                name[3..name.find(',').unwrap()].to_owned(),
                count(attributes),
            )
        })
        .collect()
}

fn expect(answer: &Answer, expected: &[(&str, usize)]) {
    let expected: Vec<(String, usize)> = expected
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect();
    assert_eq!(counts(answer), expected);
}

fn search(client: &mut Client, controls: &[OwnedControl]) -> Answer {
    let scope = Scope::WholeSubtree;
    client.search_with(BASE, scope, GROUPS, &["*", "+"], |_| (), controls)
}

fn in_parts(client: &Client) {
    let most = client.most_at_once;
    assert!(most > 0 && most < PART_MAX, "{most} bytes at once");
}

#[test]
fn a_large_group_is_sent_whole_among_others() {
    let mut client = groups();
    let answer = search(&mut client, &[]);
    success(&answer.result);
    expect(&answer, &[("a", 1), ("b", MANY), ("c", 2)]);
    for (_, attributes) in &answer.entries {
        assert!(attributes.iter().any(|(name, _)| name == "entryUUID"));
    }
    in_parts(&client);
    // Without the members nothing is gathered.
    let answer = client.search(&dn("b"), Scope::BaseObject, GROUPS, &["cn"]);
    assert_eq!(answer.values("cn"), ["b"]);
}

/// Makes an ordering index and waits for it.
fn order_by(client: &mut Client, attribute: &str) {
    let dn = format!("cn={attribute},cn=indexes,cn=config");
    let attributes = [
        ("objectClass", &["pandoIndex"][..]),
        ("pandoIndexAttribute", &[attribute]),
        ("pandoIndexKind", &["ordering"]),
    ];
    let added = client.add(&dn, &attributes);
    if added.code == ResultCode::ENTRY_ALREADY_EXISTS {
        let kind = (ChangeOperation::Add, "pandoIndexKind", &["ordering"][..]);
        client.modify(&dn, &[kind]);
    }
    loop {
        let (scope, wanted) = (Scope::BaseObject, ["pandoIndexState"]);
        let answer = client.search(&dn, scope, "(objectClass=*)", &wanted);
        if answer.values("pandoIndexState") == ["ready"] {
            return;
        }
        std::thread::yield_now();
    }
}

fn sort(keys: &[&'static str], reverse: bool) -> OwnedControl {
    let keys = keys.iter().map(|attribute| SortKey {
        attribute,
        ordering_rule: None,
        reverse,
    });
    let value = SortRequest {
        keys: keys.collect(),
    };
    OwnedControl::with_value(oid::SORT_REQUEST, true, |out| value.encode(out))
}

fn page(size: u32, cookie: &[u8]) -> OwnedControl {
    let value = PagedResults { size, cookie };
    OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| value.encode(out))
}

#[test]
fn sorted_searches_send_it_in_parts() {
    let mut client = groups();
    for indexed in [false, true] {
        if indexed {
            order_by(&mut client, "cn");
            order_by(&mut client, "businessCategory");
        }
        client.most_at_once = 0;
        for keys in [&["cn"][..], &["businessCategory", "cn"]] {
            let answer = search(&mut client, &[sort(keys, false)]);
            success(&answer.result);
            expect(&answer, &[("a", 1), ("b", MANY), ("c", 2)]);
            let answer = search(&mut client, &[sort(keys, true)]);
            expect(&answer, &[("c", 2), ("b", MANY), ("a", 1)]);
            for (_, attributes) in &answer.entries {
                assert!(attributes.iter().any(|(name, _)| name == "entryUUID"));
            }
        }
        in_parts(&client);
    }
}

#[test]
fn pages_hold_it_whole() {
    let mut client = groups();
    for sorted in [false, true] {
        let mut cookie = Vec::new();
        let mut all = Vec::new();
        loop {
            let mut controls = vec![page(1, &cookie)];
            controls.extend(sorted.then(|| sort(&["cn"], false)));
            let answer = search(&mut client, &controls);
            success(&answer.result);
            assert!(answer.entries.len() <= 1);
            all.extend(counts(&answer));
            let paged = answer.controls.iter();
            let mut paged = paged.filter(|(name, _)| name == oid::PAGED_RESULTS);
            let value = paged.next().unwrap().1.as_deref().unwrap();
            cookie = PagedResults::decode(value).unwrap().cookie.to_vec();
            if cookie.is_empty() {
                break;
            }
        }
        let expected = [("a", 1), ("b", MANY), ("c", 2)];
        assert_eq!(all, expected.map(|(name, count)| (name.to_owned(), count)));
    }
    in_parts(&client);
}

fn follow(mode: SyncMode) -> OwnedControl {
    let value = SyncRequest {
        mode,
        cookie: None,
        reload_hint: false,
    };
    OwnedControl::with_value(oid::SYNC_REQUEST, true, |out| value.encode(out))
}

#[test]
fn who_follows_the_directory_gets_it_in_parts() {
    let mut client = groups();
    let answer = search(&mut client, &[follow(SyncMode::RefreshAndPersist)]);
    expect(&answer, &[("a", 1), ("b", MANY), ("c", 2)]);
    // Each entry comes with its state, also the large one.
    assert!(answer.entry_controls.iter().all(|it| it.len() == 1));
    let new = dn("new");
    let one = (ChangeOperation::Add, "member", &[&*new][..]);
    success(&client.modify(&dn("b"), &[one]));
    success(&client.modify(&dn("a"), &[one]));
    let (answer, followed) = client.news();
    expect(&answer, &[("b", MANY + 1), ("a", 2)]);
    assert_eq!(followed, Followed::CaughtUp);
    // A large entry may be the last thing that is told of a base.
    let renamed = client.rename_with(&dn("b"), "cn=bb", None, &[]);
    success(&renamed.result);
    success(&client.delete_with(&dn("c"), &[]).result);
    let (answer, followed) = client.news();
    expect(&answer, &[("bb", MANY + 1), ("c", 0)]);
    assert_eq!(followed, Followed::CaughtUp);
    in_parts(&client);
    let answer = search(&mut client, &[follow(SyncMode::RefreshOnly)]);
    expect(&answer, &[("a", 2), ("bb", MANY + 1)]);
    success(&answer.result);
    in_parts(&client);
}

#[test]
fn the_base_of_a_followed_search_may_be_large_and_go() {
    let mut client = groups();
    let every = "(objectClass=*)";
    let base = dn("b");
    let value = PersistentSearch {
        change_types: 15,
        changes_only: true,
        return_entry_changes: true,
    };
    let persistent = OwnedControl::with_value(oid::PERSISTENT_SEARCH, true, |out| {
        value.encode(out);
    });
    let controls = [persistent];
    client.search_with(
        &base,
        Scope::BaseObject,
        every,
        &["member"],
        |_| (),
        &controls,
    );
    let renamed = client.rename_with(&base, "cn=bb", None, &[]);
    success(&renamed.result);
    let (answer, followed) = client.news();
    expect(&answer, &[("bb", MANY)]);
    assert_eq!(followed, Followed::Ended);
    assert_eq!(answer.result.code, ResultCode::E_SYNC_REFRESH_REQUIRED);
    in_parts(&client);
}

#[test]
fn a_copy_in_the_response_of_an_update_is_never_large() {
    let mut client = groups();
    let copy = |oid: &'static str, attributes: &[&'static str]| {
        let attributes = attributes.to_vec();
        OwnedControl::with_value(oid, false, |out| {
            ReadEntryRequest { attributes }.encode(out)
        })
    };
    let new = dn("new");
    let one = (ChangeOperation::Add, "member", &[&*new][..]);
    for oid in [oid::PRE_READ, oid::POST_READ] {
        for selection in ["*", "member"] {
            let refused = client.modify_with(&dn("b"), &[one], &[copy(oid, &[selection])]);
            assert_eq!(refused.result.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
            let text = refused.result.diagnostic;
            assert!(text.contains("member;range=0-999"), "{text}");
            assert!(refused.controls.is_empty());
        }
    }
    // The refused writes changed nothing; and a part of the values may be asked for.
    let some = [copy(oid::POST_READ, &["cn", "member;range=0-4"])];
    let changed = client.modify_with(&dn("b"), &[one], &some);
    success(&changed.result);
    assert_eq!(changed.controls.len(), 1);
    let all = [copy(oid::POST_READ, &["*"])];
    success(&client.modify_with(&dn("c"), &[one], &all).result);
    in_parts(&client);
}

#[test]
fn a_group_that_would_take_too_much_of_the_disk_is_refused() {
    let options = directory::Options {
        spool_bytes_max: (1 << 20) + (64 << 10),
        ..kit::options()
    };
    let mut client = Client::admin().reopen_with(&options);
    assert_eq!(
        client.bind(kit::ADMIN, kit::PASSWORD).code,
        ResultCode::SUCCESS
    );
    let many: Vec<String> = (0..4 * MANY)
        .map(|at| format!("nobody {at:05} of a very large group"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    group(&mut client, "a", &["x"]);
    group(&mut client, "b", &many);
    let answer = search(&mut client, &[]);
    let result = &answer.result;
    assert_eq!(result.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    for part in ["1 MiB", "spool_mib_max", "member;range="] {
        assert!(result.diagnostic.contains(part), "{}", result.diagnostic);
    }
    let wanted = ["member;range=0-999"];
    let answer = client.search(&dn("b"), Scope::BaseObject, GROUPS, &wanted);
    success(&answer.result);
    assert_eq!(answer.values("member;range=0-999").len(), 1_000);
    // The spool of the refused search is free again.
    group(&mut client, "c", &many[..2 * MANY]);
    let answer = client.search(&dn("c"), Scope::BaseObject, GROUPS, &["member"]);
    success(&answer.result);
    assert_eq!(answer.values("member").len(), 2 * MANY);
}

#[test]
fn a_range_of_values_says_which_it_is() {
    let mut client = Client::admin();
    let many: Vec<String> = (0..9).map(|at| format!("nobody {at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    group(&mut client, "g", &many);
    let mut ask = |wanted: &str| {
        let every = "(objectClass=*)";
        let answer = client.search(&dn("g"), Scope::BaseObject, every, &[wanted]);
        success(&answer.result);
        let (_, attributes) = answer.entries.into_iter().next().unwrap();
        attributes
    };
    let mut all = BTreeSet::new();
    for (wanted, answered, count) in [
        ("member;range=0-3", "member;range=0-3", 4),
        ("member;range=4-7", "member;range=4-7", 4),
        ("member;range=8-*", "member;range=8-*", 1),
        ("member;range=0-1499", "member;range=0-*", 9),
        ("member;range=0-18446744073709551615", "member;range=0-*", 9),
        ("objectClass;range=0-0", "objectClass;range=0-*", 1),
    ] {
        let attributes = ask(wanted);
        assert_eq!(attributes.len(), 1, "{wanted}");
        let (name, values) = &attributes[0];
        assert_eq!((name.as_str(), values.len()), (answered, count));
        if !wanted.contains("objectClass") {
            all.extend(values.iter().cloned());
        }
    }
    assert_eq!(all, names(&many));
    assert!(ask("member;range=9-*").is_empty());
    assert!(ask("member;range=18446744073709551615-*").is_empty());
}

#[test]
fn a_range_comes_instead_of_all_values() {
    let mut client = groups();
    // A small group, a large one, and values that are no links.
    for (name, ranged) in [
        ("a", "member;range=0-0"),
        ("b", "member;range=0-3"),
        ("b", "objectClass;range=0-*"),
    ] {
        let every = "(objectClass=*)";
        let answer = client.search(&dn(name), Scope::BaseObject, every, &["*", ranged]);
        success(&answer.result);
        let (_, attributes) = &answer.entries[0];
        let wanted = ranged.split(';').next().unwrap();
        let of_it = attributes.iter().filter(|(it, _)| it.starts_with(wanted));
        let names: Vec<&str> = of_it.map(|(it, _)| it.as_str()).collect();
        assert_eq!(names.len(), 1, "{name}: {names:?}");
        assert!(names[0].contains(";range=0-"), "{name}: {names:?}");
        assert!(attributes.iter().any(|(it, _)| it == "cn"), "{name}");
    }
    // A selection of both returns both.
    let both = ["member", "member;range=0-0"];
    let answer = client.search(&dn("a"), Scope::BaseObject, "(cn=*)", &both);
    assert_eq!(answer.entries[0].1.len(), 2);
}

#[test]
fn matched_values_are_found_without_the_others() {
    let mut client = Client::admin();
    client.add_person("a");
    group(&mut client, "g", &["a", "b", "c"]);
    let mut matched = |filter: &str| {
        let encoded = protocol::parse_filter(filter).unwrap();
        let mut value = Vec::new();
        protocol::ber::put_nested(&mut value, protocol::ber::SEQUENCE, |out| {
            out.extend_from_slice(&encoded);
        });
        let mut control = OwnedControl::new(oid::MATCHED_VALUES, true);
        control.value = Some(value);
        let every = "(objectClass=*)";
        let (base, wanted) = (dn("g"), ["member"]);
        let scope = Scope::BaseObject;
        let answer = client.search_with(&base, scope, every, &wanted, |_| (), &[control]);
        success(&answer.result);
        let values = answer.values("member").into_iter();
        values.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(matched("(member=CN=A,dc=example,dc=com)"), names(&["a"]));
    assert_eq!(matched("(member=cn=x,dc=example,dc=com)"), names(&[]));
    assert_eq!(matched("(cn=b)"), names(&[]));
    assert_eq!(matched("(member=*)"), names(&["a", "b", "c"]));
}
