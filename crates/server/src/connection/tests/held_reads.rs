//! Tests reads that wait for earlier writes while later writes pass them.

use super::*;

#[test]
fn a_read_waits_for_the_writes_before_it_and_not_for_those_behind() {
    let mut world = World::admin();
    let messages = [
        say::add(1, "cn=b"),
        say::search(2, "cn=b"),
        say::modify(3),
        say::compare(4),
        say::modify(5),
    ];
    assert!(world.receive(&messages).is_empty());
    assert!(world.connection.wants_input(true) && !world.connection.can_proceed());
    assert_eq!(world.complete(1), ["add 1 success"]);
    assert_eq!(world.proceed(), ["entry 2", "done 2 success"]);
    assert!(!world.connection.can_proceed() && !world.connection.is_quiet());
    assert_eq!(world.complete(3), ["modify 3 success"]);
    assert_eq!(world.proceed(), ["compare 4 compareTrue"]);
    assert_eq!(world.complete(5), ["modify 5 success"]);
    assert!(world.connection.is_quiet() && world.connection.kept_bytes() == 0);
}

#[test]
fn an_earlier_write_that_ends_last_is_waited_for() {
    let mut world = World::admin();
    world.receive(&[
        say::add(1, "cn=b"),
        say::modify(2),
        say::search(3, "cn=b"),
        say::modify(4),
    ]);
    assert_eq!(world.complete(4), ["modify 4 success"]);
    assert_eq!(world.complete(2), ["modify 2 success"]);
    assert!(!world.connection.can_proceed());
    assert_eq!(world.complete(1), ["add 1 success"]);
    assert_eq!(world.proceed(), ["entry 3", "done 3 success"]);
}

#[test]
fn requests_that_concern_the_connection_wait_for_all() {
    let mut world = World::admin();
    world.receive(&[
        say::modify(1),
        say::compare(2),
        say::bind(3, "", b""),
        say::compare(4),
    ]);
    assert!(!world.connection.wants_input(true));
    assert_eq!(world.complete(1), ["modify 1 success"]);
    let said = [
        "compare 2 compareTrue",
        "bind 3 success",
        "compare 4 compareTrue",
    ];
    assert_eq!(world.proceed(), said);
}

#[test]
fn reads_before_a_request_that_waits_for_all_go_on() {
    let mut world = World::admin();
    world.receive(&[
        say::add(1, "cn=b"),
        say::search(2, "cn=b"),
        say::modify(3),
        say::bind(4, "", b""),
    ]);
    assert_eq!(world.complete(1), ["add 1 success"]);
    assert_eq!(world.proceed(), ["entry 2", "done 2 success"]);
    assert!(!world.connection.can_proceed() && !world.connection.wants_input(true));
    assert_eq!(world.complete(3), ["modify 3 success"]);
    assert_eq!(world.proceed(), ["bind 4 success"]);
}

#[test]
fn an_abandoned_read_is_dropped() {
    let mut world = World::admin();
    let messages = [
        say::modify(1),
        say::compare(2),
        say::compare(3),
        say::abandon(4, 2),
    ];
    world.receive(&messages);
    assert_eq!(world.complete(1), ["modify 1 success"]);
    assert_eq!(world.proceed(), ["compare 3 compareTrue"]);
    assert!(world.connection.is_quiet());
}

#[test]
fn the_reads_held_are_limited() {
    let mut world = World::admin();
    let reads: Vec<Vec<u8>> = (10..2_000).map(say::compare).collect();
    world.receive(&[say::modify(1)]);
    world.receive(&reads);
    assert!(
        !world.connection.wants_input(true),
        "the rest stays in the input"
    );
    assert!(world.connection.held_reads.bytes() <= 256 << 10);
    assert_eq!(world.complete(1), ["modify 1 success"]);
    assert_eq!(world.settle().len(), reads.len());
    assert!(world.connection.is_quiet() && world.connection.kept_bytes() == 0);
}

#[test]
fn a_write_that_ends_is_answered_behind_the_message_that_is_sent() {
    let mut world = World::admin();
    world.home.owner.large();
    world.receive(&[say::modify(1), say::search(2, "cn=large"), say::modify(3)]);
    assert_eq!(world.complete(1), ["modify 1 success"]);
    while !world.connection.is_inside_message() || world.out.is_empty() {
        world.proceed_part();
    }
    let half = world.out.len();
    let end = world.mail.end(3);
    world.arrive(end);
    assert_eq!(world.out.len(), half);
    let said = world.settle();
    assert_eq!(said[0], "entry 2");
    assert!(said.contains(&"modify 3 success".to_owned()), "{said:?}");
    assert!(world.connection.is_quiet());
}

#[test]
fn a_stopping_server_executes_none() {
    let mut world = World::admin();
    world.receive(&[say::modify(1), say::compare(2)]);
    world.connection.stop_executing();
    assert_eq!(world.complete(1), ["modify 1 success"]);
    assert!(world.connection.is_quiet() && !world.connection.can_proceed());
}

#[test]
fn a_stopping_server_answers_a_write_behind_the_message_that_is_sent() {
    let mut world = World::admin();
    world.home.owner.large();
    let messages = [say::modify(1), say::search(2, "cn=large"), say::modify(3)];
    world.receive(&messages);
    world.complete(1);
    while !world.connection.is_inside_message() || world.out.is_empty() {
        world.proceed_part();
    }
    let end = world.mail.end(3);
    world.arrive(end);
    world.connection.stop_executing();
    let said = world.settle();
    assert!(said.contains(&"modify 3 success".to_owned()), "{said:?}");
}

#[test]
fn nothing_follows_a_message_that_was_broken_off() {
    let mut world = World::admin();
    world.home.owner.large();
    let messages = [say::modify(1), say::search(2, "cn=large"), say::modify(3)];
    world.receive(&messages);
    world.complete(1);
    while !world.connection.is_inside_message() || world.out.is_empty() {
        world.proceed_part();
    }
    world.connection.abort(&mut world.worker);
    let half = world.out.len();
    let end = world.mail.end(3);
    world.arrive(end);
    assert_eq!(world.out.len(), half);
}

#[test]
fn every_search_finds_the_entries_that_were_added_before_it() {
    let world = RefCell::new(World::admin());
    let entries = RefCell::new(0);
    proptest!(cases(), |(
        // For each entry, the number of requests between its add and the search for it.
        distances in prop::collection::vec(0usize..6, 1..12),
        sizes in prop::collection::vec(1usize..200, 1..8),
    )| {
        let (mut world, mut entries) = (world.borrow_mut(), entries.borrow_mut());
        let mut messages = Vec::new();
        for (number, distance) in (0..).zip(&distances) {
            *entries += 1;
            let rdn = format!("cn=entry {entries}");
            messages.push((2 * number, say::add(2 * number as i32 + 1, &rdn)));
            let at = 2 * (number + distance) + 1;
            messages.push((at, say::search(2 * number as i32 + 2, &rdn)));
        }
        messages.sort_by_key(|(at, _)| *at);
        let bytes: Vec<u8> = messages.into_iter().flat_map(|(_, it)| it).collect();
        let (answers, closed) = answers(&mut world, &bytes, &sizes);
        prop_assert!(!closed);
        let found = answers.iter().filter(|it| it.starts_with("entry")).count();
        prop_assert_eq!(found, distances.len());
    });
}
