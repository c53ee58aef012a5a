//! Backups of a node of a cluster that are restored: each begins a cluster of its own, or follows
//! the log from where it was.

use crate::nodes::{add_when_possible, cluster, free_address, refused, require_equal, write};
use kit::{Folder, Pando};
use std::fs;

/// Puts the restored database of a backup in place of a stopped node's.
fn put_back(node: &Pando, backup: &str) {
    let restored = Pando::restore(backup);
    let data = node.node().join("data");
    fs::remove_dir_all(&data).expect("our own folder");
    let words = [restored.node().join("data"), data].map(|it| it.to_string_lossy().into_owned());
    kit::tools::run("cp", &["-a", &words[0], &words[1]], "").expect(0);
}

#[test]
fn a_restored_backup_never_slips_back() {
    let mut nodes = cluster(2);
    write(&mut nodes[1].admin(), 1);
    let folder = Folder::new();
    let backup = folder.join("backup").to_string_lossy().into_owned();
    nodes[1].run_on_node(&["backup"], &[&backup]).expect(0);
    write(&mut nodes[0].admin(), 2);
    require_equal(&nodes);
    // By itself it is served by nobody, and is no place for a new node.
    let restored = Pando::restore(&backup);
    refused(restored.serve_in_vain(), 1, "belongs to a cluster");
    let line = nodes[0].run_on_node(&["cluster", "token"], &[]).expect(0);
    refused(
        restored.enter(&line.out, &free_address()),
        1,
        "is not empty",
    );
    // Beside its node's identity it has all records that it lacks before it shows anything else.
    nodes[1].stop();
    put_back(&nodes[1], &backup);
    nodes[1].serve();
    add_when_possible(&nodes[1], "on");
    require_equal(&nodes);
    // In another generation it has no log to follow.
    nodes[1].stop();
    nodes[0].stop();
    nodes[0]
        .run_on_node(&["cluster", "recover"], &["--lose-silent"])
        .expect(0);
    nodes[0].serve();
    add_when_possible(&nodes[0], "anew");
    nodes[0].stop();
    put_back(&nodes[0], &backup);
    let early = nodes[0].serve_in_vain().expect(1);
    early
        .says("expected a database of generation 2")
        .says("got one of generation 1");
}
