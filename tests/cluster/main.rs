//! Three nodes with an etcd: every node writes, all are equal, and a killed node goes on.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use kit::client::Modification;
use kit::tools::Answer;
use kit::{Client, Pando, SUFFIX, people};
use protocol::{ResultCode, Scope};

mod bench;

/// Time for nodes to become equal.
const PATIENCE: Duration = Duration::from_secs(60);
/// Writes of each client.
const WRITES: usize = 150;

/// An address with a free port and, behind it, those of the node's etcd. They are below the ports
/// that the system gives to others, because a stopped node must find them free again.
fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    for _ in 0..1_000 {
        let next = NEXT.fetch_add(3, Ordering::Relaxed);
        let spread = (std::process::id() % 1_000) as u16 * 9;
        let port = 20_000 + (spread + next) % 12_000;
        let free = |it: u16| TcpListener::bind(("127.0.0.1", it)).is_ok();
        if (port..port + 3).all(free) {
            return format!("127.0.0.1:{port}");
        }
    }
    panic!("expected three free ports in a row");
}

/// The first node of a cluster, served.
fn founder() -> Pando {
    let mut first = Pando::init();
    let address = free_address();
    first
        .run_on_node(&["cluster", "init"], &["--address", &address])
        .expect(0);
    first.serve();
    first
}

/// A further node, served.
fn joined(first: &Pando) -> Pando {
    let line = first.run_on_node(&["cluster", "token"], &[]).expect(0).out;
    let mut node = Pando::join(&line, &free_address());
    node.serve();
    node
}

/// Every entry with every attribute, sorted.
fn content(client: &mut Client) -> Vec<String> {
    let found = client.search(SUFFIX, Scope::WholeSubtree, "(objectClass=*)", &["*", "+"]);
    found.outcome.expect_success();
    let mut entries: Vec<String> = found.entries.iter().map(kit::ldif::print).collect();
    entries.sort();
    entries
}

/// Waits until all nodes have the same content.
fn require_equal(nodes: &[Pando]) {
    let until = Instant::now() + PATIENCE;
    loop {
        let contents: Vec<_> = nodes.iter().map(|it| content(&mut it.admin())).collect();
        if contents.windows(2).all(|it| it[0] == it[1]) {
            return;
        }
        if Instant::now() >= until {
            let count = contents.iter().map(Vec::len).collect::<Vec<_>>();
            let differ = |it: &&String| contents.iter().any(|other| !other.contains(it));
            let differing: Vec<_> = contents.iter().flatten().filter(differ).collect();
            panic!("the nodes differ: {count:?} entries, {differing:#?}");
        }
    }
}

/// Adds people of its own, and changes an entry that all change. Returns the names that were added.
fn write(client: &mut Client, number: usize) -> Vec<String> {
    let mut added = Vec::new();
    for write in 0..WRITES {
        let mut person = people::person(&format!("n{number}w{write}"));
        person.name = format!("uid=n{number}w{write},{SUFFIX}");
        client.add(&person).expect_success();
        added.push(person.name);
        let text = format!("node {number}, write {write}");
        let change = Modification::replace("description", &[&text]);
        client.modify(SUFFIX, &[change]).expect_success();
    }
    added
}

#[test]
fn every_node_writes_and_all_are_equal() {
    let first = founder();
    let mut nodes = vec![joined(&first), joined(&first)];
    nodes.insert(0, first);
    let added: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = nodes
            .iter()
            .enumerate()
            .map(|(number, node)| {
                let mut client = node.admin();
                scope.spawn(move || write(&mut client, number))
            })
            .collect();
        let done = writers
            .into_iter()
            .flat_map(|it| it.join().expect("written"));
        done.collect()
    });
    require_equal(&nodes);
    for node in &nodes {
        let mut client = node.admin();
        for name in &added {
            assert!(client.read(name).is_some(), "{name} was acknowledged");
        }
    }
    let exports: Vec<String> = nodes
        .iter_mut()
        .map(|it| {
            it.stop();
            it.assert_clean();
            it.export()
        })
        .collect();
    assert!(
        exports.windows(2).all(|it| it[0] == it[1]),
        "the exports are the same"
    );
}

#[test]
fn a_killed_node_goes_on_where_the_log_is() {
    let first = founder();
    let mut second = joined(&first);
    write(&mut second.admin(), 1);
    second.kill();
    write(&mut first.admin(), 0);
    second.serve();
    let mut nodes = [first, second];
    require_equal(&nodes);
    // The founder runs etcd: without it the other node reads, and takes no write.
    nodes[0].stop();
    let mut client = nodes[1].admin();
    assert!(client.read(SUFFIX).is_some());
    let refused = client.delete(&format!("uid=n1w0,{SUFFIX}"));
    assert_eq!(refused.code, ResultCode::UNAVAILABLE, "{refused:?}");
    nodes[0].serve();
    require_equal(&nodes);
    write(&mut nodes[1].admin(), 2);
    require_equal(&nodes);
    // A killed node leaves its etcd running, for its next start.
    nodes[0].stop();
}

/// What a command answers that has to fail: one line with the way out.
fn refused(answer: Answer, status: i32, text: &str) {
    let answer = answer.expect(status).says(text);
    assert_eq!(answer.err.trim().lines().count(), 1, "{}", answer.err);
}

#[test]
fn wrong_ways_into_a_cluster_are_refused() {
    let mut first = founder();
    let line = first.run_on_node(&["cluster", "token"], &[]).expect(0).out;
    let node = Pando::join(&line, &free_address());
    let again = node.run_on_node(&["cluster", "init"], &["--address", "127.0.0.1:1"]);
    refused(again, 1, "belongs to a cluster already");
    let words: Vec<&str> = line.split_whitespace().skip(4).collect();
    let other = node.folder.join("other").to_string_lossy().into_owned();
    let mut used = vec!["cluster", "join", other.as_str()];
    used.extend(&words);
    refused(node.run(&used), 1, "token");
    assert!(!node.folder.join("other").exists(), "nothing was touched");
    let import = node.run_on_node(&["import"], &["/dev/null"]);
    refused(import, 1, "belongs to a cluster");
    std::fs::remove_dir_all(node.node().join("cluster")).expect("removed");
    let alone = node.run_on_node(&["serve"], &["--listen", "ldap://127.0.0.1:0"]);
    refused(alone, 1, "belongs to a cluster");
    first.stop();
}
