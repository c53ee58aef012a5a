//! Processes of a cluster are killed, hang and come back while clients read and write: nothing
//! acknowledged is lost, nothing is done twice, and all nodes are equal in the end.
//!
//! `make test` runs a few rounds; `make cluster-faults` sets their number in `PANDO_FAULT_ROUNDS`.

use crate::nodes::{add_when_possible, await_voters, cluster};
use crate::wanderers::{Grove, conclude, pause, rounds, wander};
use kit::random::Random;
use kit::{Pando, etcd};
use rustix::process::Signal;
use std::time::Duration;

/// Rounds of a run of all tests.
const ROUNDS: u64 = 8;

/// Something that happens to one machine.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The node's process is killed; its etcd goes on.
    KillNode,
    /// etcd is killed; the node starts it again.
    KillEtcd,
    /// Both are killed, as in a power failure of the machine.
    KillMachine,
    /// The node is stopped in an orderly way.
    Stop,
    /// The node's process hangs for some seconds.
    PauseNode,
    /// etcd hangs for some seconds.
    PauseEtcd,
    /// The etcd of two machines hangs: there is no quorum for some seconds.
    LoseQuorum,
}

const FAULTS: [Fault; 7] = [
    Fault::KillNode,
    Fault::KillEtcd,
    Fault::KillMachine,
    Fault::Stop,
    Fault::PauseNode,
    Fault::PauseEtcd,
    Fault::LoseQuorum,
];

#[test]
fn nothing_acknowledged_is_lost_or_done_twice() {
    let mut random = Random::announced("faults of a cluster");
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    let history = wander(&mut nodes, &mut random, |nodes, grove, random| {
        for round in 0..rounds(ROUNDS) {
            suffer(nodes, grove, random, round);
        }
    });
    conclude(&mut nodes, &history);
}

/// One fault, and the time until every node takes writes again.
fn suffer(nodes: &mut [Pando], grove: &Grove, random: &mut Random, round: u64) {
    let victim = random.below(nodes.len() as u64) as usize;
    let fault = FAULTS[random.below(FAULTS.len() as u64) as usize];
    let time = Duration::from_millis(200 + random.below(4_000));
    eprintln!("round {round}: {fault:?} on node {victim}, {time:?}");
    let node = &mut nodes[victim];
    match fault {
        Fault::KillNode => node.kill(),
        Fault::KillEtcd => etcd::kill(&node.node()),
        Fault::KillMachine => node.kill_with_etcd(),
        Fault::Stop => assert!(node.stop().success()),
        Fault::PauseNode => node.process().signal(Signal::STOP),
        Fault::PauseEtcd => etcd::signal(&node.node(), Signal::STOP),
        Fault::LoseQuorum => {
            let next = (victim + 1) % nodes.len();
            for it in [victim, next] {
                etcd::signal(&nodes[it].node(), Signal::STOP);
            }
        }
    }
    pause(time);
    let node = &mut nodes[victim];
    match fault {
        Fault::KillNode | Fault::KillMachine | Fault::Stop => {
            node.serve();
            grove.moved(victim, node.address());
        }
        Fault::KillEtcd => {}
        Fault::PauseNode => node.process().signal(Signal::CONT),
        Fault::PauseEtcd => etcd::signal(&node.node(), Signal::CONT),
        Fault::LoseQuorum => {
            let next = (victim + 1) % nodes.len();
            for it in [victim, next] {
                etcd::signal(&nodes[it].node(), Signal::CONT);
            }
        }
    }
    for (number, node) in nodes.iter().enumerate() {
        add_when_possible(node, &format!("after{round}on{number}"));
    }
}
