//! Folders of nodes that were copied: of all copies one goes on, the one that was served first
//! after the copying, and each other says so in one line.

use crate::nodes::{
    PORT, add_when_possible, at_sites, await_voters, cluster, conclude, refused, require_equal,
    write,
};
use kit::process::until;
use kit::router::Network;
use kit::{Pando, etcd, people};
use protocol::ResultCode;
use std::fs;

#[test]
fn a_copy_of_a_node_that_went_on_is_not_served() {
    let mut nodes = cluster(2);
    nodes[1].stop();
    let copy = nodes[1].copied();
    nodes[1].serve();
    add_when_possible(&nodes[1], "on");
    // Both at once, and the copy alone.
    refused(copy.serve_in_vain(), 1, "is a copy");
    add_when_possible(&nodes[1], "undisturbed");
    nodes[1].stop();
    refused(copy.serve_in_vain(), 1, "is a copy");
    nodes[1].serve();
    write(&mut nodes[1].admin(), 1);
    require_equal(&nodes);
}

#[test]
fn a_voter_restored_from_an_old_copy_of_its_folder_votes_no_more() {
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    nodes[2].stop();
    let old = nodes[2].copied();
    nodes[2].serve();
    write(&mut nodes[2].admin(), 0);
    nodes[2].kill_with_etcd();
    refused(old.serve_in_vain(), 1, "is a copy");
    let log = fs::read_to_string(old.node().join("etcd").join("etcd.log"));
    let before = fs::read_to_string(nodes[2].node().join("etcd").join("etcd.log"));
    let (log, before) = (log.expect("its log"), before.expect("its log"));
    assert!(before.starts_with(&log), "etcd did not run on the old copy");
    write(&mut nodes[0].admin(), 1);
    nodes[2].serve();
    await_voters(&nodes[2], 3);
    write(&mut nodes[2].admin(), 2);
    conclude(&mut nodes);
}

/// A machine is cloned while it runs, and the clone is started beside it.
#[test]
fn of_two_processes_with_one_identity_the_later_goes_on() {
    let network = Network::new(&["a", "b", "clone"]);
    network.share_address("b", "clone");
    network.at("a", || {
        let mut nodes = at_sites(&network, &["a", "b"], PORT);
        nodes[1].stop();
        let mut clone = nodes[1].copied_to(&network, "clone");
        nodes[1].serve();
        let file = |it: &Pando| it.node().join("cluster").join("cluster.json");
        add_when_possible(&nodes[1], "original");
        fs::copy(file(&nodes[1]), file(&clone)).expect("our own folders");
        clone.serve();
        add_when_possible(&clone, "clone");
        let reason = until("the original to be refused", || {
            let added = nodes[1].admin().add(&people::person("late"));
            (added.code == ResultCode::UNAVAILABLE).then_some(added.diagnostic)
        });
        assert!(reason.contains("a copy of this node's folder"), "{reason}");
        // It reads on, and does not come back.
        add_when_possible(&clone, "more");
        nodes[1].stop();
        refused(nodes[1].serve_in_vain(), 1, "is a copy");
        assert!(etcd::process(&nodes[1].node()).is_none());
        nodes[1] = clone;
        write(&mut nodes[1].admin(), 1);
        require_equal(&nodes);
    });
}
