//! Nodes that leave or are removed, and those that stay.

use crate::nodes::{
    add_when_possible, await_voters, cluster, founder, joined, refused, require_equal, status,
    write,
};
use kit::process::until;
use kit::{Pando, etcd};
use serde_json::Value;

/// The identifier of a node.
fn id(node: &Pando) -> String {
    status(node)["node"]
        .as_str()
        .expect("an identifier")
        .to_owned()
}

/// Addresses of all nodes that a node knows.
fn addresses(node: &Pando) -> Vec<String> {
    let said = status(node);
    let nodes = said["nodes"].as_array().expect("nodes");
    let address = |it: &Value| it["address"].as_str().expect("an address").to_owned();
    nodes.iter().map(address).collect()
}

#[test]
fn a_node_that_leaves_hands_its_vote_over_and_ends() {
    let mut nodes = cluster(4);
    await_voters(&nodes[3], 3);
    let mut left = nodes.remove(0);
    assert!(
        etcd::process(&nodes[2].node()).is_none(),
        "the fourth has no vote"
    );
    let said = left.run_on_node(&["cluster", "leave"], &[]).expect(0);
    said.says("has left the cluster");
    left.wait_for_end();
    assert!(etcd::process(&left.node()).is_none(), "its etcd has ended");
    await_voters(&nodes[0], 3);
    assert!(
        etcd::process(&nodes[2].node()).is_some(),
        "the fourth has a vote"
    );
    assert_eq!(addresses(&nodes[0]).len(), 3);
    write(&mut nodes[2].admin(), 1);
    require_equal(&nodes);
    let again = left.run_on_node(&["serve"], &["--listen", "ldap://127.0.0.1:0"]);
    refused(again, 1, "has left its cluster");
    let again = left.run_on_node(&["cluster", "leave"], &[]);
    refused(again, 1, "has left its cluster before");
    // Its folder is a copy of that day.
    left.assert_clean();
    assert!(left.export().contains("dc=example,dc=com"));
    // A stopped node is taken out by another one: two are left, with one voter.
    nodes[2].stop();
    nodes[2].run_on_node(&["cluster", "leave"], &[]).expect(0);
    await_voters(&nodes[0], 1);
    write(&mut nodes[1].admin(), 2);
    require_equal(&nodes[..2]);
}

#[test]
fn a_dead_node_is_removed_and_does_not_come_back() {
    let mut nodes = cluster(3);
    await_voters(&nodes[0], 3);
    let dead = id(&nodes[1]);
    let alive = nodes[0].run_on_node(&["cluster", "remove"], &[&dead[..8]]);
    refused(alive, 1, "is served at");
    let own = id(&nodes[0]);
    let own = nodes[0].run_on_node(&["cluster", "remove"], &[&own]);
    refused(own, 1, "pando cluster leave");
    let unknown = nodes[0].run_on_node(&["cluster", "remove"], &["nobody"]);
    refused(unknown, 1, "which none of these begins with");
    nodes[1].kill_with_etcd();
    let removed = nodes[0].run_on_node(&["cluster", "remove"], &[&dead[..8]]);
    removed
        .expect(0)
        .says("is no member of the cluster any more");
    await_voters(&nodes[0], 1);
    write(&mut nodes[2].admin(), 1);
    let back = nodes[1].run_on_node(&["serve"], &["--listen", "ldap://127.0.0.1:0"]);
    let back = back.expect(1).says("was removed from the cluster");
    let last = back.err.trim().lines().last().unwrap_or_default();
    assert!(last.starts_with("pando: "), "{}", back.err);
    assert!(
        etcd::process(&nodes[1].node()).is_none(),
        "its etcd has ended"
    );
    nodes.remove(1);
    // A new node takes the place.
    let new = joined(&nodes[0]);
    nodes.push(new);
    await_voters(&nodes[0], 3);
    add_when_possible(&nodes[2], "new");
    require_equal(&nodes);
}

#[test]
fn departures_that_lose_the_quorum_are_refused() {
    let only = founder();
    let alone = only.run_on_node(&["cluster", "leave"], &[]);
    refused(alone, 1, "the only node");
    let mut nodes = vec![only];
    while nodes.len() < 3 {
        let node = joined(&nodes[0]);
        nodes.push(node);
    }
    await_voters(&nodes[1], 3);
    // Of two that would stay, the one that would have the only vote does not answer.
    nodes[0].kill_with_etcd();
    until("the loss to be noticed", || {
        let quorum = &status(&nodes[1])["quorum"];
        (quorum["voters"] == 3 && quorum["answering"] == 2).then_some(())
    });
    let leaves = nodes[1].run_on_node(&["cluster", "leave"], &[]);
    refused(leaves, 1, "--lose-quorum");
    add_when_possible(&nodes[1], "still");
}
