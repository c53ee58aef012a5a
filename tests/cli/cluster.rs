//! The subcommand `cluster`, and mistakes with it.

use kit::Pando;
use std::net::TcpListener;

use super::{Shell, one_line};

/// An address at which nothing listened a moment ago.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the machine has ports");
    listener.local_addr().expect("it listens").to_string()
}

#[test]
fn init_turns_a_stopped_node_into_the_first_of_a_cluster() {
    let shell = Shell::with_node();
    let before = shell.pando(&["export", "node"]).expect(0).out;
    let address = free_address();
    let init = ["cluster", "init", "node", "--address", &address];
    let founded = shell.pando(&init).expect(0);
    let line = format!("pando cluster join DIR --from {address} --token pando1-");
    assert!(founded.out.starts_with(&line), "{}", founded.out);
    assert!(
        founded.err.contains("start it with: pando serve node"),
        "{}",
        founded.err
    );
    assert_eq!(shell.pando(&["export", "node"]).expect(0).out, before);
    shell.pando(&["check", "node"]).expect(0).says("no problem");

    one_line(
        shell.pando(&init),
        1,
        &["node belongs to a cluster already", "cluster token node"],
    );
    let token = shell.pando(&["cluster", "token", "node"]).expect(0);
    assert!(token.out.starts_with(&line), "{}", token.out);
    assert_ne!(token.out, founded.out, "each token is another");
    let status = shell.pando(&["cluster", "status", "node"]).expect(3);
    status
        .says("generation 1, 1 node")
        .says("Connection refused");
}

#[test]
fn init_leaves_nothing_where_it_is_refused() {
    let shell = Shell::with_node();
    let init = |dir: &str, more: &[&str]| {
        let args = ["cluster", "init", dir, "--address", "127.0.0.1:8390"];
        shell.pando(&[&args, more].concat())
    };
    one_line(
        init("nowhere", &[]),
        1,
        &["nowhere: no node here", "pando init"],
    );
    let wrong = ["cluster", "init", "node", "--address", "localhost"];
    one_line(
        shell.pando(&wrong),
        2,
        &["--address: expected HOST:PORT", "got localhost"],
    );
    let etcd = ["--etcd", "https://127.0.0.1:1"];
    init("node", &etcd).expect(2).says("--etcd-ca");
    let files = [
        "--etcd-ca",
        "ca",
        "--etcd-cert",
        "cert",
        "--etcd-key",
        "key",
    ];
    one_line(
        init("node", &[&etcd[..], &files].concat()),
        1,
        &["ca: No such file"],
    );
    one_line(
        shell.pando(&["cluster", "token", "node"]),
        1,
        &["node belongs to no cluster", "pando cluster init node"],
    );
    assert!(!shell.folder.join("node/cluster").exists());
}

#[test]
fn init_is_refused_while_the_node_is_served() {
    let pando = Pando::start();
    let said = pando.run_on_node(&["cluster", "init"], &["--address", &free_address()]);
    one_line(said, 1, &["is in use; stop its server"]);
    assert!(!pando.node().join("cluster").exists());
}

#[test]
fn joining_is_refused_before_anything_is_made() {
    let shell = Shell::with_node();
    let address = free_address();
    let init = ["cluster", "init", "node", "--address", &address];
    let founded = shell.pando(&init).expect(0).out;
    let token = founded.trim_end().rsplit(' ').next().unwrap_or_default();
    let join = |dir: &str, token: &str| {
        shell.pando(&["cluster", "join", dir, "--from", &address, "--token", token])
    };
    one_line(
        join("new", "pando1-x"),
        2,
        &["--token: expected a token", "82 characters"],
    );
    one_line(
        join("new", token),
        1,
        &[&address, "serve the node there with `pando serve`"],
    );
    one_line(join("node", token), 1, &["node exists and is not empty"]);
    assert!(!shell.folder.join("new").exists());
    let missing = ["cluster", "join", "new", "--from", &address];
    shell.pando(&missing).expect(2).says("--token");
}
