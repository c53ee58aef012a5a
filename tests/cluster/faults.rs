//! Processes of a cluster are killed, hang and come back while clients read and write: nothing
//! acknowledged is lost, nothing is done twice, and all nodes are equal in the end.
//!
//! `make test` runs a few rounds; `make cluster-faults` sets their number in `PANDO_FAULT_ROUNDS`.

mod client;
mod history;

use crate::nodes::{add_when_possible, await_voters, cluster, require_equal, status};
use client::{COUNTER, Grove, REGISTERS, Wanderer, register};
use history::{End, History};
use kit::random::Random;
use kit::{Entry, Pando, SUFFIX, etcd};
use protocol::Scope;
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// Rounds of a run of all tests.
const ROUNDS: u64 = 8;
/// Number of clients.
const CLIENTS: usize = 4;

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
    let rounds = std::env::var("PANDO_FAULT_ROUNDS").ok();
    let rounds = rounds.map_or(ROUNDS, |it| it.parse().expect("a number of rounds"));
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    begin(&nodes[0]);
    require_equal(&nodes);
    let grove = Grove {
        addresses: Mutex::new(nodes.iter().map(Pando::address).collect()),
        ends: AtomicBool::new(false),
    };
    let history = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let own = Random::new(random.number());
                let wanderer = Wanderer::new(&grove, number, own, nodes.len());
                scope.spawn(|| wanderer.run())
            })
            .collect();
        let faults = std::panic::AssertUnwindSafe(|| {
            for round in 0..rounds {
                suffer(&mut nodes, &grove, &mut random, round);
            }
        });
        let suffered = std::panic::catch_unwind(faults);
        grove.ends.store(true, Ordering::Release);
        let mut history = History::default();
        for client in clients {
            history.append(client.join().expect("no result is without a reason"));
        }
        suffered.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        history
    });
    conclude(&mut nodes, &history);
}

/// Makes the entries that all clients change.
fn begin(node: &Pando) {
    let mut admin = node.admin();
    for number in 0..REGISTERS {
        let attributes: [(&str, &[&str]); 1] = [("objectClass", &["applicationProcess"])];
        admin
            .add(&Entry::of(&register(number), &attributes))
            .expect_success();
    }
    let attributes: [(&str, &[&str]); 5] = [
        ("objectClass", &["account", "posixAccount"]),
        ("uid", &["counter"]),
        ("uidNumber", &["0"]),
        ("gidNumber", &["0"]),
        ("homeDirectory", &["/"]),
    ];
    admin.add(&Entry::of(COUNTER, &attributes)).expect_success();
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

/// Lets a time pass, in which clients work.
fn pause(time: Duration) {
    let (_silent, pause) = mpsc::channel::<()>();
    pause.recv_timeout(time).ok();
}

/// All nodes are equal and whole, and what clients heard is true of them.
fn conclude(nodes: &mut [Pando], history: &History) {
    require_equal(nodes);
    let end = end(&nodes[0]);
    let [done, refused, unknown] = history.count();
    let reads = history.reads.len();
    eprintln!("{done} writes done, {refused} refused, {unknown} without an answer; {reads} reads");
    let wrong = history.judge(&end);
    assert!(
        wrong.is_empty(),
        "{} faults:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let said = status(&nodes[0]);
    let mut compared = said["nodes"].as_array().expect("nodes").iter();
    assert!(
        !compared.any(|it| it["equality"] == "different"),
        "{said:#}"
    );
    let exports: Vec<String> = nodes
        .iter_mut()
        .map(|it| {
            it.stop();
            it.assert_clean();
            it.export()
        })
        .collect();
    assert!(exports.windows(2).all(|it| it[0] == it[1]), "equal exports");
}

/// The directory in the end.
fn end(node: &Pando) -> End {
    let mut client = node.admin();
    let registers = (0..REGISTERS).map(|number| {
        let entry = client.read(&register(number)).expect("a register");
        entry.texts("description").first().cloned()
    });
    let registers = registers.collect();
    let counter = client.read(COUNTER).expect("the counter").text("uidNumber");
    let all = client.search(SUFFIX, Scope::WholeSubtree, "(uid=*)", &["1.1"]);
    End {
        registers,
        counter: counter.parse().expect("a number"),
        names: all.names().into_iter().collect(),
    }
}
