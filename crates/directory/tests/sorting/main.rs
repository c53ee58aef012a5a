//! Sorted searches, whole, in pages and as views; with an ordering index and without.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../kit/mod.rs"]
mod kit;

mod dropped;
mod kept;
mod limits;
mod not_stored;

use kit::{Answer, Client};
use protocol::control::{
    PagedResults, SortKey, SortRequest, SortResponse, ViewTarget, VirtualListViewRequest,
    VirtualListViewResponse,
};
use protocol::{ChangeOperation, OwnedControl, ResultCode, Scope, oid};
use std::sync::Arc;
use transfer::Meter;
use transfer::import::{Files, Format, ImportOptions, import};

const BASE: &str = "dc=example,dc=com";
const EVERYBODY: &str = "(objectClass=person)";

fn sort(keys: &str) -> OwnedControl {
    sort_with(keys, true)
}

/// Keys as ldapsearch has them: `-sn/cn:caseExactOrderingMatch`.
fn sort_with(keys: &str, critical: bool) -> OwnedControl {
    let keys = keys.split('/').map(|key| {
        let (name, reverse) = match key.strip_prefix('-') {
            Some(name) => (name, true),
            None => (key, false),
        };
        let (attribute, ordering_rule) = match name.split_once(':') {
            Some((attribute, rule)) => (attribute, Some(rule)),
            None => (name, None),
        };
        SortKey {
            attribute,
            ordering_rule,
            reverse,
        }
    });
    let value = SortRequest {
        keys: keys.collect(),
    };
    OwnedControl::with_value(oid::SORT_REQUEST, critical, |out| value.encode(out))
}

fn page(size: u32, cookie: &[u8]) -> OwnedControl {
    let value = PagedResults { size, cookie };
    OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| value.encode(out))
}

fn view(before_count: u32, after_count: u32, target: ViewTarget<'_>) -> OwnedControl {
    view_in(before_count, after_count, target, None)
}

fn view_in(
    before_count: u32,
    after_count: u32,
    target: ViewTarget<'_>,
    context_id: Option<&[u8]>,
) -> OwnedControl {
    let value = VirtualListViewRequest {
        before_count,
        after_count,
        target,
        context_id,
    };
    OwnedControl::with_value(oid::VIRTUAL_LIST_VIEW_REQUEST, true, |out| {
        value.encode(out);
    })
}

fn offset(offset: u32, content_count: u32) -> ViewTarget<'static> {
    ViewTarget::ByOffset {
        offset,
        content_count,
    }
}

fn search(client: &mut Client, filter: &str, controls: &[OwnedControl]) -> Answer {
    let scope = Scope::WholeSubtree;
    client.search_with(BASE, scope, filter, &["1.1"], |_| (), controls)
}

/// The `cn` of each entry found, in order.
fn order(answer: &Answer) -> Vec<String> {
    let leaf = |name: &&str| name[3..name.find(',').unwrap()].to_owned();
    answer.names().iter().map(leaf).collect()
}

fn control<'a>(answer: &'a Answer, oid: &str) -> Option<&'a [u8]> {
    let found = answer.controls.iter().find(|(known, _)| known == oid)?;
    found.1.as_deref()
}

fn sorted(answer: &Answer) -> Option<SortResponse<'_>> {
    control(answer, oid::SORT_RESPONSE).map(|value| SortResponse::decode(value).unwrap())
}

fn viewed(answer: &Answer) -> VirtualListViewResponse<'_> {
    let value = control(answer, oid::VIRTUAL_LIST_VIEW_RESPONSE).unwrap();
    VirtualListViewResponse::decode(value).unwrap()
}

#[track_caller]
fn expect(client: &mut Client, keys: &str, expected: &[&str]) {
    let answer = search(client, EVERYBODY, &[sort(keys)]);
    assert_eq!(
        answer.result.code,
        ResultCode::SUCCESS,
        "{}",
        answer.result.diagnostic
    );
    assert_eq!(order(&answer), expected, "{keys}");
    let response = sorted(&answer).unwrap();
    assert_eq!(
        (response.code, response.attribute),
        (ResultCode::SUCCESS, None)
    );
}

