//! etcd with a small quota: nodes that are away do not fill it, and a full one is made usable by
//! the nodes themselves.

use crate::nodes::{
    add_when_possible, await_voters, conclude, etcdctl, founder_with, joined_with, write,
};
use kit::client::Modification;
use kit::process::until;
use kit::{Folder, Pando, SUFFIX};
use protocol::ResultCode;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Bytes of the quota.
const QUOTA: u64 = 64_000_000;
/// Characters of a value, half of whose bytes stay when records are compressed.
const VALUE: usize = 400_000;

/// Settings that name an etcd with the small quota.
fn settings(folder: &Folder) -> String {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/etcd/etcd");
    let etcd = std::env::var("PANDO_ETCD").unwrap_or_else(|_| own.display().to_string());
    let script = format!("#!/bin/sh\nexec {etcd} \"$@\" --quota-backend-bytes={QUOTA}\n");
    let path = folder.write("etcd", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
    format!("etcd_program = \"{}\"", path.display())
}

fn cluster(folder: &Folder, count: usize) -> Vec<Pando> {
    let settings = settings(folder);
    let mut nodes = vec![founder_with(&settings)];
    while nodes.len() < count {
        let node = joined_with(&nodes[0], &settings);
        nodes.push(node);
    }
    nodes
}

/// A text that no compression makes much shorter than half.
fn text(seed: u64) -> String {
    let mut random = kit::Random::new(seed);
    let digits = (0..VALUE / 16).map(|_| format!("{:016x}", random.number()));
    digits.collect()
}

/// Writes a long value; `busy` is waited out.
fn write_long(node: &Pando, seed: u64) {
    let text = text(seed);
    until("room for a long value", || {
        let change = Modification::replace("description", &[&text]);
        let done = node.admin().modify(SUFFIX, &[change]);
        let is_busy = done.code == ResultCode::UNAVAILABLE && done.diagnostic.contains("busy");
        assert!(done.code == ResultCode::SUCCESS || is_busy, "{done}");
        (!is_busy).then_some(())
    });
}

#[test]
fn a_node_that_is_away_does_not_fill_a_small_etcd() {
    let folder = Folder::new();
    let mut nodes = cluster(&folder, 2);
    write(&mut nodes[1].admin(), 0);
    nodes[1].stop();
    // More than the quota.
    for round in 0..5 * QUOTA / 4 / (VALUE as u64 / 2) {
        write_long(&nodes[0], round);
    }
    nodes[1].serve();
    // It takes a copy.
    nodes[1].await_address();
    add_when_possible(&nodes[1], "trimmed");
    write(&mut nodes[1].admin(), 1);
    conclude(&mut nodes);
}

#[test]
fn a_full_etcd_is_made_usable_again() {
    let folder = Folder::new();
    let mut nodes = cluster(&folder, 3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    write(&mut nodes[1].admin(), 0);
    // Somebody else fills it: a value is at most 1.5 MB long.
    let value = text(7).repeat(3);
    let put = || etcdctl(&nodes[0], &["put", "/elsewhere"], &value);
    until("a full etcd", || {
        let refused = put();
        refused.contains("database space exceeded").then_some(())
    });
    let said = until("a refusal", || {
        let change = Modification::replace("description", &["full"]);
        let done = nodes[2].admin().modify(SUFFIX, &[change]);
        match done.code {
            ResultCode::UNAVAILABLE => Some(Some(done.diagnostic)),
            // It was made usable before.
            ResultCode::SUCCESS => Some(None),
            _ => panic!("{done}"),
        }
    });
    if let Some(said) = said {
        assert!(said.contains("busy"), "{said}");
    }
    for (number, node) in nodes.iter().enumerate() {
        add_when_possible(node, &format!("after{number}"));
    }
    conclude(&mut nodes);
}
