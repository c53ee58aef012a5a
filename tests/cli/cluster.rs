//! The subcommand `cluster`, and mistakes with it.

use kit::Pando;
use kit::tools::{self, Answer};
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

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

/// A copy of the program in the folder, from which it finds no etcd of `make etcd`, and a command
/// of it with nothing in `PATH` but the folder `bin`.
fn without_etcd(shell: &Shell, args: &[&str]) -> Answer {
    let copy = shell.folder.join("pando");
    if !copy.exists() {
        let from = kit::pando::program();
        tools::run("cp", &[from.as_path(), copy.as_path()], "").expect(0);
    }
    let mut command = Command::new(copy);
    command.args(args).current_dir(shell.folder.path());
    command.env("PATH", shell.folder.join("bin"));
    tools::run_command(&mut command, "")
}

/// Writes a program that says it is etcd 3.4.
fn write_old_etcd(shell: &Shell) {
    fs::create_dir(shell.folder.join("bin")).expect("our own folder");
    let script = "#!/bin/sh\necho 'etcd Version: 3.4.23'\n";
    let etcd = shell.folder.write("bin/etcd", script);
    let mode = Permissions::from_mode(0o755);
    fs::set_permissions(&etcd, mode).expect("our own file");
}

#[test]
fn a_machine_without_etcd_is_told_before_anything_is_made() {
    let shell = Shell::with_node();
    let address = free_address();
    let init = ["cluster", "init", "node", "--address", &address];
    let files = || {
        tools::run("find", &[shell.folder.join("node")], "")
            .expect(0)
            .out
    };
    let before = files();
    let missing = ["3.6.0 or later in PATH, found none", "make etcd"];
    one_line(without_etcd(&shell, &init), 1, &missing);
    write_old_etcd(&shell);
    let old = [
        "3.6.0 or later",
        "bin/etcd is 3.4.23",
        "cluster.etcd_program",
    ];
    one_line(without_etcd(&shell, &init), 1, &old);
    assert_eq!(files(), before);

    // With one it is founded, and a second machine without one is told alike.
    let mut founder = Pando::init();
    let own = ["--address", &address];
    founder.run_on_node(&["cluster", "init"], &own).expect(0);
    founder.serve();
    let line = founder
        .run_on_node(&["cluster", "token"], &[])
        .expect(0)
        .out;
    let token = line.trim_end().rsplit(' ').next().expect("a token");
    let from = [
        "--from",
        &address,
        "--token",
        token,
        "--address",
        "127.0.0.1:1",
    ];
    let join = [&["cluster", "join", "new"], &from[..]].concat();
    let refused = [
        "the new one cannot",
        "bin/etcd is 3.4.23",
        "token is not used up",
    ];
    one_line(without_etcd(&shell, &join), 1, &refused);
    assert!(!shell.folder.join("new").exists());
    // Its setting may wait in the new folder, and the same token serves.
    let etcd = kit::etcd::program();
    fs::create_dir(shell.folder.join("new")).expect("our own folder");
    let setting = format!("[cluster]\netcd_program = {etcd:?}\n");
    shell.folder.write("new/pando.toml", &setting);
    without_etcd(&shell, &join).expect(0);
    assert_eq!(shell.folder.read("new/pando.toml"), setting);
}
