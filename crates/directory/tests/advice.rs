//! Dear searches are remembered by the shape of their filters, and indexes proposed for them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{Client, Found};
use protocol::{ResultCode, Scope};
use std::sync::Arc;
use store::IndexKind;
use transfer::estimate_indexes;

const BASE: &str = "dc=example,dc=com";
const PEOPLE: u32 = 6_000;

fn crowd() -> Client {
    let person = |n: u32| {
        format!(
            "dn: cn=p{n},{BASE}\nobjectClass: inetOrgPerson\nsn: Family {n}\nuid: p{n}\n\
             title: T{}\nemployeeNumber: {n}\n\n",
            n % 3
        )
    };
    Client::filled(&(0..PEOPLE).map(person).collect::<String>())
}

fn find(client: &mut Client, filter: &str) -> usize {
    let found = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
    assert_eq!(found.result.code, ResultCode::SUCCESS);
    found.entries.len()
}

/// Entries of the monitor about dear searches.
fn dear(client: &mut Client) -> Vec<Found> {
    let base = "cn=Searches,cn=monitor";
    let all = client.search(base, Scope::SingleLevel, "(objectClass=*)", &["+"]);
    all.entries
}

fn text<'f>(found: &'f Found, attribute: &str) -> &'f str {
    let mut all = found.1.iter();
    let values = all.find(|(name, _)| name == attribute);
    values.map_or("", |(_, values)| values[0].as_str())
}

#[test]
fn dear_searches_are_remembered_and_cheap_ones_are_not() {
    let mut client = crowd();
    for n in 0..5 {
        assert_eq!(find(&mut client, &format!("(uid=p{n})")), 1);
    }
    // Many found for what was looked at: nothing to improve.
    assert_eq!(find(&mut client, "(title=T1)"), 2_000);
    assert!(dear(&mut client).is_empty());
    for n in 0..5 {
        assert_eq!(find(&mut client, &format!("(employeeNumber={n})")), 1);
        assert_eq!(find(&mut client, &format!("(&(sn=*x{n}*)(title=t1))")), 0);
    }
    let dear_ones = dear(&mut client);
    assert_eq!(dear_ones.len(), 2);
    let one = dear_ones
        .iter()
        .find(|it| text(it, "pandoSearchFilter") == "(employeeNumber=?)");
    let one = one.unwrap();
    assert_eq!(text(one, "pandoSearchCount"), "5");
    assert_eq!(text(one, "pandoSearchUnindexed"), "5");
    assert_eq!(text(one, "pandoSearchReturned"), "5");
    assert!(text(one, "pandoSearchExamined").parse::<u32>().unwrap() >= 5 * PEOPLE);
    assert!(text(one, "pandoSearchMicroseconds").parse::<u64>().unwrap() > 0);
    assert_eq!(text(one, "pandoIndexAdvice"), "employeeNumber equality");
    let both = dear_ones
        .iter()
        .find(|it| text(it, "pandoSearchFilter") == "(&(sn=*?*)(title=?))");
    assert_eq!(text(both.unwrap(), "pandoIndexAdvice"), "title equality");
    // Advice that was taken is not given again.
    let index = "cn=employeeNumber,cn=indexes,cn=config";
    let attributes: &[(&str, &[&str])] = &[
        ("objectClass", &["pandoIndex"]),
        ("pandoIndexAttribute", &["employeeNumber"]),
        ("pandoIndexKind", &["equality"]),
    ];
    assert_eq!(client.add(index, attributes).code, ResultCode::SUCCESS);
    let taken = dear(&mut client);
    let one = taken
        .iter()
        .find(|it| text(it, "pandoSearchFilter") == "(employeeNumber=?)");
    assert_eq!(text(one.unwrap(), "pandoIndexAdvice"), "");
}

/// Bytes of the file that hold something.
fn used(client: &mut Client) -> u64 {
    let base = "cn=Database,cn=monitor";
    let all = client.search(base, Scope::BaseObject, "(objectClass=*)", &["+"]);
    let number = |attribute: &str| text(&all.entries[0], attribute).parse::<u64>().unwrap();
    number("pandoFileBytes") - number("pandoFileBytesFree")
}

#[test]
fn indexes_take_about_the_room_that_was_estimated() {
    for (kind, name) in [
        (IndexKind::Equality, "equality"),
        (IndexKind::Substring, "substring"),
        (IndexKind::Ordering, "ordering"),
        (IndexKind::Presence, "presence"),
    ] {
        let mut client = crowd();
        let before = used(&mut client);
        let attributes: &[(&str, &[&str])] = &[
            ("objectClass", &["pandoIndex"]),
            ("pandoIndexAttribute", &["sn"]),
            ("pandoIndexKind", &[name]),
        ];
        let index = "cn=sn,cn=indexes,cn=config";
        assert_eq!(client.add(index, attributes).code, ResultCode::SUCCESS);
        loop {
            let state = client.search(index, Scope::BaseObject, "(objectClass=*)", &["+"]);
            if text(&state.entries[0], "pandoIndexState") == "ready" {
                break;
            }
        }
        let took = used(&mut client).saturating_sub(before);
        // An estimate does not look at the index that there may be.
        client.directory.shutdown();
        let folder = Arc::clone(&client.folder);
        drop(client);
        let wanted = [("sn".to_owned(), kind)];
        let estimate = estimate_indexes(folder.path(), false, &wanted).unwrap()[0];
        assert!(
            estimate.entries.abs_diff(u64::from(PEOPLE)) < 100,
            "{estimate:?}"
        );
        let near = took < 3 * estimate.bytes + 65_536 && estimate.bytes < 3 * took + 65_536;
        assert!(near, "{name}: {took} bytes, estimated {estimate:?}");
    }
}

#[test]
fn a_search_that_looks_at_too_much_hears_which_index_would_help() {
    let client = crowd();
    let mut options = kit::options();
    options.limits.administrator.candidates_max = 3_000;
    let mut client = client.reopen_with(&options);
    assert_eq!(
        client.bind(kit::ADMIN, kit::PASSWORD).code,
        ResultCode::SUCCESS
    );
    let filter = "(|(employeeNumber=5999)(title=t9))";
    let stopped = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
    assert_eq!(stopped.result.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    let text = stopped.result.diagnostic;
    for part in [
        "limit of 3000 entries looked at",
        "\"pando index add DIR employeeNumber equality\" and ",
        "\"pando index add DIR title equality\" would help",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
