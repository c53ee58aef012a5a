//! Nodes of a cluster, and waiting until they are equal.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use kit::client::Modification;
use kit::process::until;
use kit::router::Network;
use kit::tools::Answer;
use kit::{Client, Pando, SUFFIX, people};
use protocol::{ResultCode, Scope};
use serde_json::Value;

/// Time for nodes to become equal.
const PATIENCE: Duration = Duration::from_secs(60);
/// Port of nodes for others where no other program has it, as at sites of a network.
pub const PORT: u16 = 8_390;
/// Writes of each client.
pub const WRITES: usize = 150;

/// An address with a free port and, behind it, those of the node's etcd. They are below the ports
/// that the system gives to others, because a stopped node must find them free again.
pub fn free_address() -> String {
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
pub fn founder() -> Pando {
    founder_with("")
}

/// The first node of a cluster with these settings in the part `[cluster]` of its `pando.toml`,
/// served.
pub fn founder_with(settings: &str) -> Pando {
    let first = Pando::init();
    set(&first, settings);
    founded(first)
}

/// The first node of a cluster with the entries of an LDIF file, served.
pub fn founder_of(file: &str) -> Pando {
    let first = Pando::init();
    first.run_on_node(&["import"], &[file]).expect(0);
    founded(first)
}

/// The node as the first one of a cluster, served.
fn founded(mut node: Pando) -> Pando {
    let address = free_address();
    let init = node.run_on_node(&["cluster", "init"], &["--address", &address]);
    init.expect(0);
    node.serve();
    node
}

/// A further node, served.
pub fn joined(first: &Pando) -> Pando {
    joined_with(first, "")
}

/// A further node with these settings in the part `[cluster]` of its `pando.toml`, served.
pub fn joined_with(first: &Pando, settings: &str) -> Pando {
    let line = first.run_on_node(&["cluster", "token"], &[]).expect(0).out;
    let mut node = Pando::join(&line, &free_address());
    set(&node, settings);
    node.serve();
    node
}

/// Writes settings of the cluster for a node that is not served.
fn set(node: &Pando, settings: &str) {
    if settings.is_empty() {
        return;
    }
    let file = node.node().join("pando.toml");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let others: String = before.split("[cluster]").collect();
    let text = format!("{others}\n[cluster]\n{settings}\n");
    std::fs::write(&file, text).expect("our own folder");
}

/// Stops all nodes, checks them, and compares what they have and the digests of their states.
pub fn conclude(nodes: &mut [Pando]) {
    require_equal(nodes);
    let ends: Vec<String> = nodes
        .iter_mut()
        .map(|it| {
            it.stop();
            let checked = it.run_on_node(&["check"], &[]).expect(0).out;
            assert!(checked.contains("digest"), "{checked}");
            format!("{checked}{}", it.export())
        })
        .collect();
    assert!(ends.windows(2).all(|it| it[0] == it[1]), "equal ends");
}

/// Every entry with every attribute, sorted.
pub fn content(client: &mut Client) -> Vec<String> {
    let found = client.search(SUFFIX, Scope::WholeSubtree, "(objectClass=*)", &["*", "+"]);
    found.outcome.expect_success();
    let mut entries: Vec<String> = found.entries.iter().map(kit::ldif::print).collect();
    entries.sort();
    entries
}

/// Waits until all nodes have the same content.
pub fn require_equal(nodes: &[Pando]) {
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
pub fn write(client: &mut Client, number: usize) -> Vec<String> {
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

/// What a command answers that has to fail: one line with the way out.
pub fn refused(answer: Answer, status: i32, text: &str) {
    let answer = answer.expect(status).says(text);
    assert_eq!(answer.err.trim().lines().count(), 1, "{}", answer.err);
}

/// Nodes of one cluster, served, in the order of joining.
pub fn cluster(count: usize) -> Vec<Pando> {
    let mut nodes = vec![founder()];
    while nodes.len() < count {
        let node = joined(&nodes[0]);
        nodes.push(node);
    }
    nodes
}

/// A node of one cluster at each of these sites of a network, served, in the order of joining.
/// Others reach each at this port of its site.
pub fn at_sites(network: &Network, sites: &[&str], port: u16) -> Vec<Pando> {
    let mut first = Pando::init_at(network, sites[0]);
    let address = format!("{}:{port}", network.address(sites[0]));
    first
        .run_on_node(&["cluster", "init"], &["--address", &address])
        .expect(0);
    first.serve();
    let mut nodes = vec![first];
    for site in &sites[1..] {
        let line = nodes[0]
            .run_on_node(&["cluster", "token"], &[])
            .expect(0)
            .out;
        let mut node = Pando::join_at(network, site, port, &line);
        node.serve();
        nodes.push(node);
    }
    nodes
}

/// What `pando cluster status` says of a cluster, whatever its exit status.
pub fn status(node: &Pando) -> Value {
    let answer = node.run_on_node(&["cluster", "status"], &["--format", "json"]);
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

/// Port at which the etcd of a node serves clients.
fn etcd_port(node: &Pando) -> u16 {
    let said = status(node);
    let mut nodes = said["nodes"].as_array().expect("nodes").iter();
    let own = nodes.find(|it| it["node"] == said["node"]).expect("itself");
    let address = own["address"].as_str().expect("an address");
    let (_, port) = address.rsplit_once(':').expect("a port");
    port.parse::<u16>().expect("a port") + 1
}

/// Asks the etcd of a served node, as its operator could; returns all that is printed.
pub fn etcdctl(node: &Pando, args: &[&str], input: &str) -> String {
    let folder = node.node().join("cluster");
    let file = |name: &str| folder.join(name).display().to_string();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/etcd/etcdctl");
    let endpoint = format!("--endpoints=https://127.0.0.1:{}", etcd_port(node));
    let (ca, own, key) = (file("ca.pem"), file("node.pem"), file("node.key"));
    let tls = ["--cacert", &ca, "--cert", &own, "--key", &key];
    let all = [&[endpoint.as_str()], &tls[..], args].concat();
    let answer = kit::tools::run(program, &all, input);
    format!("{}{}", answer.out, answer.err)
}

/// Waits until a cluster has this many voters, all of which answer, and wants no others.
pub fn await_voters(node: &Pando, count: u64) {
    until(&format!("{count} voters"), || {
        let quorum = &status(node)["quorum"];
        (quorum["voters"] == count && quorum["answering"] == count).then_some(())
    });
    until("settled voters", || {
        status(node)["voters_wait_for"].is_null().then_some(())
    });
}

/// Adds a person as soon as a node takes writes, and returns its name.
pub fn add_when_possible(node: &Pando, uid: &str) -> String {
    let mut person = people::person(uid);
    person.name = format!("uid={uid},{SUFFIX}");
    until("a write", || {
        let added = node.admin().add(&person);
        // An attempt before it may have been executed after its refusal was feared.
        let is_there = [ResultCode::SUCCESS, ResultCode::ENTRY_ALREADY_EXISTS];
        is_there.contains(&added.code).then_some(())
    });
    person.name
}
