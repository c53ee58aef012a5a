//! Nodes with several bundles on their way to the log at a time.

use crate::nodes::{cluster, require_equal};
use kit::client::Modification;
use kit::{Client, Pando, SUFFIX, people};
use std::sync::Barrier;

/// Clients of each node.
const CLIENTS: usize = 6;
/// Writes that each client has under way at the same time.
const DEPTH: usize = 100;

/// Changes one entry again and again, without waiting for answers.
fn change(client: &mut Client, name: &str, begin: &Barrier) {
    let mut person = people::person("someone");
    name.clone_into(&mut person.name);
    client.add(&person).expect_success();
    begin.wait();
    let sent: Vec<_> = (1..=DEPTH)
        .map(|number| {
            let text = number.to_string();
            let change = [Modification::replace("description", &[&text])];
            let sent = client.try_send_modify(name, &change, &[]);
            sent.expect("the server takes it")
        })
        .collect();
    for id in sent {
        let answer = client.try_finish(id).expect("an answer");
        answer.outcome.expect_success();
    }
}

/// Serves a node again, with four lanes.
fn serve_with_lanes(node: &mut Pando) {
    node.stop();
    let file = node.node().join("pando.toml");
    std::fs::write(file, "[cluster]\nlanes = 4\n").expect("our own folder");
    node.serve();
}

#[test]
fn writes_of_a_connection_keep_their_order_over_several_lanes() {
    let mut nodes = cluster(2);
    // The second one first: it needs the etcd of the first one to say farewell.
    serve_with_lanes(&mut nodes[1]);
    serve_with_lanes(&mut nodes[0]);
    let begin = Barrier::new(CLIENTS * nodes.len());
    std::thread::scope(|scope| {
        for (number, node) in nodes.iter().enumerate() {
            for client in 0..CLIENTS {
                let (mut session, begin) = (node.admin(), &begin);
                let name = format!("uid=n{number}c{client},{SUFFIX}");
                scope.spawn(move || change(&mut session, &name, begin));
            }
        }
    });
    require_equal(&nodes);
    let mut reader = nodes[0].admin();
    for number in 0..nodes.len() {
        for client in 0..CLIENTS {
            let name = format!("uid=n{number}c{client},{SUFFIX}");
            let entry = reader.read(&name).expect("it was added");
            assert_eq!(entry.text("description"), DEPTH.to_string(), "{name}");
        }
    }
    for node in &mut nodes {
        node.stop();
        node.assert_clean();
    }
}
