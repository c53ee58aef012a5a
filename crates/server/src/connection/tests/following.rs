//! Tests following searches beside other operations of their connection.

use super::*;

/// A connection of the administrator, and entries to follow.
fn watched() -> World {
    let mut world = World::admin();
    world.home.owner.person("cn=watched", 1);
    world
}

#[test]
fn a_search_that_stays_holds_nothing_up() {
    let mut world = watched();
    world.home.owner.people("long", 2, SLICE_BYTES);
    let messages = [say::follow(1, "cn=watched"), say::compare(2)];
    assert_eq!(world.receive(&messages), ["compare 2 compareTrue"]);
    assert_eq!(world.settle(), ["entry 1"]);
    assert!(!world.connection.can_proceed() && world.connection.wants_input(true));
    assert!(world.connection.is_following() && world.connection.is_quiet());
    assert!(world.news(1).is_empty());
    assert_eq!(world.proceed(), ["entry 1"]);
    assert!(!world.connection.can_proceed());
    // Beside a search that is being sent, and a write that waits.
    assert_eq!(world.receive(&[say::list(3, "long")]), ["entry 3"]);
    world.news(1);
    assert_eq!(world.proceed(), ["entry 3", "done 3 success", "entry 1"]);
    assert!(world.receive(&[say::modify(4)]).is_empty());
    world.news(1);
    assert_eq!(world.proceed(), ["entry 1"]);
    assert_eq!(world.complete(4), ["modify 4 success"]);
}

#[test]
fn news_for_a_search_that_has_ended_is_dropped() {
    let mut world = watched();
    world.receive(&[say::follow(1, "cn=watched"), say::follow(2, "cn=watched")]);
    world.settle();
    world.home.owner.touch("cn=watched");
    let late = world.mail.news(1);
    world.receive(&[say::abandon(3, 1)]);
    world.arrive(late);
    assert!(world.heard().is_empty() && !world.connection.can_proceed());
    assert!(world.connection.is_following());
}

#[test]
fn the_message_id_of_a_search_that_stays_is_taken() {
    let mut world = watched();
    let follow = say::follow(1, "cn=watched");
    world.receive(std::slice::from_ref(&follow));
    world.settle();
    assert_eq!(
        world.receive(&[follow, say::compare(1), say::compare(2)]),
        [
            "done 1 protocolError",
            "compare 1 protocolError",
            "compare 2 compareTrue"
        ]
    );
    world.receive(&[say::abandon(1, 1)]);
    assert!(!world.connection.is_following());
    assert_eq!(world.receive(&[say::compare(1)]), ["compare 1 compareTrue"]);
}

#[test]
fn a_search_that_stays_ends_when_it_should() {
    let mut world = watched();
    let follow = |id| say::follow(id, "cn=watched");
    world.receive(&[follow(1), follow(2), follow(3)]);
    world.settle();
    world.home.owner.touch("cn=watched");
    let late = [world.mail.news(1), world.mail.news(2)];
    assert!(world.receive(&[say::abandon(4, 1)]).is_empty());
    assert_eq!(
        world.receive(&[say::cancel(5, 2)]),
        ["done 2 canceled", "extended 5 success"]
    );
    late.into_iter().for_each(|it| world.arrive(it));
    assert!(!world.connection.can_proceed() && world.connection.is_following());
    assert_eq!(
        world.receive(&[say::extended(6, oid::START_TLS)]),
        ["extended 6 operationsError"]
    );
    world.receive(&[say::bind(7, "", b"")]);
    assert!(!world.connection.is_following());
    // Unfinished operations are answered at the end of input; then the connection closes.
    world.receive(&[follow(8)]);
    world.connection.end_of_input(&mut world.worker);
    assert!(!world.connection.is_closed());
    assert_eq!(world.settle(), ["entry 8"]);
    assert!(world.connection.is_closed());
}
