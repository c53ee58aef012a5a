//! A node that was away until the records that it needs were gone.

use crate::nodes::{await_voters, cluster, etcdctl, require_equal, status, write};
use kit::Pando;
use kit::process::until;

/// Removes all records up to the end of the log, as a long absence does.
fn trim(node: &Pando) {
    let end = status(node)["log"]["head"]
        .as_u64()
        .expect("the end of the log");
    let said = etcdctl(node, &["compact", "--physical", &end.to_string()], "");
    assert!(said.contains("compacted revision"), "{said}");
}

#[test]
fn a_node_that_was_away_too_long_takes_a_copy_by_itself() {
    let mut nodes = cluster(3);
    await_voters(&nodes[0], 3);
    let mut away = nodes.remove(2);
    away.stop();
    let names = write(&mut nodes[0].admin(), 1);
    require_equal(&nodes);
    trim(&nodes[0]);
    away.serve();
    away.await_address();
    nodes.push(away);
    let mut client = nodes[2].admin();
    for name in &names {
        assert!(client.read(name).is_some(), "{name} was acknowledged");
    }
    drop(client);
    write(&mut nodes[2].admin(), 2);
    require_equal(&nodes);
    let folder = nodes[2].node();
    until("the former state to be removed", || {
        (!folder.join("data.before").exists()).then_some(())
    });
    for node in &mut nodes {
        node.stop();
        node.assert_clean();
    }
}
