//! The voters of etcd: with the third node there are three, and one machine may be lost.

use crate::nodes::{add_when_possible, await_voters, cluster, require_equal, status, write};
use kit::Pando;
use kit::process::until;
use std::time::{Duration, Instant};

/// Longest time without a write after the loss of a machine: generous, since machines that test are
/// loaded.
const GAP_MAX: Duration = Duration::from_secs(20);

/// Every name that was added is there.
fn require(nodes: &[Pando], names: &[String]) {
    for node in nodes {
        let mut client = node.admin();
        for name in names {
            assert!(client.read(name).is_some(), "{name} was acknowledged");
        }
    }
}

#[test]
fn three_nodes_survive_the_loss_of_the_first_machine() {
    let mut nodes = cluster(3);
    await_voters(&nodes[2], 3);
    await_voters(&nodes[1], 3);
    let said = status(&nodes[1]);
    assert_eq!(said["quorum"]["spare"], 1, "{said:#}");
    let mut names = write(&mut nodes[1].admin(), 1);
    nodes[0].kill_with_etcd();
    let killed = Instant::now();
    names.push(add_when_possible(&nodes[2], "after"));
    let gap = killed.elapsed();
    assert!(gap < GAP_MAX, "{gap:?}");
    println!("the first write after the loss took {gap:?}");
    names.extend(write(&mut nodes[1].admin(), 2));
    require_equal(&nodes[1..]);
    until("the loss to be noticed", || {
        let quorum = &status(&nodes[1])["quorum"];
        (quorum["answering"] == 2 && quorum["spare"] == 0).then_some(())
    });
    let said = nodes[1].run_on_node(&["cluster", "status"], &[]);
    said.expect(1).says("1 of 3 voters do not answer");
    // The others find each other without the first one.
    nodes[1].stop();
    nodes[1].serve();
    names.push(add_when_possible(&nodes[1], "again"));
    nodes[0].serve();
    await_voters(&nodes[0], 3);
    require_equal(&nodes);
    require(&nodes, &names);
}

#[test]
fn a_cluster_that_was_stopped_starts_again() {
    let mut nodes = cluster(3);
    await_voters(&nodes[0], 3);
    let mut names = write(&mut nodes[2].admin(), 0);
    for node in &mut nodes {
        node.stop();
    }
    // The last to stop starts first, and waits for a second one.
    for node in nodes.iter_mut().rev() {
        node.serve();
    }
    names.push(add_when_possible(&nodes[2], "after"));
    await_voters(&nodes[0], 3);
    for node in &mut nodes {
        node.kill_with_etcd();
    }
    for node in &mut nodes {
        node.serve();
    }
    names.push(add_when_possible(&nodes[1], "powered"));
    require_equal(&nodes);
    require(&nodes, &names);
}
