//! Searches for what has very many rows in an ordering index: the candidates are collected in
//! slices, whoever asks for them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{Answer, Client};
use protocol::control::{EntryCount, MatchingEntryCountRequest, MatchingEntryCountResponse};
use protocol::control::{PagedResults, SortKey, SortRequest, SyncMode, SyncRequest};
use protocol::{ChangeOperation, OwnedControl, ResultCode, Scope, oid};

const BASE: &str = "dc=example,dc=com";
const FILTER: &str = "(uidNumber>=30000)";
const ALL: usize = 100_000;
/// Number of entries that match.
const MATCHING: usize = 70_000;

/// Entries with ascending numbers, and an ordering index of these.
fn numbered() -> Client {
    let mut ldif = String::new();
    for at in 0..ALL {
        ldif.push_str(&format!(
            "dn: ou={at},{BASE}\nobjectClass: organizationalUnit\n\
             objectClass: extensibleObject\nuidNumber: {at}\n\n"
        ));
    }
    let mut client = Client::filled(&ldif);
    let index = "cn=uidNumber,cn=indexes,cn=config";
    let kind = (ChangeOperation::Add, "pandoIndexKind", &["ordering"][..]);
    assert_eq!(client.modify(index, &[kind]).code, ResultCode::SUCCESS);
    loop {
        let wanted = ["pandoIndexState"];
        let answer = client.search(index, Scope::BaseObject, "(objectClass=*)", &wanted);
        if answer.values("pandoIndexState") == ["ready"] {
            return client;
        }
        std::thread::yield_now();
    }
}

fn search(client: &mut Client, controls: &[OwnedControl]) -> Answer {
    let scope = Scope::WholeSubtree;
    let answer = client.search_with(BASE, scope, FILTER, &["1.1"], |_| (), controls);
    let result = &answer.result;
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    answer
}

/// The numbers of the entries found, as they came.
fn numbers(answer: &Answer) -> Vec<usize> {
    let number = |name: &&str| name[3..name.find(',').unwrap()].parse().unwrap();
    answer.names().iter().map(number).collect()
}

#[test]
fn very_many_candidates_are_the_same_however_they_come() {
    let mut client = numbered();
    let expected: Vec<usize> = (ALL - MATCHING..ALL).collect();
    assert!(numbers(&search(&mut client, &[])) == expected);
    // The first page collects them, the others find enough without.
    let (mut cookie, mut found) = (Vec::new(), Vec::new());
    loop {
        let size = 7_000;
        let page = PagedResults {
            size,
            cookie: &cookie,
        };
        let page = OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| page.encode(out));
        let answer = search(&mut client, &[page]);
        found.extend(numbers(&answer));
        let value = answer.controls[0].1.clone().unwrap();
        cookie = PagedResults::decode(&value).unwrap().cookie.to_vec();
        if cookie.is_empty() {
            break;
        }
    }
    assert!(found == expected);
    let key = SortKey {
        attribute: "uidNumber",
        ordering_rule: None,
        reverse: true,
    };
    let sort = SortRequest { keys: vec![key] };
    let sort = OwnedControl::with_value(oid::SORT_REQUEST, true, |out| sort.encode(out));
    let mut sorted = numbers(&search(&mut client, &[sort]));
    sorted.reverse();
    assert!(sorted == expected);
    let sync = SyncRequest {
        mode: SyncMode::RefreshOnly,
        cookie: None,
        reload_hint: false,
    };
    let sync = OwnedControl::with_value(oid::SYNC_REQUEST, true, |out| sync.encode(out));
    assert!(numbers(&search(&mut client, &[sync])) == expected);
    let asked = MatchingEntryCountRequest {
        examined_max: 1_000,
        ..MatchingEntryCountRequest::default()
    };
    let oid = oid::MATCHING_ENTRY_COUNT_REQUEST;
    let count = OwnedControl::with_value(oid, true, |out| asked.encode(out));
    let answer = search(&mut client, &[count]);
    let value = answer.controls[0].1.clone().unwrap();
    let count = MatchingEntryCountResponse::decode(&value).unwrap().count;
    assert!(matches!(count, EntryCount::UpperBound(it) if it as usize >= MATCHING));
}