fn index(client: &mut Client, attribute: &str) {
    let dn = format!("cn={attribute},cn=indexes,cn=config");
    let attributes: &[(&str, &[&str])] = &[
        ("objectClass", &["pandoIndex"]),
        ("pandoIndexAttribute", &[attribute]),
        ("pandoIndexKind", &["ordering"]),
    ];
    let mut result = client.add(&dn, attributes);
    if result.code == ResultCode::ENTRY_ALREADY_EXISTS {
        let kind = (ChangeOperation::Add, "pandoIndexKind", &["ordering"][..]);
        result = client.modify(&dn, &[kind]);
        if result.code == ResultCode::ATTRIBUTE_OR_VALUE_EXISTS {
            return;
        }
    }
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    let select = ["pandoIndexState"];
    let filter = "(objectClass=*)";
    while client
        .search(&dn, Scope::BaseObject, filter, &select)
        .values("pandoIndexState")
        != ["ready"]
    {
        std::thread::yield_now();
    }
}

/// A directory with these entries, its administrator bound.
fn imported(ldif: &str) -> Client {
    let client = Client::admin();
    client.directory.shutdown();
    let folder = Arc::clone(&client.folder);
    drop(client);
    let file = folder.path().join("input.ldif");
    std::fs::write(&file, ldif).unwrap();
    let source = Box::new(Files::new(vec![file], Format::Ldif));
    let options = ImportOptions::new(folder.path().join("rejects"));
    let done = import(folder.path(), source, &options, &Meter::default()).unwrap();
    assert_eq!(done.rejected, 0);
    let mut client = Client::open(folder);
    client.bind(kit::ADMIN, kit::PASSWORD);
    client
}

/// Five people; some lack what others have, one has two values of it.
fn people() -> Client {
    let mut client = Client::admin();
    let people: [(&str, &str, &[&str], &[&str]); 5] = [
        ("Ada", "Lovelace", &["12"], &["analyst"]),
        ("Grace", "hopper", &["9"], &["Captain", "zoologist"]),
        ("Edsger", "Dijkstra", &[], &[]),
        ("Alan", "Hopper", &["100"], &["baker", "aviator"]),
        ("Barbara", "liskov", &[], &["Dean"]),
    ];
    for (cn, sn, shoes, titles) in people {
        let dn = format!("cn={cn},{BASE}");
        let mut attributes: Vec<(&str, &[&str])> =
            vec![("objectClass", &["person", "inetOrgPerson", "posixAccount"])];
        let sn = [sn];
        let home = ["/"];
        let number = shoes.first().map_or("5000", |it| it);
        let number = [number];
        let uid = [cn];
        attributes.push(("sn", &sn));
        attributes.push(("uid", &uid));
        attributes.push(("homeDirectory", &home));
        attributes.push(("uidNumber", &number));
        attributes.push(("gidNumber", &["1"]));
        if !titles.is_empty() {
            attributes.push(("title", titles));
        }
        let result = client.add(&dn, &attributes);
        assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    }
    client
}

