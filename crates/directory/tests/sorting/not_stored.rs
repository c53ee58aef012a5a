//! Order, views and pages of entries that are not stored.

use super::{control, offset, page, sort, sort_with, sorted, view, viewed};
use crate::kit::{Answer, Client};
use protocol::control::{PagedResults, SortResponse};
use protocol::{DerefAliases, OwnedControl, ResultCode, Scope, oid};

const MONITOR: &str = "cn=monitor";

fn search(client: &mut Client, base: &str, scope: Scope, controls: &[OwnedControl]) -> Answer {
    client.search_with(base, scope, "(cn=*)", &["cn"], |_| (), controls)
}

/// The root DSE, which has no `cn`.
fn root(client: &mut Client, controls: &[OwnedControl]) -> Answer {
    let (scope, all) = (Scope::BaseObject, "(objectClass=*)");
    client.search_with("", scope, all, &["1.1"], |_| (), controls)
}

fn cookie(answer: &Answer) -> Vec<u8> {
    let value = control(answer, oid::PAGED_RESULTS).unwrap();
    PagedResults::decode(value).unwrap().cookie.to_vec()
}

fn success(answer: &Answer) {
    let result = &answer.result;
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
}

#[test]
fn the_root_dse_is_a_page_of_one() {
    let mut client = Client::new();
    for (base, size) in [("", 10), ("", 1), ("cn=Subschema", 1)] {
        let scope = Scope::BaseObject;
        let all = "(objectClass=*)";
        let controls = [page(size, b"")];
        let answer = client.search_with(base, scope, all, &["1.1"], |_| (), &controls);
        success(&answer);
        assert_eq!((answer.entries.len(), cookie(&answer).len()), (1, 0));
    }
    // A size of zero begins nothing; with a cookie it ends something.
    let answer = root(&mut client, &[page(0, b"")]);
    assert_eq!(answer.entries.len(), 0);
    let begun = cookie(&answer);
    let ended = root(&mut client, &[page(0, &begun)]);
    success(&ended);
    assert_eq!((ended.entries.len(), cookie(&ended).len()), (0, 0));
    let gone_on = root(&mut client, &[page(1, &begun)]);
    assert_eq!((gone_on.entries.len(), cookie(&gone_on).len()), (1, 0));
    let foreign = root(&mut client, &[page(1, b"no cookie of yours")]);
    assert_eq!(foreign.result.code, ResultCode::UNWILLING_TO_PERFORM);
}

#[test]
fn the_root_dse_is_sorted_or_says_why_not() {
    let mut client = Client::new();
    let answer = root(&mut client, &[sort("cn")]);
    success(&answer);
    assert_eq!(answer.entries.len(), 1);
    assert_eq!(sorted(&answer).unwrap().code, ResultCode::SUCCESS);
    let both = root(&mut client, &[sort("cn"), page(1, b"")]);
    assert_eq!(sorted(&both).unwrap().code, ResultCode::SUCCESS);
    assert_eq!((both.entries.len(), cookie(&both).len()), (1, 0));
    let said = Some(SortResponse {
        code: ResultCode::NO_SUCH_ATTRIBUTE,
        attribute: Some("noSuchAttribute"),
    });
    let refused = root(&mut client, &[sort("noSuchAttribute")]);
    let critical = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION;
    assert_eq!(refused.result.code, critical);
    assert_eq!((refused.entries.len(), sorted(&refused)), (0, said));
    let unsorted = root(&mut client, &[sort_with("noSuchAttribute", false)]);
    success(&unsorted);
    assert_eq!((unsorted.entries.len(), sorted(&unsorted)), (1, said));
}

#[test]
fn the_monitor_comes_in_order_and_in_pages() {
    let mut client = Client::admin();
    let scope = Scope::WholeSubtree;
    let whole = search(&mut client, MONITOR, scope, &[]);
    let mut names: Vec<&str> = whole.names();
    names.sort_unstable();
    assert!(names.len() > 7);
    for keys in [&[][..], &[sort("cn")], &[sort("-cn")]] {
        let (mut paged, mut next) = (Vec::new(), Vec::new());
        loop {
            let controls = [keys, &[page(3, &next)]].concat();
            let answer = search(&mut client, MONITOR, scope, &controls);
            success(&answer);
            assert_eq!(sorted(&answer).is_some(), !keys.is_empty());
            paged.extend(answer.entries.iter().map(|(name, _)| name.clone()));
            next = cookie(&answer);
            if next.is_empty() {
                break;
            }
            assert_eq!(answer.entries.len(), 3);
        }
        if !keys.is_empty() {
            let sorted = search(&mut client, MONITOR, scope, keys);
            assert_eq!(sorted.names(), paged);
        }
        paged.sort_unstable();
        assert_eq!(paged, names);
    }
    let of_cn = |answer: &Answer| -> Vec<String> {
        let first = |it: &(String, Vec<(String, Vec<String>)>)| it.1[0].1[0].to_lowercase();
        answer.entries.iter().map(first).collect()
    };
    let by_cn = of_cn(&search(&mut client, MONITOR, scope, &[sort("cn")]));
    assert!(by_cn.is_sorted(), "{by_cn:?}");
    let seen = [sort("cn"), view(1, 1, offset(3, 0))];
    let seen = search(&mut client, MONITOR, scope, &seen);
    assert_eq!(of_cn(&seen), by_cn[1..4]);
    let said = viewed(&seen);
    assert_eq!(
        (said.target_position, said.content_count),
        (3, by_cn.len() as u32)
    );
    // A view needs an order.
    let none = search(&mut client, MONITOR, scope, &[view(1, 1, offset(3, 0))]);
    assert_eq!(none.result.code, ResultCode::VIRTUAL_LIST_VIEW_ERROR);
}

#[test]
fn a_cookie_is_for_one_way_to_take_aliases() {
    let mut client = Client::admin();
    for name in ["a", "b", "c"] {
        client.add_person(name);
    }
    let mut first = |deref: DerefAliases, controls: &[OwnedControl]| {
        let (scope, filter) = (Scope::WholeSubtree, "(objectClass=person)");
        let change = |it: &mut protocol::SearchRequest<'_>| it.deref_aliases = deref;
        client.search_with(
            "dc=example,dc=com",
            scope,
            filter,
            &["1.1"],
            change,
            controls,
        )
    };
    let manage = || OwnedControl {
        oid: oid::MANAGE_DSA_IT.into(),
        critical: true,
        value: None,
    };
    let next = cookie(&first(DerefAliases::Never, &[page(1, b"")]));
    assert_eq!(
        first(DerefAliases::Never, &[page(1, &next)]).entries.len(),
        1
    );
    for other in [
        first(DerefAliases::Always, &[page(1, &next)]),
        first(DerefAliases::Never, &[page(1, &next), manage()]),
    ] {
        assert_eq!(other.result.code, ResultCode::UNWILLING_TO_PERFORM);
        assert!(other.entries.is_empty());
    }
}
