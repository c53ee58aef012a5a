//! Tests following searches beside other operations of their connection.

use super::*;

#[test]
fn a_search_that_stays_holds_nothing_up() {
    let mut world = World::new();
    let messages = [say::search(1, "follow"), say::compare(2)];
    assert_eq!(world.receive(&messages), ["compare 2 compareTrue"]);
    assert_eq!(world.proceed(), ["entry 1"]);
    assert_eq!(world.proceed(), ["entry 1"]);
    assert!(!world.connection.can_proceed() && world.connection.wants_input(true));
    assert!(world.connection.is_following() && world.connection.is_quiet());
    assert!(world.news(7).is_empty() && !world.connection.can_proceed());
    assert!(world.news(1).is_empty());
    assert_eq!(world.proceed(), ["entry 1"]);
    // Beside a search that is being sent, and a write that waits.
    assert_eq!(world.receive(&[say::search(3, "2 1 1")]), ["entry 3"]);
    world.news(1);
    assert_eq!(world.proceed(), ["entry 3", "done 3 success", "entry 1"]);
    assert!(world.receive(&[say::delete(4)]).is_empty());
    world.news(1);
    assert_eq!(world.proceed(), ["entry 1"]);
    assert_eq!(world.complete(4), ["delete 4 success"]);
}

#[test]
fn the_message_id_of_a_search_that_stays_is_taken() {
    let mut world = World::new();
    world.receive(&[say::search(1, "follow")]);
    while world.connection.can_proceed() {
        world.proceed();
    }
    assert_eq!(
        world.receive(&[say::search(1, "follow"), say::compare(1), say::compare(2)]),
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
    let mut world = World::new();
    let follow = |id| say::search(id, "follow");
    world.receive(&[follow(1), follow(2), follow(3)]);
    while world.connection.can_proceed() {
        world.proceed();
    }
    assert!(world.receive(&[say::abandon(4, 1)]).is_empty());
    assert_eq!(
        world.receive(&[say::cancel(5, 2)]),
        ["done 2 canceled", "extended 5 success"]
    );
    world.news(1);
    world.news(2);
    assert!(!world.connection.can_proceed() && world.connection.is_following());
    assert_eq!(
        world.receive(&[say::extended(6, oid::START_TLS)]),
        ["extended 6 operationsError"]
    );
    world.receive(&[say::bind(7, "", b"")]);
    assert!(!world.connection.is_following());
    // Unfinished operations are answered at the end of input; then the connection closes.
    world.receive(&[follow(8)]);
    world.connection.end_of_input(&mut world.service);
    assert_eq!(world.proceed(), ["entry 8"]);
    assert!(!world.connection.is_closed());
    assert_eq!(world.proceed(), ["entry 8"]);
    assert!(world.connection.is_closed());
}