fn check_orders(client: &mut Client) {
    expect(client, "sn", &["Edsger", "Grace", "Alan", "Barbara", "Ada"]);
    // Entries that are equal stand in the order in which they were added, or the other way.
    expect(
        client,
        "-sn",
        &["Ada", "Barbara", "Alan", "Grace", "Edsger"],
    );
    expect(
        client,
        "sn/cn",
        &["Edsger", "Alan", "Grace", "Barbara", "Ada"],
    );
    expect(
        client,
        "sn/-cn",
        &["Edsger", "Grace", "Alan", "Barbara", "Ada"],
    );
    // Numbers by their value.
    let numbers = ["Grace", "Ada", "Alan", "Edsger", "Barbara"];
    expect(client, "uidNumber", &numbers);
    let numbers = ["Barbara", "Edsger", "Alan", "Ada", "Grace"];
    expect(client, "-uidNumber", &numbers);
    // RFC 2891 §2.2: the least of several values, also in reverse; without a value at the end,
    // in reverse at the beginning.
    expect(
        client,
        "title",
        &["Ada", "Alan", "Grace", "Barbara", "Edsger"],
    );
    expect(
        client,
        "-title",
        &["Edsger", "Barbara", "Grace", "Alan", "Ada"],
    );
    let exact = ["Edsger", "Alan", "Ada", "Grace", "Barbara"];
    expect(client, "sn:caseExactOrderingMatch", &exact);
    expect(client, "sn:2.5.13.6", &exact);
    // A search that finds no entry has nothing to sort.
    let nobody = search(client, "(cn=nobody)", &[sort("sn")]);
    assert_eq!(nobody.result.code, ResultCode::SUCCESS);
    assert_eq!(nobody.controls, []);
    // Attributes that are made up.
    let made_up = search(client, "(sn=*)", &[sort("entryDN")]);
    assert_eq!(
        order(&made_up),
        ["Ada", "Alan", "Barbara", "Edsger", "Grace"]
    );
}

#[test]
fn orders_of_every_kind() {
    let mut client = people();
    check_orders(&mut client);
    for attribute in ["sn", "uidNumber", "title"] {
        index(&mut client, attribute);
    }
    check_orders(&mut client);
}

#[test]
fn what_cannot_be_sorted_is_named() {
    let mut client = people();
    let cases = [
        (
            "noSuchAttribute",
            ResultCode::NO_SUCH_ATTRIBUTE,
            "noSuchAttribute",
        ),
        ("sn/cn:nosuchrule", ResultCode::INAPPROPRIATE_MATCHING, "cn"),
        (
            "sn:integerOrderingMatch",
            ResultCode::INAPPROPRIATE_MATCHING,
            "sn",
        ),
        ("jpegPhoto", ResultCode::INAPPROPRIATE_MATCHING, "jpegPhoto"),
    ];
    for (keys, code, attribute) in cases {
        let refused = search(&mut client, EVERYBODY, &[sort(keys)]);
        let expected = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION;
        assert_eq!(refused.result.code, expected, "{keys}");
        assert_eq!(refused.entries, []);
        let said = Some(SortResponse {
            code,
            attribute: Some(attribute),
        });
        assert_eq!(sorted(&refused), said, "{keys}");
        let unsorted = search(&mut client, EVERYBODY, &[sort_with(keys, false)]);
        assert_eq!(unsorted.result.code, ResultCode::SUCCESS);
        assert_eq!(unsorted.entries.len(), 5);
        assert_eq!(sorted(&unsorted), said, "{keys}");
    }
    let many = vec!["sn"; 17].join("/");
    let refused = search(&mut client, EVERYBODY, &[sort(&many)]);
    assert_eq!(
        sorted(&refused).unwrap().code,
        ResultCode::UNWILLING_TO_PERFORM
    );
}

/// All pages of a sorted search, each checked for its size and its control.
fn pages(client: &mut Client, keys: &str, size: u32) -> Vec<String> {
    let mut all = Vec::new();
    let mut cookie = Vec::new();
    loop {
        let answer = search(client, EVERYBODY, &[sort(keys), page(size, &cookie)]);
        assert_eq!(
            answer.result.code,
            ResultCode::SUCCESS,
            "{}",
            answer.result.diagnostic
        );
        assert!(answer.entries.len() <= size as usize);
        assert_eq!(sorted(&answer).is_some(), !answer.entries.is_empty());
        all.extend(order(&answer));
        let value = control(&answer, oid::PAGED_RESULTS).unwrap();
        cookie = PagedResults::decode(value).unwrap().cookie.to_vec();
        if cookie.is_empty() {
            return all;
        }
    }
}

