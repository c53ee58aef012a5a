//! Bytes of one node's database change on its disk: that node notices, keeps its file, takes a copy
//! of another node's state and goes on; the others go on meanwhile.

use crate::nodes::{await_voters, cluster, conclude as end, require_equal, write};
use kit::client::Modification;
use kit::process::until;
use kit::{Pando, SUFFIX, people};
use protocol::{ResultCode, Scope};
use std::fs;

/// Writes until nodes compare their states once more.
const COMPARED: u64 = 1_100;

/// Changes a byte of a text wherever the database of a stopped node has it.
fn damage(node: &Pando, text: &str) {
    let path = node.node().join("data").join("pando.mdb");
    let mut bytes = fs::read(&path).expect("the database");
    let mut changed = 0;
    for at in 0..bytes.len() - text.len() {
        if &bytes[at..at + text.len()] == text.as_bytes() {
            bytes[at] ^= 1;
            changed += 1;
        }
    }
    assert!(changed > 0, "{text} is in the database");
    fs::write(&path, bytes).expect("the database");
}

/// Waits until a node has taken a copy, then compares all nodes.
fn conclude(mut nodes: Vec<Pando>) {
    nodes[2].await_address();
    assert!(nodes[2].node().join("data.different").exists());
    write(&mut nodes[2].admin(), 7);
    end(&mut nodes);
}

/// Three nodes that vote, with a person who has this value; and the person's name.
fn nodes_with(attribute: &str, value: &str) -> (Vec<Pando>, String) {
    let nodes = cluster(3);
    await_voters(&nodes[0], 3);
    let mut person = people::person("hit");
    person.name = format!("uid=hit,{SUFFIX}");
    person.push(attribute, value.into());
    nodes[1].admin().add(&person).expect_success();
    require_equal(&nodes);
    (nodes, person.name)
}

#[test]
fn a_node_that_cannot_read_an_entry_takes_a_copy() {
    let text = "a text that will be damaged";
    let (mut nodes, person) = nodes_with("description", text);
    nodes[2].stop();
    damage(&nodes[2], text);
    nodes[2].serve();
    // Every node has to read the entry now.
    let change = Modification::replace("sn", &["Other"]);
    let mut admin = nodes[0].admin();
    admin.modify(&person, &[change]).expect_success();
    write(&mut nodes[1].admin(), 1);
    conclude(nodes);
}

#[test]
fn a_node_whose_state_differs_takes_a_copy() {
    let (mut nodes, _) = nodes_with("description;lang-flipflop", "a text");
    nodes[2].stop();
    // Nobody reads it again, and no checksum is on it.
    damage(&nodes[2], "lang-flipflop");
    nodes[2].serve();
    let mut admin = nodes[0].admin();
    for number in 0..COMPARED {
        // Nobody writes while two nodes have different states and the third has not spoken.
        until("a write", || {
            let change = Modification::replace("description", &[&number.to_string()]);
            let done = admin.modify(SUFFIX, &[change]);
            (done.code == ResultCode::SUCCESS).then_some(())
        });
    }
    let log = until("a difference", || {
        let log = nodes[2].process().log();
        log.contains("its state differs").then_some(log)
    });
    assert!(log.contains("from that of most nodes at position"), "{log}");
    let found = admin.search(SUFFIX, Scope::SingleLevel, "(uid=hit)", &["*"]);
    assert_eq!(found.entries.len(), 1, "the others go on");
    conclude(nodes);
}
