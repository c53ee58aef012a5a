//! Simple paged results (RFC 2696): the last page says that it is the last, and limits hold for all
//! pages together.

mod kit;

use kit::{Answer, Client, success};
use protocol::control::{PagedResults, SortKey, SortRequest};
use protocol::{OwnedControl, ResultCode, Scope, oid};

const BASE: &str = "ou=p,dc=example,dc=com";

/// Seven persons below [`BASE`], of whom six have no description.
fn filled() -> Client {
    let mut client = Client::admin();
    success(&client.add(BASE, &[("objectClass", &["organizationalUnit"])]));
    for number in 1..=7 {
        let name = format!("cn=e{number},{BASE}");
        let mut attributes: Vec<(&str, &[&str])> =
            vec![("objectClass", &["person"]), ("sn", &["x"])];
        if number == 7 {
            attributes.push(("description", &["the last one"]));
        }
        success(&client.add(&name, &attributes));
    }
    client
}

fn refers(client: &mut Client, name: &str) {
    let manage = OwnedControl {
        oid: oid::MANAGE_DSA_IT.into(),
        critical: true,
        value: None,
    };
    let attributes: [(&str, &[&str]); 2] = [
        ("objectClass", &["referral", "extensibleObject"]),
        ("ref", &["ldap://elsewhere.example/"]),
    ];
    success(&client.add_with(name, &attributes, &[manage]).result);
}

/// Filter, sizes and order of a paged search.
#[derive(Clone, Copy)]
struct Asked {
    filter: &'static str,
    size: u32,
    size_limit: u32,
    sorted: bool,
}

fn page(client: &mut Client, asked: Asked, cookie: &[u8]) -> (Answer, Vec<u8>) {
    let size = asked.size;
    let mut controls = vec![OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| {
        PagedResults { size, cookie }.encode(out);
    })];
    if asked.sorted {
        let key = SortKey {
            attribute: "cn",
            ordering_rule: None,
            reverse: false,
        };
        let sort = SortRequest { keys: vec![key] };
        let sort = OwnedControl::with_value(oid::SORT_REQUEST, true, |out| sort.encode(out));
        controls.push(sort);
    }
    let scope = Scope::SingleLevel;
    let limit = |it: &mut protocol::SearchRequest<'_>| it.size_limit = asked.size_limit;
    let answer = client.search_with(BASE, scope, asked.filter, &["1.1"], limit, &controls);
    let control = answer
        .controls
        .iter()
        .find(|(it, _)| it == oid::PAGED_RESULTS);
    let value = control.and_then(|(_, value)| value.clone());
    let cookie = value.map_or_else(Vec::new, |value| {
        let response = PagedResults::decode(&value).expect("a response");
        response.cookie.to_vec()
    });
    (answer, cookie)
}

/// The number of entries of each page, and how the last one ended.
fn pages(client: &mut Client, asked: Asked) -> (Vec<usize>, ResultCode) {
    let (mut sizes, mut cookie) = (Vec::new(), Vec::new());
    loop {
        let (answer, next) = page(client, asked, &cookie);
        sizes.push(answer.entries.len());
        if next.is_empty() {
            return (sizes, answer.result.code);
        }
        success(&answer.result);
        cookie = next;
    }
}

#[test]
fn the_last_page_is_not_followed_by_an_empty_one() {
    let mut client = filled();
    for referrals in 0..3 {
        for sorted in [false, true] {
            for (filter, size, expected) in [
                ("(cn=e*)", 7, &[7][..]),
                ("(cn=e*)", 3, &[3, 3, 1]),
                ("(!(description=*))", 3, &[3, 3]),
                ("(&(objectClass=person)(!(description=*)))", 6, &[6]),
                ("(&(objectClass=person)(!(description=*)))", 4, &[4, 2]),
                ("(cn=e1)", 1, &[1]),
            ] {
                let asked = Asked {
                    filter,
                    size,
                    size_limit: 0,
                    sorted,
                };
                let (sizes, code) = pages(&mut client, asked);
                let what = format!("{filter} by {size}, sorted {sorted}, {referrals} referrals");
                assert_eq!(
                    (sizes.as_slice(), code),
                    (expected, ResultCode::SUCCESS),
                    "{what}"
                );
            }
        }
        // Elsewhere, where all references together are not in the region.
        refers(&mut client, &format!("cn=r{referrals},dc=example,dc=com"));
    }
}

#[test]
fn references_behind_a_full_page_come_with_the_next() {
    let mut client = filled();
    refers(&mut client, &format!("cn=r,{BASE}"));
    let asked = Asked {
        filter: "(cn=e*)",
        size: 7,
        size_limit: 0,
        sorted: false,
    };
    let (first, cookie) = page(&mut client, asked, &[]);
    assert_eq!((first.entries.len(), first.references.len()), (7, 0));
    assert!(!cookie.is_empty());
    let (second, cookie) = page(&mut client, asked, &cookie);
    assert_eq!((second.entries.len(), second.references.len()), (0, 1));
    assert!(cookie.is_empty());
}

#[test]
fn the_size_limit_of_the_client_is_one_of_all_pages() {
    let mut client = filled();
    for sorted in [false, true] {
        for (size, size_limit, entries, code) in [
            (1, 2, 2, ResultCode::SIZE_LIMIT_EXCEEDED),
            (2, 2, 2, ResultCode::SIZE_LIMIT_EXCEEDED),
            (3, 2, 2, ResultCode::SIZE_LIMIT_EXCEEDED),
            (2, 3, 3, ResultCode::SIZE_LIMIT_EXCEEDED),
            (3, 6, 6, ResultCode::SIZE_LIMIT_EXCEEDED),
            (3, 7, 7, ResultCode::SUCCESS),
            (7, 7, 7, ResultCode::SUCCESS),
            (2, 100, 7, ResultCode::SUCCESS),
        ] {
            let asked = Asked {
                filter: "(cn=e*)",
                size,
                size_limit,
                sorted,
            };
            let (sizes, ended) = pages(&mut client, asked);
            let what = format!("{size_limit} by {size}, sorted {sorted}: {sizes:?}");
            assert_eq!(
                (sizes.iter().sum::<usize>(), ended),
                (entries, code),
                "{what}"
            );
        }
    }
}
