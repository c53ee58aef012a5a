//! Tests messages that are sent in parts: no other bytes may come in between.

use super::*;

/// The whole output, examined at the end, because parts are no messages.
fn heard_after(world: &mut World) -> Vec<String> {
    while world.connection.can_proceed() {
        world
            .connection
            .proceed(&mut world.service, &world.rules, &mut world.out);
    }
    heard(&std::mem::take(&mut world.out))
}

#[test]
fn searches_that_stay_wait_for_the_rest_of_a_message() {
    let mut world = World::new();
    world.receive(&[say::search(1, "follow")]);
    while world.connection.can_proceed() {
        world.proceed();
    }
    let search = say::search(2, "2 9 1 2");
    world
        .connection
        .receive(&mut world.service, &world.rules, &search, &mut world.out);
    let half = world.out.len();
    assert!(half > 0);
    let news = Done {
        session: 7,
        id: 1,
        kind: ResultKind::SearchDone,
    };
    world
        .connection
        .complete(&mut world.service, news, &mut world.out);
    assert_eq!(world.out.len(), half);
    let said = heard_after(&mut world);
    let of_search: Vec<&String> = said.iter().filter(|it| it.contains('2')).collect();
    assert_eq!(of_search, ["entry 2", "entry 2", "done 2 success"]);
    assert!(said.iter().any(|it| it == "entry 1"), "{said:?}");
}

#[test]
fn an_abandon_waits_for_the_rest_of_a_message() {
    for (what, ends) in [
        (say::abandon(3, 2), &["entry 2"][..]),
        (
            say::cancel(3, 2),
            &["entry 2", "done 2 canceled", "extended 3 success"],
        ),
    ] {
        let mut world = World::new();
        let messages = [say::search(2, "1 9 1 2"), what].concat();
        world
            .connection
            .receive(&mut world.service, &world.rules, &messages, &mut world.out);
        let said = heard_after(&mut world);
        assert_eq!(said[0], "entry 2");
        // The search ended with its last entry, or was abandoned behind it.
        assert!(said == ends || said[1] == "done 2 success", "{said:?}");
    }
}

#[test]
fn no_notice_is_given_in_the_middle_of_a_message() {
    let mut world = World::new();
    let search = say::search(2, "1 9 1 2");
    world
        .connection
        .receive(&mut world.service, &world.rules, &search, &mut world.out);
    let half = world.out.len();
    world
        .connection
        .farewell(&mut world.service, "the end", &mut world.out);
    assert_eq!(world.out.len(), half);
    assert!(world.connection.is_closed());
}

/// A connection whose following search has sent half of an entry.
fn half_told() -> World {
    let mut world = World::new();
    world.receive(&[say::search(2, "follow halves"), say::delete(3)]);
    world
        .connection
        .proceed(&mut world.service, &world.rules, &mut world.out);
    assert!(world.connection.is_inside_message() && !world.out.is_empty());
    world
}

/// Completes the waiting write.
fn complete_write(world: &mut World) {
    let done = Done {
        session: 7,
        id: 3,
        kind: ResultKind::Delete,
    };
    world
        .connection
        .complete(&mut world.service, done, &mut world.out);
}

#[test]
fn everything_waits_for_the_rest_of_an_entry_that_is_told() {
    let mut world = half_told();
    let half = world.out.len();
    // A write completes, and requests arrive.
    complete_write(&mut world);
    let requests = [say::compare(4), say::search(5, "1"), say::abandon(6, 2)].concat();
    world
        .connection
        .receive(&mut world.service, &world.rules, &requests, &mut world.out);
    assert_eq!(world.out.len(), half);
    assert!(!world.connection.wants_input(true) && !world.connection.takes_requests());
    assert!(!world.connection.is_quiet());
    let said = heard_after(&mut world);
    assert_eq!(said[..2], ["entry 2", "delete 3 success"], "{said:?}");
    let others: Vec<&String> = said.iter().filter(|it| !it.contains("entry 2")).collect();
    let expected = [
        "delete 3 success",
        "compare 4 compareTrue",
        "entry 5",
        "done 5 success",
    ];
    assert_eq!(others, expected);
    // Abandoned behind its entry, so no more of it follows.
    assert!(!world.connection.is_following());
}

#[test]
fn a_server_that_stops_finishes_the_entry_and_says_no_more() {
    let mut world = half_told();
    complete_write(&mut world);
    world.connection.stop_executing();
    assert!(!world.connection.is_closed() && world.connection.can_proceed());
    let said = heard_after(&mut world);
    assert_eq!(said, ["entry 2", "delete 3 success"]);
    assert!(world.connection.is_quiet());
    world
        .connection
        .farewell(&mut world.service, "the end", &mut world.out);
    assert!(heard(&world.out)[0].starts_with("notice"));
    let mut world = half_told();
    let half = world.out.len();
    world
        .connection
        .farewell(&mut world.service, "the end", &mut world.out);
    assert!(world.out.len() == half && world.connection.is_closed());
}
