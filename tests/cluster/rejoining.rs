//! A node that was away until the records that it needs were gone.

use crate::nodes::{await_voters, cluster, require_equal, status, write};
use kit::Pando;
use kit::process::until;
use std::path::Path;
use std::process::Command;

/// Removes all records up to the end of the log, as a long absence does.
fn trim(node: &Pando, port: u16) {
    let folder = node.node().join("cluster");
    let file = |name: &str| folder.join(name);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/etcd/etcdctl");
    let end = status(node)["log"]["head"]
        .as_u64()
        .expect("the end of the log");
    let done = Command::new(&program)
        .arg(format!("--endpoints=https://127.0.0.1:{port}"))
        .arg("--cacert")
        .arg(file("ca.pem"))
        .arg("--cert")
        .arg(file("node.pem"))
        .arg("--key")
        .arg(file("node.key"))
        .args(["compact", "--physical", &end.to_string()])
        .output();
    let done = done.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(done.status.success(), "{done:?}");
}

/// Port at which the etcd of a node serves clients.
fn etcd_port(node: &Pando) -> u16 {
    let said = status(node);
    let own = said["nodes"].as_array().expect("nodes").iter();
    let own = own
        .clone()
        .find(|it| it["node"] == said["node"])
        .expect("itself");
    let (_, port) = own["address"]
        .as_str()
        .expect("an address")
        .rsplit_once(':')
        .expect("a port");
    port.parse::<u16>().expect("a port") + 1
}

#[test]
fn a_node_that_was_away_too_long_takes_a_copy_by_itself() {
    let mut nodes = cluster(3);
    await_voters(&nodes[0], 3);
    let mut away = nodes.remove(2);
    away.stop();
    let names = write(&mut nodes[0].admin(), 1);
    require_equal(&nodes);
    trim(&nodes[0], etcd_port(&nodes[0]));
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
