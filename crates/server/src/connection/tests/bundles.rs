//! Responses that the client waits for together.

use super::*;

#[test]
fn a_bundle_is_complete_with_its_last_result() {
    let mut world = World::admin();
    world.home.owner.people("three", 3, 1);
    assert_eq!(world.connection.patience(1), None);
    world.receive(&[say::announce(1, 4, None)]);
    let patience = world.connection.patience(1);
    assert_eq!(patience, Some(Duration::from_millis(10)));
    assert_eq!(
        world.connection.patience(64 << 10),
        None,
        "enough is enough"
    );
    // Entries do not count, results of writes do when they are there.
    world.receive(&[say::list(2, "three"), say::modify(3), say::modify(4)]);
    assert_eq!(world.connection.patience(1), patience);
    world.complete(3);
    assert_eq!(world.connection.patience(1), patience);
    world.complete(4);
    assert_eq!(world.connection.patience(1), None);
    // The shorter of what the client and the server allow.
    world.receive(&[say::announce(5, 9, Some(500))]);
    assert_eq!(
        world.connection.patience(1),
        Some(Duration::from_micros(500))
    );
    world.receive(&[say::announce(6, 9, Some(9_000_000))]);
    assert_eq!(
        world.connection.patience(1),
        Some(Duration::from_millis(100))
    );
    world.receive(&[say::announce(7, 9, Some(0))]);
    assert_eq!(world.connection.patience(1), None);
    world.receive(&[say::announce(8, 9, None), say::announce(9, 0, None)]);
    assert_eq!(world.connection.patience(1), None);
}

#[test]
fn requests_about_the_connection_end_a_bundle() {
    let about = [
        say::bind(2, "", b""),
        say::abandon(2, 1),
        say::cancel(2, 1),
        say::extended(2, oid::START_TLS),
        say::unbind(2),
        b"junk".to_vec(),
    ];
    for message in about {
        let mut world = World::new();
        world.receive(&[say::announce(1, 9, None)]);
        assert!(world.connection.patience(1).is_some());
        world.receive(std::slice::from_ref(&message));
        assert_eq!(
            world.connection.patience(1),
            None,
            "{}",
            message.escape_ascii()
        );
    }
    let mut world = World::new();
    world.receive(&[say::announce(1, 9, None)]);
    world.connection.end_of_input(&mut world.worker);
    assert_eq!(world.connection.patience(1), None);
    let mut world = World::new();
    world.receive(&[say::announce(1, 9, None)]);
    world.connection.stop_executing();
    assert_eq!(world.connection.patience(1), None);
}
