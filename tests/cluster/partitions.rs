//! Three sites with a node each are cut off from each other, slowed down and healed while clients
//! read and write: nothing acknowledged is lost, nothing is done twice, nodes that reach a quorum
//! take writes meanwhile, and all are equal in the end.
//!
//! The clients are at a fourth site, which reaches all others at once. `make test` runs a few
//! rounds; `make cluster-faults` sets their number in `PANDO_FAULT_ROUNDS`.

mod fault;

use crate::nodes::{PORT, add_when_possible, at_sites, await_voters};
use crate::wanderers::{conclude, rounds, wander};
use fault::{Fault, SITES, Struck};
use kit::random::Random;
use kit::router::Network;
use kit::{Pando, etcd};
use std::time::{Duration, Instant};

/// Rounds of a run of all tests.
const ROUNDS: u64 = 11;
/// Longest packet of most networks. Of longer ones too few are lost.
const PACKET_BYTES: u16 = 1_500;
/// Longest time from a fault, or its end, until nodes that reach a quorum take writes: generous,
/// since machines that test are loaded.
const RECOVERY_MAX: Duration = Duration::from_secs(20);

#[test]
fn sites_that_were_cut_off_go_on_together() {
    let mut random = Random::announced("partitions of a cluster");
    let network = Network::with_packets(&["a", "b", "c", "clients"], PACKET_BYTES);
    network.at("clients", || {
        let mut nodes = at_sites(&network, &SITES, PORT);
        nodes.iter().for_each(|it| await_voters(it, 3));
        let history = wander(&mut nodes, &mut random, |nodes, _, random| {
            let mut faults = Vec::new();
            for round in 0..rounds(ROUNDS) {
                if faults.is_empty() {
                    faults = Fault::shuffled(random);
                }
                let fault = faults.pop().expect("some are left");
                let leader = nodes.iter().position(|it| etcd::leads(&it.node()));
                let struck = fault.strike(random, leader);
                eprintln!("round {round}: {struck:?}, etcd is led by {leader:?}");
                suffer(&network, nodes, struck, round);
            }
        });
        conclude(&mut nodes, &history);
    });
}

/// One fault, and the time until every node takes writes again.
fn suffer(network: &Network, nodes: &[Pando], struck: Struck, round: u64) {
    let begun = Instant::now();
    struck.last(network, nodes, |during| {
        for number in during {
            add_when_possible(&nodes[*number], &format!("during{round}on{number}"));
            require_soon(*number, begun.elapsed());
        }
    });
    eprintln!("  healed");
    let healed = Instant::now();
    for (number, node) in nodes.iter().enumerate() {
        add_when_possible(node, &format!("after{round}on{number}"));
        require_soon(number, healed.elapsed());
    }
}

/// A node took a write soon enough after a change.
fn require_soon(node: usize, took: Duration) {
    eprintln!("  node {node} takes writes after {took:?}");
    assert!(took < RECOVERY_MAX, "node {node}: {took:?}");
}
