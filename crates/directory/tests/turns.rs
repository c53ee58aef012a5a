//! Searches that no index helps wait for their turn from the start.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::Options;
use kit::{Client, options};
use policy::LimitSettings;
use protocol::{Filter, Request, ResultCode, Scope, SearchRequest};
use std::fmt::Write as _;

const BASE: &str = "dc=example,dc=com";

/// A directory with `count` people; clients may run one search without an index at a time.
fn people(count: usize) -> Client {
    let mut ldif = String::new();
    for at in 0..count {
        writeln!(
            ldif,
            "dn: cn=p{at},{BASE}\nobjectClass: person\nsn: p{at}\n"
        )
        .unwrap();
    }
    let mut limits = LimitSettings::default();
    limits.anonymous.unindexed_searches_max = 1;
    Client::filled(&ldif).reopen_with(&Options {
        limits,
        ..options()
    })
}

/// A search for a value that no index has.
fn unindexed() -> Request<'static> {
    Request::Search(SearchRequest {
        attributes: vec!["1.1"],
        ..SearchRequest::new(
            BASE,
            Scope::WholeSubtree,
            Filter::Equality {
                attribute: "sn",
                value: b"nobody",
            },
        )
    })
}

#[test]
fn a_search_that_is_refused_for_its_number_takes_a_turn_too() {
    let client = people(5_000);
    let (mut one, mut other) = (client.another(), client.another());
    let first = one.begin(&unindexed(), &[]);
    let second = other.begin(&unindexed(), &[]);
    assert!(first.is_parked() && second.is_parked());
    // The first has its place with its first turn.
    let first = one.resume(first);
    assert!(first.is_parked());
    assert_eq!(other.finish(second).result.code, ResultCode::BUSY);
    assert_eq!(one.finish(first).result.code, ResultCode::SUCCESS);
}

#[test]
fn a_search_of_a_small_directory_is_answered_at_once() {
    let mut client = people(3);
    let begun = client.begin(&unindexed(), &[]);
    assert!(!begun.is_parked());
    assert_eq!(client.finish(begun).result.code, ResultCode::SUCCESS);
}
