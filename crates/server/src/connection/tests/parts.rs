//! Tests messages that are sent in parts: no other bytes may come in between.

use super::*;

/// A connection of the administrator, and an entry that is sent in parts.
fn large() -> World {
    let mut world = World::admin();
    world.home.owner.large();
    world
}

/// Proceeds until a part of a message is in the output.
fn proceed_into_message(world: &mut World) {
    while !world.connection.is_inside_message() || world.out.is_empty() {
        world.proceed_part();
    }
}

/// A connection whose search 2 has sent a part of an entry.
fn half_sent() -> World {
    let mut world = large();
    assert!(world.receive(&[say::search(2, "cn=large")]).is_empty());
    proceed_into_message(&mut world);
    world
}

#[test]
fn searches_that_stay_wait_for_the_rest_of_a_message() {
    let mut world = large();
    world.home.owner.person("cn=watched", 1);
    world.receive(&[say::follow(1, "cn=watched")]);
    world.settle();
    world.receive(&[say::search(2, "cn=large")]);
    proceed_into_message(&mut world);
    let half = world.out.len();
    world.home.owner.touch("cn=watched");
    let news = world.mail.news(1);
    world.arrive(news);
    assert_eq!(world.out.len(), half);
    let said = world.settle();
    assert_eq!(said, ["entry 2", "done 2 success", "entry 1"]);
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
        let mut world = half_sent();
        let half = world.out.len();
        world.receive_part(&what);
        assert_eq!(world.out.len(), half);
        let said = world.settle();
        assert_eq!(said[0], "entry 2");
        // The search ended with its last entry, or was abandoned behind it.
        assert!(said == ends || said[1] == "done 2 success", "{said:?}");
    }
}

#[test]
fn no_notice_is_given_in_the_middle_of_a_message() {
    let mut world = half_sent();
    let half = world.out.len();
    world
        .connection
        .farewell(&mut world.worker, "the end", &mut world.out);
    assert_eq!(world.out.len(), half);
    assert!(world.connection.is_closed());
}

/// A connection whose following search 2 has sent a part of an entry, while a write waits.
fn half_told() -> World {
    let mut world = large();
    world.receive(&[say::follow(2, "cn=large"), say::modify(3)]);
    proceed_into_message(&mut world);
    world
}

/// Hands over the end of the waiting write.
fn complete_write(world: &mut World) {
    let end = world.mail.end(3);
    world.arrive(end);
}

#[test]
fn everything_waits_for_the_rest_of_an_entry_that_is_told() {
    let mut world = half_told();
    let half = world.out.len();
    // A write completes, and requests arrive.
    complete_write(&mut world);
    let requests = [say::compare(4), say::search(5, "cn=a"), say::abandon(6, 2)];
    world.receive_part(&requests.concat());
    assert_eq!(world.out.len(), half);
    assert!(!world.connection.wants_input(true) && !world.connection.takes_requests());
    assert!(!world.connection.is_quiet());
    let said = world.settle();
    assert_eq!(said[..2], ["entry 2", "modify 3 success"], "{said:?}");
    let others: Vec<&String> = said.iter().filter(|it| !it.contains("entry 2")).collect();
    let expected = [
        "modify 3 success",
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
    assert_eq!(world.settle(), ["entry 2", "modify 3 success"]);
    assert!(world.connection.is_quiet());
    world
        .connection
        .farewell(&mut world.worker, "the end", &mut world.out);
    assert!(world.heard()[0].starts_with("notice"));
    let mut world = half_told();
    let half = world.out.len();
    world
        .connection
        .farewell(&mut world.worker, "the end", &mut world.out);
    assert!(world.out.len() == half && world.connection.is_closed());
}
