//! Clients that wander between the nodes of a cluster while these suffer, and the judgement of what
//! they heard: nothing acknowledged is lost, nothing is done twice, and all nodes are equal.

mod client;
mod history;

use crate::nodes::{self, require_equal, status};
use client::{COUNTER, REGISTERS, Wanderer, register};
use history::End;
use kit::random::Random;
use kit::{Entry, Pando, SUFFIX};
use protocol::Scope;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

pub use client::Grove;
pub use history::History;

/// Number of clients.
const CLIENTS: usize = 4;

/// Number of faults that a test is to try: `PANDO_FAULT_ROUNDS`, else `default`.
pub fn rounds(default: u64) -> u64 {
    let rounds = std::env::var("PANDO_FAULT_ROUNDS").ok();
    rounds.map_or(default, |it| it.parse().expect("a number of rounds"))
}

/// Lets a time pass, in which clients work.
pub fn pause(time: Duration) {
    let (_silent, pause) = mpsc::channel::<()>();
    pause.recv_timeout(time).ok();
}

/// What clients do and hear while `suffer` runs.
pub fn wander(
    nodes: &mut [Pando],
    random: &mut Random,
    suffer: impl FnOnce(&mut [Pando], &Grove, &mut Random),
) -> History {
    begin(&nodes[0]);
    require_equal(nodes);
    let grove = Grove {
        addresses: Mutex::new(nodes.iter().map(Pando::address).collect()),
        ends: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let own = Random::new(random.number());
                let wanderer = Wanderer::new(&grove, number, own, nodes.len());
                scope.spawn(|| wanderer.run())
            })
            .collect();
        let suffers = std::panic::AssertUnwindSafe(|| suffer(nodes, &grove, random));
        let suffered = std::panic::catch_unwind(suffers);
        grove.ends.store(true, Ordering::Release);
        let mut history = History::default();
        for client in clients {
            history.append(client.join().expect("no result is without a reason"));
        }
        suffered.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        history
    })
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

/// All nodes are equal and whole, and what clients heard is true of them.
pub fn conclude(nodes: &mut [Pando], history: &History) {
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
    nodes::conclude(nodes);
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
