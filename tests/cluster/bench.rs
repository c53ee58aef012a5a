//! `pando bench` against several nodes: connections spread, failover, the wait until all are equal.

use std::time::{Duration, Instant};

use kit::client::Modification;
use kit::tools::Answer;
use kit::{ADMIN, PASSWORD, Pando, SUFFIX};

use crate::nodes::cluster;

/// Time for a load to reach a node.
const PATIENCE: Duration = Duration::from_secs(60);

/// Loads servers with changes of the base entry; `further` are further arguments. The report is in
/// `report.json` of the folder of `shell`.
fn bench(shell: &Pando, urls: &[String], further: &[&str]) -> Answer {
    let password = shell.folder.write("password", PASSWORD);
    let report = shell.folder.join("report.json");
    let (password, report) = (password.to_string_lossy(), report.to_string_lossy());
    let mut args = vec!["bench", "modify", "--dn", SUFFIX, "-D", ADMIN];
    args.extend(["--bind-password-file", &password, "--json", &report]);
    args.extend(["--connections", "6", "--pipeline", "4", "--warm-up", "0"]);
    for url in urls {
        args.extend(["--url", url]);
    }
    args.extend(further);
    shell.run(&args)
}

/// The number behind a name of the report that occurs once.
fn figure(shell: &Pando, name: &str) -> f64 {
    let report = shell.folder.read("report.json");
    let (_, rest) = report.split_once(&format!("\"{name}\": ")).expect(name);
    let end = rest.find([',', '\n', '}']).expect("the report goes on");
    rest[..end].parse().expect("a number")
}

#[test]
fn nodes_of_a_cluster_converge_after_a_load() {
    let mut nodes = cluster(3);
    let urls: Vec<String> = nodes.iter().map(Pando::url).collect();
    let answer = bench(&nodes[0], &urls, &["--seconds", "1", "--converge"]);
    answer.expect(0).says("converged: ").says("3 servers");
    assert!(figure(&nodes[0], "accepted") > 0.0);
    assert_eq!(figure(&nodes[0], "unknown"), 0.0);
    for node in &mut nodes {
        let written = node.admin().read(SUFFIX).expect("it is there");
        assert!(!written.values("description").is_empty());
        node.stop();
    }
}

#[test]
fn nodes_that_differ_are_told() {
    let (one, two) = (Pando::start(), Pando::start());
    let further = ["--operations", "60", "--converge", "--converge-within", "0"];
    let answer = bench(&one, &[one.url(), two.url()], &further);
    answer.expect(1).says("not equal");
    assert_eq!(figure(&one, "accepted"), 60.0);
}

#[test]
fn connections_to_a_killed_node_go_to_the_next() {
    let (shell, other, mut killed) = (Pando::init(), Pando::start(), Pando::start());
    let urls = [other.url(), killed.url()];
    let load = std::thread::spawn(move || {
        let answer = bench(&shell, &urls, &["--seconds", "3", "--failover"]);
        (answer, shell)
    });
    let mut client = killed.admin();
    let until = Instant::now() + PATIENCE;
    let mut changed = || {
        let entry = client.read(SUFFIX).expect("it is there");
        !entry.values("description").is_empty()
    };
    while !changed() {
        assert!(Instant::now() < until, "the load reaches the node");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    killed.kill();
    let (answer, shell) = load.join().expect("the command ended");
    // Changes in flight when the node was killed have an unknown fate, which is told.
    answer.expect(1).says("ended and made again: 3 connections");
    assert!(figure(&shell, "unknown") > 0.0);
    assert_eq!(figure(&shell, "reconnections"), 3.0);
    let change = Modification::replace("description", &["after the load"]);
    other.admin().modify(SUFFIX, &[change]).expect_success();
}
