//! The audit in a cluster: the same lines on every node, and pauses that show.

use crate::nodes::{await_voters, cluster, require_equal, write};
use kit::client::Modification;
use kit::people;
use kit::process::until;
use kit::{Pando, SUFFIX};
use std::fs;

/// Sets whether a node writes lines.
pub fn set(node: &Pando, enabled: bool) {
    let settings = node.node().join("pando.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    let (before, section) = text.split_once("[audit]\n").expect("a section");
    let (line, rest) = section.split_once("enabled = ").expect("a setting");
    let (_, rest) = rest.split_once('\n').expect("more lines");
    let line = line.trim_end_matches('#');
    let text = format!("{before}[audit]\n{line}enabled = {enabled}\n{rest}");
    fs::write(&settings, text).expect("written");
}

/// The lines of the chain that a node has written.
pub fn lines(node: &Pando) -> Vec<String> {
    let shown = node.run_on_node(&["audit", "show"], &[]).expect(0).out;
    shown.lines().map(str::to_owned).collect()
}

pub fn restart(node: &mut Pando) {
    assert!(node.stop().success());
    node.serve();
}

#[test]
fn every_node_has_the_same_lines() {
    let mut nodes = cluster(3);
    await_voters(&nodes[0], 3);
    for node in &nodes[..2] {
        set(node, true);
    }
    restart(&mut nodes[1]);
    until("the audit begins", || {
        (nodes[1].run_on_node(&["audit", "head"], &[]).status == 0).then_some(())
    });
    require_equal(&nodes);
    restart(&mut nodes[0]);
    std::thread::scope(|scope| {
        for (number, node) in nodes.iter().enumerate() {
            let mut client = node.admin();
            scope.spawn(move || write(&mut client, number));
        }
    });
    require_equal(&nodes);
    let verify = |node: &Pando, status: i32| {
        let done = node.run_on_node(&["audit", "verify"], &[]);
        done.expect(status)
    };
    verify(&nodes[0], 0);
    verify(&nodes[1], 0);
    // The first node came back after the audit had begun: it has the end of the same chain.
    let (late, all) = (lines(&nodes[0]), lines(&nodes[1]));
    assert!(all.len() > 100, "{} lines", all.len());
    assert!(all.ends_with(&late), "lines of two nodes differ");
    assert!(
        late.iter()
            .any(|it| it.contains("\"rule\":\"administrator\""))
    );
    // The third node writes no files and has the same chain in its database.
    let heads = nodes
        .iter()
        .map(|it| it.run_on_node(&["audit", "head"], &[]));
    let heads: Vec<String> = heads.map(|it| it.expect(0).out).collect();
    assert!(heads.iter().all(|it| *it == heads[0]), "{heads:?}");

    // Killed, the node writes what it had not; paused, it says what is missing.
    nodes[1].kill();
    let mut person = people::person("while-away");
    person.name = format!("uid=while-away,{SUFFIX}");
    nodes[0].admin().add(&person).expect_success();
    nodes[1].serve();
    require_equal(&nodes);
    verify(&nodes[1], 0);
    set(&nodes[1], false);
    restart(&mut nodes[1]);
    let change = [Modification::replace("title", &["paused"])];
    nodes[0]
        .admin()
        .modify(&person.name, &change)
        .expect_success();
    require_equal(&nodes);
    set(&nodes[1], true);
    restart(&mut nodes[1]);
    let change = [Modification::replace("title", &["back"])];
    nodes[0]
        .admin()
        .modify(&person.name, &change)
        .expect_success();
    require_equal(&nodes);
    verify(&nodes[1], 1).says("is missing");
    verify(&nodes[0], 0);
}
