//! Ways into a cluster that are refused.

use crate::nodes::{founder, free_address, refused};
use kit::Pando;

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