#[test]
fn pages_of_a_sorted_search_are_the_whole() {
    let mut client = people();
    for indexed in [false, true] {
        if indexed {
            for attribute in ["sn", "title", "uidNumber"] {
                index(&mut client, attribute);
            }
        }
        for keys in [
            "sn",
            "-sn",
            "sn/-cn",
            "-title",
            "title/sn",
            "-uidNumber/title",
            "title",
        ] {
            let whole = order(&search(&mut client, EVERYBODY, &[sort(keys)]));
            for size in 1..7 {
                assert_eq!(
                    pages(&mut client, keys, size),
                    whole,
                    "{keys} {size} {indexed}"
                );
            }
        }
    }
    // A cookie serves its own search, in its own order, and goes on behind entries that are gone.
    let first = search(&mut client, EVERYBODY, &[sort("sn"), page(2, b"")]);
    assert_eq!(order(&first), ["Edsger", "Grace"]);
    let cookie = control(&first, oid::PAGED_RESULTS).unwrap().to_vec();
    let cookie = PagedResults::decode(&cookie).unwrap().cookie;
    for controls in [vec![sort("-sn"), page(2, cookie)], vec![page(2, cookie)]] {
        let refused = search(&mut client, EVERYBODY, &controls);
        assert_eq!(refused.result.code, ResultCode::UNWILLING_TO_PERFORM);
    }
    let delete = protocol::DeleteRequest {
        entry: "cn=Grace,dc=example,dc=com",
    };
    client.call(&protocol::Request::Delete(delete), &[]);
    let mut client = client.reopen();
    client.bind(kit::ADMIN, kit::PASSWORD);
    let next = search(&mut client, EVERYBODY, &[sort("sn"), page(2, cookie)]);
    assert_eq!(order(&next), ["Alan", "Barbara"]);
    let given_up = search(&mut client, EVERYBODY, &[sort("sn"), page(0, cookie)]);
    assert_eq!(
        (given_up.result.code, given_up.entries.len()),
        (ResultCode::SUCCESS, 0)
    );
}

#[test]
fn views_by_place_and_by_value() {
    let mut client = people();
    for indexed in [false, true] {
        if indexed {
            index(&mut client, "sn");
        }
        let mut see = |keys: &str, view: OwnedControl, expected: &[&str], at: u32| {
            let answer = search(&mut client, EVERYBODY, &[sort(keys), view]);
            assert_eq!(
                answer.result.code,
                ResultCode::SUCCESS,
                "{}",
                answer.result.diagnostic
            );
            assert_eq!(order(&answer), expected, "{keys} {indexed}");
            let said = viewed(&answer);
            assert_eq!(said.code, ResultCode::SUCCESS);
            assert_eq!((said.target_position, said.content_count), (at, 5));
            assert!(said.context_id.is_some());
        };
        see("sn", view(0, 1, offset(1, 0)), &["Edsger", "Grace"], 1);
        see("sn", view(1, 0, offset(5, 5)), &["Barbara", "Ada"], 5);
        see(
            "sn",
            view(1, 1, offset(3, 0)),
            &["Grace", "Alan", "Barbara"],
            3,
        );
        see(
            "sn",
            view(9, 9, offset(10, 50)),
            &["Edsger", "Grace", "Alan", "Barbara", "Ada"],
            1,
        );
        let from = |value| ViewTarget::GreaterThanOrEqual(value);
        see(
            "sn",
            view(1, 1, from(b"HOPPER")),
            &["Edsger", "Grace", "Alan"],
            2,
        );
        see("sn", view(0, 0, from(b"l")), &["Barbara"], 4);
        see("sn", view(1, 1, from(b"z")), &["Ada"], 6);
        // In reverse, the first that is not greater.
        see("-sn", view(0, 0, from(b"li")), &["Alan"], 3);
        see("-sn", view(0, 0, from(b"hopper")), &["Alan"], 3);
        see("sn/cn", view(0, 0, from(b"hopper")), &["Alan"], 2);
    }
}

