//! The disk of one machine is full: its node executes nothing, says so and goes on when there is
//! room; the others go on meanwhile.

use crate::nodes::{
    add_when_possible, await_voters, conclude, founder, free_address, joined, write,
};
use kit::process::until;
use kit::{Disk, Pando, SUFFIX};

/// Megabytes of the disk: etcd takes its files 64 at a time.
const DISK_MB: u64 = 400;

#[test]
fn a_node_without_room_waits_for_it() {
    let disk = Disk::of(DISK_MB);
    if !disk.has_an_end() {
        return;
    }
    let first = founder();
    let second = joined(&first);
    let line = first.run_on_node(&["cluster", "token"], &[]).expect(0).out;
    let mut third = Pando::join_on(&disk, &line, &free_address());
    third.serve();
    let mut nodes = vec![first, second, third];
    nodes.iter().for_each(|it| await_voters(it, 3));
    write(&mut nodes[2].admin(), 0);
    disk.fill("rest");
    for round in 1..4 {
        write(&mut nodes[0].admin(), round);
        add_when_possible(&nodes[1], &format!("full{round}"));
    }
    let log = until("a word about the disk", || {
        let log = nodes[2].process().log();
        log.contains("no room left for the database").then_some(log)
    });
    assert!(
        nodes[2].admin().read(SUFFIX).is_some(),
        "reads go on:\n{log}"
    );
    disk.remove("rest");
    add_when_possible(&nodes[2], "room");
    nodes.iter().for_each(|it| await_voters(it, 3));
    write(&mut nodes[2].admin(), 9);
    conclude(&mut nodes);
}
