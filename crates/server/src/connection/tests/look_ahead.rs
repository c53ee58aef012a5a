//! Tests looking ahead in the input behind a parked search.

use super::*;

/// A connection of a client that has not authenticated, and entries of which each fills a slice.
fn long() -> World {
    let mut world = World::new();
    world.home.owner.people("long", 3, SLICE_BYTES);
    world
}

#[test]
fn abandon_is_found_ahead_of_a_parked_search() {
    let mut world = long();
    let messages = [
        say::list(1, "long"),
        say::compare(2),
        say::abandon(3, 1),
        say::compare(4),
    ];
    assert_eq!(world.receive(&messages), ["entry 1"]);
    assert!(world.connection.parked.is_none(), "the search is dropped");
    assert_eq!(
        world.proceed(),
        ["compare 2 compareTrue", "compare 4 compareTrue"]
    );
    // Again, with the Abandon arriving later and in pieces.
    assert_eq!(world.receive(&[say::list(5, "long")]), ["entry 5"]);
    assert!(world.connection.wants_input(false));
    for byte in say::abandon(6, 5) {
        world.receive_bytes(&[byte]);
    }
    assert_eq!(world.receive(&[say::compare(7)]), ["compare 7 compareTrue"]);
    assert_eq!(
        world.home.owner.monitored(SEARCHES, "monitorOpCompleted"),
        2
    );
}

/// The entry of the monitor that counts searches.
const SEARCHES: &str = "cn=Search,cn=Operations";

#[test]
fn abandon_of_something_else_changes_nothing() {
    let mut world = long();
    let messages = [say::list(1, "long"), say::abandon(2, 9)];
    assert_eq!(world.receive(&messages), ["entry 1"]);
    assert_eq!(world.settle(), ["entry 1", "entry 1", "done 1 success"]);
}

#[test]
fn cancel_answers_the_search_and_itself_once() {
    let mut world = long();
    let messages = [say::list(1, "long"), say::compare(2), say::cancel(3, 1)];
    assert_eq!(
        world.receive(&messages),
        ["entry 1", "done 1 canceled", "extended 3 success"]
    );
    assert_eq!(
        world.home.owner.monitored(SEARCHES, "monitorOpCompleted"),
        1
    );
    assert_eq!(world.proceed(), ["compare 2 compareTrue"]);
    assert!(!world.connection.can_proceed());
}

/// A request with an unknown critical control.
fn insisting(id: MessageId, request: &Request<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let control = protocol::OwnedControl::new("1.2.3.4", true);
    protocol::write_request(&mut bytes, id, request, &[control]);
    bytes
}

fn cancel_of(value: &[u8]) -> Request<'_> {
    let name = oid::CANCEL;
    let value = Some(value);
    Request::Extended(protocol::ExtendedRequest { name, value })
}

#[test]
fn what_is_not_to_be_done_as_it_stands_ends_no_search() {
    let whole = ["entry 1", "entry 1", "entry 1", "done 1 success"];
    let (good, too_long) = ([0x30, 3, 2, 1, 1], [0x30, 3, 2, 1, 1, 0]);
    let mut trailing = Vec::new();
    protocol::write_request(&mut trailing, 2, &cancel_of(&too_long), &[]);
    for (message, answer) in [
        (insisting(2, &Request::Abandon(1)), None),
        (
            insisting(2, &cancel_of(&good)),
            Some("extended 2 unavailableCriticalExtension"),
        ),
        (trailing, Some("extended 2 protocolError")),
    ] {
        // A parked search.
        let mut world = long();
        let mut heard = world.receive(&[say::list(1, "long"), message.clone()]);
        heard.extend(world.settle());
        let expected = whole.into_iter().chain(answer);
        assert_eq!(heard, expected.collect::<Vec<_>>());
        // A following search.
        let mut world = World::new();
        world.receive(&[say::follow(1, "cn=a")]);
        world.settle();
        let heard = world.receive(&[message]);
        assert_eq!(heard, answer.into_iter().collect::<Vec<_>>());
        assert!(world.connection.is_following());
    }
}

#[test]
fn unbind_is_found_ahead_and_ends_everything() {
    let mut world = long();
    assert_eq!(
        world.receive(&[say::list(1, "long"), say::unbind(2)]),
        ["entry 1"]
    );
    assert!(world.connection.is_closed());
    assert!(world.connection.parked.is_none(), "the search is dropped");
    assert_eq!(
        world.home.owner.monitored(SEARCHES, "monitorOpCompleted"),
        1
    );
    let mut world = World::new();
    assert_eq!(
        world
            .receive(&[say::compare(1), say::unbind(2), say::compare(3)])
            .len(),
        1
    );
    assert!(world.connection.is_closed());
}

#[test]
fn look_ahead_reads_a_bounded_amount() {
    let mut world = long();
    world.receive(&[say::list(1, "long")]);
    let compare = say::compare(2);
    let mut sent = 0;
    while world.connection.wants_input(false) {
        world.receive(std::slice::from_ref(&compare));
        sent += 1;
    }
    assert!(sent * compare.len() < LOOK_AHEAD_BYTES_MAX + compare.len());
    assert_eq!(world.settle().len(), 3 + sent);
}
