//! Paged searches (RFC 2696), sorted ones as well, and virtual list views go on at another node.

use super::{HeldUp, bystander, with_sites};
use kit::router::Network;
use kit::{Client, Outcome, Pando, SUFFIX, people};
use protocol::control::{
    PagedResults, SortKey, SortRequest, ViewTarget, VirtualListViewRequest, VirtualListViewResponse,
};
use protocol::{MessageId, OwnedControl, ResultCode, Scope, oid};

const PEOPLE: usize = 40;
const SIZE: u32 = 7;

/// How a list is read.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Stored,
    Sorted,
}

fn sort() -> OwnedControl {
    let key = SortKey {
        attribute: "mail",
        ordering_rule: Some("caseIgnoreOrderingMatch"),
        reverse: false,
    };
    let keys = vec![key];
    OwnedControl::with_value(oid::SORT_REQUEST, true, |out| {
        SortRequest { keys }.encode(out);
    })
}

fn send(client: &mut Client, controls: &[OwnedControl]) -> MessageId {
    let scope = Scope::WholeSubtree;
    client.send_search(SUFFIX, scope, "(mail=*)", &["mail"], controls, |_| {})
}

/// Asks for the next page.
fn ask(client: &mut Client, order: Order, cookie: &[u8]) -> MessageId {
    let asked = PagedResults { size: SIZE, cookie };
    let page = OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| asked.encode(out));
    match order {
        Order::Stored => send(client, &[page]),
        Order::Sorted => send(client, &[page, sort()]),
    }
}

/// Receives a page: appends its entries, and returns the cookie.
fn receive(client: &mut Client, id: MessageId, into: &mut Vec<String>) -> Vec<u8> {
    let found = client.try_finish(id).expect("an answer");
    let outcome = found.outcome.expect_success();
    into.extend(found.entries.iter().map(|it| it.text("mail")));
    let value = outcome.control(oid::PAGED_RESULTS).expect("a cookie");
    let page = PagedResults::decode(value).expect("it decodes");
    page.cookie.to_vec()
}

fn page(client: &mut Client, order: Order, cookie: &[u8], into: &mut Vec<String>) -> Vec<u8> {
    let id = ask(client, order, cookie);
    receive(client, id, into)
}

/// The list in one piece.
fn whole(client: &mut Client, order: Order) -> Vec<String> {
    let controls = match order {
        Order::Stored => vec![],
        Order::Sorted => vec![sort()],
    };
    let id = send(client, &controls);
    let found = client.try_finish(id).expect("an answer");
    found.outcome.expect_success();
    found.entries.iter().map(|it| it.text("mail")).collect()
}

/// Asks for the view of some entries behind the first.
fn ask_view(client: &mut Client, context_id: Option<&[u8]>) -> MessageId {
    let asked = VirtualListViewRequest {
        before_count: 0,
        after_count: 4,
        target: ViewTarget::ByOffset {
            offset: 1,
            content_count: 0,
        },
        context_id,
    };
    let view = OwnedControl::with_value(oid::VIRTUAL_LIST_VIEW_REQUEST, true, |out| {
        asked.encode(out);
    });
    send(client, &[sort(), view])
}

/// Receives a view: the length of its list, and its context id.
fn receive_view(client: &mut Client, id: MessageId) -> (u32, Vec<u8>) {
    let found = client.try_finish(id).expect("an answer");
    let outcome: Outcome = found.outcome.expect_success();
    assert_eq!(found.entries.len(), 5);
    let value = outcome.control(oid::VIRTUAL_LIST_VIEW_RESPONSE);
    let view = VirtualListViewResponse::decode(value.expect("a view")).expect("it decodes");
    assert_eq!(view.code, ResultCode::SUCCESS);
    let context_id = view.context_id.expect("a context id").to_vec();
    (view.content_count, context_id)
}

/// Shows a list of this length at one node and then at another, which has not heard of its newest
/// entry.
fn views_go_on(network: &Network, nodes: &[Pando], length: usize) {
    let other = bystander(nodes);
    let (mut first, mut second) = (nodes[0].admin(), nodes[other].admin());
    let id = ask_view(&mut first, None);
    let (counted, context_id) = receive_view(&mut first, id);
    assert_eq!(counted as usize, length);
    let id = ask_view(&mut second, Some(&context_id));
    assert_eq!(receive_view(&mut second, id).0, counted);
    let held_up = HeldUp::of(network, other);
    first.add(&people::person("viewed")).expect_success();
    let id = ask_view(&mut first, None);
    let (counted, context_id) = receive_view(&mut first, id);
    assert_eq!(counted as usize, length + 1);
    let id = ask_view(&mut second, Some(&context_id));
    drop(held_up);
    assert_eq!(receive_view(&mut second, id).0, counted);
}

/// Reads the list with each page at another node.
fn pages_wander(nodes: &[Pando], order: Order) {
    let mut clients: Vec<Client> = nodes.iter().map(Pando::admin).collect();
    let expected = whole(&mut clients[0], order);
    let (mut found, mut cookie) = (Vec::new(), Vec::new());
    for turn in 0.. {
        cookie = page(&mut clients[turn % 3], order, &cookie, &mut found);
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(found, expected);
}

/// Goes on at a node that has not heard of the last entry of the list, which the first one has.
fn pages_wait(network: &Network, nodes: &[Pando], order: Order, late: &str) {
    let other = bystander(nodes);
    let (mut first, mut second) = (nodes[0].admin(), nodes[other].admin());
    let held_up = HeldUp::of(network, other);
    first.add(&people::person(late)).expect_success();
    let expected = whole(&mut first, order);
    let mut found = Vec::new();
    let cookie = page(&mut first, order, b"", &mut found);
    let id = ask(&mut second, order, &cookie);
    drop(held_up);
    let mut cookie = receive(&mut second, id, &mut found);
    while !cookie.is_empty() {
        cookie = page(&mut second, order, &cookie, &mut found);
    }
    assert_eq!(found, expected, "{late}");
}

#[test]
fn lists_go_on_at_another_node() {
    with_sites(PEOPLE, |network, nodes| {
        for (order, late) in [(Order::Stored, "q"), (Order::Sorted, "r")] {
            pages_wander(nodes, order);
            pages_wait(network, nodes, order, late);
        }
        views_go_on(network, nodes, PEOPLE + 2);

        // The node where they began dies.
        let mut first = nodes[0].admin();
        let orders = [Order::Stored, Order::Sorted];
        let expected = orders.map(|it| whole(&mut first, it));
        let mut found = [Vec::new(), Vec::new()];
        let mut cookies: Vec<Vec<u8>> = (0..2)
            .map(|it| page(&mut first, orders[it], b"", &mut found[it]))
            .collect();
        nodes[0].kill_with_etcd();
        let mut second = nodes[1].admin();
        for (it, order) in orders.into_iter().enumerate() {
            while !cookies[it].is_empty() {
                cookies[it] = page(&mut second, order, &cookies[it], &mut found[it]);
            }
        }
        assert_eq!(found, expected);
    });
}