#[test]
fn views_that_cannot_be_made_say_why() {
    let mut client = people();
    let mut refuse = |controls: &[OwnedControl], code: ResultCode, count: u32| {
        let answer = search(&mut client, EVERYBODY, controls);
        let said = viewed(&answer);
        assert_eq!(answer.result.code, ResultCode::VIRTUAL_LIST_VIEW_ERROR);
        assert_eq!((said.code, said.content_count), (code, count));
        assert_eq!(answer.entries, []);
        assert!(!answer.result.diagnostic.is_empty());
    };
    refuse(
        &[view(0, 0, offset(1, 0))],
        ResultCode::SORT_CONTROL_MISSING,
        0,
    );
    let out_of_range = ResultCode::OFFSET_RANGE_ERROR;
    refuse(&[sort("sn"), view(0, 0, offset(0, 0))], out_of_range, 0);
    refuse(&[sort("sn"), view(0, 0, offset(6, 0))], out_of_range, 5);
    refuse(&[sort("sn"), view(0, 0, offset(11, 10))], out_of_range, 5);
    let matching = ResultCode::INAPPROPRIATE_MATCHING;
    let letter = view(0, 0, ViewTarget::GreaterThanOrEqual(b"x"));
    refuse(&[sort("uidNumber"), letter], matching, 0);
    refuse(&[sort("nope"), view(0, 0, offset(1, 0))], matching, 0);
    let foreign = view_in(0, 0, offset(1, 0), Some(b"context"));
    refuse(&[sort("sn"), foreign], ResultCode::PROTOCOL_ERROR, 0);
    let both = [sort("sn"), view(0, 0, offset(1, 0)), page(1, b"")];
    let answer = search(&mut client, EVERYBODY, &both);
    assert_eq!(answer.result.code, ResultCode::UNWILLING_TO_PERFORM);

    let first = search(
        &mut client,
        EVERYBODY,
        &[sort("sn"), view(0, 0, offset(1, 0))],
    );
    let context = viewed(&first).context_id.unwrap().to_vec();
    let again = view_in(0, 0, offset(2, 5), Some(&context));
    let answer = search(&mut client, EVERYBODY, &[sort("sn"), again.clone()]);
    assert_eq!(order(&answer), ["Grace"]);
    let other_list = search(&mut client, EVERYBODY, &[sort("cn"), again]);
    assert_eq!(viewed(&other_list).code, ResultCode::PROTOCOL_ERROR);
    let empty = search(
        &mut client,
        "(cn=nobody)",
        &[sort("sn"), view(0, 0, offset(1, 0))],
    );
    assert_eq!(empty.result.code, ResultCode::SUCCESS);
    assert_eq!(
        (viewed(&empty).target_position, viewed(&empty).content_count),
        (0, 0)
    );
}

#[test]
fn long_lists_are_sorted_in_slices() {
    let count = 5_000;
    let mut ldif = String::from("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n");
    for number in 0..count {
        // Neither in the order of the names nor in that of the ids; many of them equal.
        ldif.push_str(&format!(
            "dn: cn=p{number:05},{BASE}\nobjectClass: person\nsn: s{:02}\n\n",
            number * 37 % 50
        ));
    }
    let mut client = imported(&ldif);
    let mut expected: Vec<(String, String)> = (0..count)
        .map(|number| (format!("s{:02}", number * 37 % 50), format!("p{number:05}")))
        .collect();
    expected.sort();
    let expected: Vec<String> = expected.into_iter().map(|(_, name)| name).collect();
    for indexed in [false, true] {
        if indexed {
            index(&mut client, "sn");
        }
        for keys in ["sn", "sn/cn"] {
            let whole = search(&mut client, EVERYBODY, &[sort(keys)]);
            assert_eq!(order(&whole), expected, "{keys} {indexed}");
            assert_eq!(pages(&mut client, keys, 999), expected, "{keys} {indexed}");
            let mut reversed = order(&search(&mut client, EVERYBODY, &[sort("-sn/-cn")]));
            reversed.reverse();
            assert_eq!(reversed, expected, "{keys} {indexed}");
            let seen = view(2, 3, ViewTarget::GreaterThanOrEqual(b"s25"));
            let seen = search(&mut client, EVERYBODY, &[sort(keys), seen]);
            assert_eq!(order(&seen), expected[2498..2504], "{keys} {indexed}");
            let said = viewed(&seen);
            assert_eq!((said.target_position, said.content_count), (2501, 5000));
        }
    }
}
