//! Tests the memory of writes that wait to be executed.

use super::*;

/// Bytes of a large description.
const LARGE: usize = 300 << 10;

/// A connection of the administrator to a directory with these limits.
fn limited(memory_bytes_max: u64, memory_each_bytes_max: u64) -> World {
    let options = Options {
        memory_bytes_max,
        memory_each_bytes_max,
        ..Options::default()
    };
    let mut world = World::with(&options);
    world.rules.limits.message_bytes_max = 1 << 20;
    world.bind();
    world
}

fn large(id: MessageId) -> Vec<u8> {
    say::describe(id, &vec![b'x'; LARGE])
}

/// Bytes that the monitor shows as kept for clients.
fn kept(world: &mut World) -> u64 {
    let owner = &mut world.home.owner;
    owner.monitored("cn=Request Memory,cn=Statistics", "monitorCounter")
}

#[test]
fn writes_beyond_the_budget_wait_for_those_before() {
    for (all, each) in [(1 << 20, 0), (0, 1 << 20)] {
        let mut world = limited(all, each);
        let (small, read) = (say::modify(5), say::compare(6));
        let sent = [large(1), large(2), large(3), large(4), small, read];
        assert!(world.receive(&sent).is_empty());
        assert!(!world.connection.wants_input(true));
        for id in [2, 1, 3] {
            assert_eq!(world.complete(id), [format!("modify {id} success")]);
        }
        assert!(world.settle().is_empty());
        assert_eq!(world.complete(4), ["modify 4 success"]);
        assert_eq!(world.complete(5), ["modify 5 success"]);
        assert_eq!(world.settle(), ["compare 6 compareTrue"]);
        assert!(world.connection.is_counted() && kept(&mut world) > 0);
        assert_eq!(world.connection.kept_bytes(), 0);
        world.connection.give_back();
        assert_eq!(kept(&mut world), 0);
    }
}

#[test]
fn a_write_is_refused_where_others_have_the_memory() {
    let mut world = limited(1 << 20, 0);
    let other = world.worker.open_session(8, local());
    let mut other = Connection::new(other, true);
    let (worker, rules) = (&mut world.worker, &world.rules);
    let before = [say::bind_admin(1), large(2), large(3), large(4)].concat();
    other.receive(worker, rules, &before, &mut Vec::new());
    assert_eq!(
        world.receive(&[large(5), say::modify(6)]),
        ["modify 5 busy"]
    );
    assert_eq!(world.complete(6), ["modify 6 success"]);
    other.abort(&mut world.worker);
    drop(other);
    assert!(world.receive(&[large(7)]).is_empty());
}

#[test]
fn input_beyond_the_budget_waits_for_writes() {
    let mut world = limited(1 << 20, 0);
    assert!(world.receive(&[large(1), large(2)]).is_empty());
    let part = &large(3)[..LARGE - 1];
    assert!(world.receive_bytes(part).is_empty());
    let count = |world: &mut World, output: usize| {
        let (worker, out) = (&mut world.worker, &mut world.out);
        world.connection.count_buffers(worker, output, out);
    };
    count(&mut world, 0);
    assert!(world.connection.wants_input(true));
    count(&mut world, LARGE);
    assert!(!world.connection.wants_input(true) && !world.connection.is_closed());
    assert_eq!(world.complete(1), ["modify 1 success"]);
    assert!(world.connection.wants_input(true));
    assert_eq!(world.complete(2), ["modify 2 success"]);
    count(&mut world, 4 * LARGE);
    assert!(world.connection.is_closed(), "no write gives memory back");
}

#[test]
fn a_connection_that_is_lost_gives_its_memory_back() {
    let mut world = limited(1 << 20, 0);
    assert!(world.receive(&[large(1), large(2)]).is_empty());
    assert!(kept(&mut world) > LARGE as u64);
    world.renew();
    assert_eq!(kept(&mut world), 0);
}
