//! Access rules change while clients write at all nodes: the nodes decide alike, and the audit says
//! under which rule.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::audit::{lines, restart, set};
use crate::nodes::{await_voters, cluster, require_equal};
use kit::client::Modification;
use kit::process::until;
use kit::{Client, Pando, people};
use protocol::ResultCode;

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
/// Times that the rules change.
const CHANGES: usize = 8;

/// Rules under which owners may change their descriptions, or may not.
fn rules(are_open: bool) -> String {
    let own = match are_open {
        true => "rule open\non everything\nfor description\nlet self write\nlet users read",
        false => "rule closed\non everything\nfor description\nlet users read",
    };
    let passwords = "rule passwords\non everything\nfor userPassword\nlet anyone authenticate";
    let readable = "rule readable\non everything\nlet users read";
    [passwords, own, readable].join("\n\n")
}

/// Changes ada's description at the node with this address until told to stop. Returns the numbers
/// of changes that were made, and of those that the rules refused.
fn change(address: SocketAddr, number: usize, stops: &AtomicBool) -> (usize, usize) {
    let mut client = Client::connect(address);
    client.bind(ADA, "ada").expect_success();
    let (mut made, mut refused) = (0, 0);
    while !stops.load(Ordering::Relaxed) {
        let text = format!("{number}, {}", made + refused);
        let change = [Modification::replace("description", &[&text])];
        match client.modify(ADA, &change).code {
            ResultCode::SUCCESS => made += 1,
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS => refused += 1,
            other => panic!("expected success or a refusal by the rules, got {other}"),
        }
    }
    (made, refused)
}

#[test]
fn nodes_decide_alike_while_rules_change() {
    let mut nodes = cluster(3);
    await_voters(&nodes[0], 3);
    for entry in people::sample() {
        nodes[0].admin().add(&entry).expect_success();
    }
    for node in &mut nodes[..2] {
        set(node, true);
        restart(node);
    }
    for node in &nodes[..2] {
        until("the audit begins", || {
            (node.run_on_node(&["audit", "head"], &[]).status == 0).then_some(())
        });
    }
    require_equal(&nodes);
    for are_open in [true, false] {
        let name = format!("rules-{are_open}");
        nodes
            .iter()
            .for_each(|it| drop(it.folder.write(&name, rules(are_open))));
    }
    let stops = AtomicBool::new(false);
    let counts: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let stops = &stops;
        let addresses = nodes.iter().map(Pando::address).enumerate();
        let clients: Vec<_> = addresses
            .map(|(number, address)| scope.spawn(move || change(address, number, stops)))
            .collect();
        for number in 0..CHANGES {
            let file = format!("rules-{}", number % 2 == 0);
            let applied = nodes[number % 3].run_on_node(&["access", "apply"], &[&file]);
            applied.expect(0);
        }
        stops.store(true, Ordering::Relaxed);
        let counts = clients.into_iter().map(|it| it.join().expect("no panic"));
        counts.collect()
    });
    let made: usize = counts.iter().map(|it| it.0).sum();
    let refused: usize = counts.iter().map(|it| it.1).sum();
    assert!(made > 10 && refused > 10, "{counts:?}");

    require_equal(&nodes);
    let audits = [lines(&nodes[0]), lines(&nodes[1])];
    let [first, second] = audits.each_ref().map(|all| {
        let of_ada = |it: &&String| it.contains("\"attribute\":\"description\"");
        all.iter().filter(of_ada).collect::<Vec<_>>()
    });
    assert_eq!(first, second);
    assert_eq!(first.len(), made);
    let allowed = |it: &&&String| it.contains("\"rule\":\"open\"");
    assert_eq!(first.iter().filter(allowed).count(), made);
    for node in &nodes[..2] {
        node.run_on_node(&["audit", "verify"], &[]).expect(0);
    }
    let explained = nodes.iter().map(|node| {
        let question = format!("\"{ADA}\", write, \"{ADA}\", description");
        let answer = node.run_on_node(&["access", "explain"], &[&question]);
        (answer.status, answer.out)
    });
    assert_eq!(explained.collect::<BTreeSet<_>>().len(), 1);
}
