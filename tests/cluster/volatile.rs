//! A node whose data are in memory: it joins anew after each stop.

use crate::nodes::{cluster, refused, require_equal, write};
use kit::Pando;
use kit::process::Running;
use std::fs;
use std::process::Command;

/// The file system in memory of every Linux machine.
const MEMORY: &str = "/dev/shm";
const VOLATILE: &str = "[cluster]\nvolatile = true\n";

fn set(node: &Pando, settings: &str) {
    fs::write(node.node().join("pando.toml"), settings).expect("our own folder");
}

/// Requires that a node, which is stopped, is not served, for this reason.
fn require_refusal(node: &Pando, status: i32, reason: &str) {
    let mut command = Command::new(kit::pando::program());
    let listen = ["--listen", "ldap://127.0.0.1:0"];
    command.arg("serve").arg(node.node()).args(listen);
    let mut serving = Running::start("pando", &mut command);
    serving.wait_for(reason, |it| it.contains(reason).then_some(()));
    assert_eq!(serving.wait().code(), Some(status));
}

#[test]
fn a_node_in_memory_joins_anew_after_each_stop() {
    let mut nodes = cluster(3);
    write(&mut nodes[0].admin(), 0);
    nodes[2].stop();
    set(&nodes[2], VOLATILE);
    nodes[2].serve();
    let data = nodes[2].node().join("data");
    let in_memory = fs::canonicalize(&data).expect("a link to the data");
    assert!(in_memory.starts_with(MEMORY), "{}", in_memory.display());
    write(&mut nodes[2].admin(), 2);
    for name in ["checkpoint", "log"] {
        assert!(!data.join(name).exists(), "{name}");
    }
    require_equal(&nodes);
    nodes[2].kill();
    write(&mut nodes[1].admin(), 1);
    nodes[2].serve();
    write(&mut nodes[2].admin(), 3);
    require_equal(&nodes);
    // What a power failure leaves.
    nodes[2].kill();
    fs::remove_dir_all(in_memory.parent().expect("its folder")).expect("ours");
    nodes[2].serve();
    write(&mut nodes[2].admin(), 4);
    require_equal(&nodes);
    // And on a disk again.
    nodes[2].stop();
    set(&nodes[2], "");
    nodes[2].serve();
    assert!(!data.is_symlink() && !in_memory.exists());
    write(&mut nodes[2].admin(), 5);
    nodes[2].kill();
    nodes[2].serve();
    require_equal(&nodes);
    // The lock is left, so that no two processes ever had different ones.
    fs::remove_dir_all(in_memory.parent().expect("its folder")).expect("ours");
}

#[test]
fn the_last_data_on_a_disk_stay_there() {
    let alone = Pando::init();
    set(&alone, VOLATILE);
    let reason = "pando.toml:2: cluster.volatile: expected a node of a cluster";
    require_refusal(&alone, 2, reason);
    let mut nodes = cluster(2);
    nodes[1].stop();
    set(
        &nodes[1],
        &format!("{VOLATILE}volatile_folder = \"/proc\"\n"),
    );
    require_refusal(
        &nodes[1],
        1,
        "/proc: expected a file system in memory (tmpfs)",
    );
    set(&nodes[1], VOLATILE);
    nodes[1].serve();
    let in_memory = fs::canonicalize(nodes[1].node().join("data")).expect("a link to the data");
    require_equal(&nodes);
    refused(
        nodes[0].run_on_node(&["cluster", "leave"], &["--lose-quorum"]),
        1,
        "no node would keep the directory on a disk",
    );
    nodes[0].stop();
    set(&nodes[0], VOLATILE);
    require_refusal(
        &nodes[0],
        1,
        "this may be the last node that keeps the directory on a disk",
    );
    set(&nodes[0], "");
    nodes[0].serve();
    require_equal(&nodes);
    // Nothing stays in memory.
    nodes[1].stop();
    set(&nodes[1], "");
    nodes[1].serve();
    require_equal(&nodes);
    fs::remove_dir_all(in_memory.parent().expect("its folder")).expect("ours");
}
