//! etcd is emptied, or put back to an earlier state: nodes serve reads and refuse to follow what is
//! there, until `pando cluster recover` begins another generation; one voter of several is made
//! anew by itself.

use crate::nodes::{
    add_when_possible, await_voters, cluster, conclude, free_address, refused, require_equal,
    status, write,
};
use kit::process::until;
use kit::{Client, Pando, SUFFIX, etcd, people};
use protocol::ResultCode;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of the data of a node's etcd.
fn data(node: &Pando) -> PathBuf {
    node.node().join("etcd").join("data")
}

/// Kills a node's etcd, whose data are gone when it is started again.
fn empty(node: &Pando) {
    let aside = node.folder.join("emptied");
    fs::rename(data(node), &aside).expect("our own folder");
    etcd::kill(&node.node());
}

fn copy(from: &Path, to: &Path) {
    let words = [from, to].map(|it| it.to_string_lossy().into_owned());
    kit::tools::run("cp", &["-a", &words[0], &words[1]], "").expect(0);
}

/// Puts other data below the etcd of a stopped node.
fn exchange(node: &Pando, other: &Path) {
    let etcd = node.node().join("etcd");
    fs::remove_dir_all(&etcd).expect("our own folder");
    copy(other, &etcd);
}

/// Waits until a node takes no writes for a reason, and still answers reads.
fn await_refusal(node: &Pando, reason: &str) {
    let mut client = node.admin();
    let mut last = String::new();
    until(reason, || {
        let said = status(node)["nodes"].to_string();
        let is_told = said.contains(reason);
        last = said;
        is_told.then_some(())
    });
    let added = client.add(&people::person("late"));
    added.expect(ResultCode::UNAVAILABLE);
    require_reads(&mut client);
}

/// Every name that was added is there.
fn require_names(nodes: &[Pando], names: &[String]) {
    for node in nodes {
        let mut client = node.admin();
        for name in names {
            assert!(client.read(name).is_some(), "{name} was acknowledged");
        }
    }
}

fn require_reads(client: &mut Client) {
    assert!(client.read(SUFFIX).is_some(), "reads go on");
}

/// The first of two nodes begins another generation, and a new node joins it.
fn recover(mut nodes: Vec<Pando>, names: &[String]) {
    let mut first = nodes.remove(0);
    first.stop();
    let said = first.run_on_node(&["cluster", "recover"], &[]);
    let line = said.expect(0).says("first node of generation 2").out;
    first.serve();
    add_when_possible(&first, "anew");
    // The other one is left behind, and says so.
    nodes[0].stop();
    let late = nodes[0].serve_in_vain();
    refused(late, 1, "has begun generation 2");
    let mut second = Pando::join(&line, &free_address());
    second.serve();
    let mut all = vec![first, second];
    write(&mut all[1].admin(), 7);
    require_equal(&all);
    require_names(&all, names);
    conclude(&mut all);
}

#[test]
fn an_etcd_that_was_emptied_is_not_followed() {
    let mut nodes = cluster(2);
    let names = write(&mut nodes[1].admin(), 1);
    require_equal(&nodes);
    empty(&nodes[0]);
    for node in &nodes {
        await_refusal(node, "etcd cannot be reached");
    }
    // Nor after a start.
    nodes[0].stop();
    nodes[0].serve();
    for node in &nodes {
        await_refusal(node, "etcd cannot be reached");
    }
    recover(nodes, &names);
}

#[test]
fn an_etcd_of_an_earlier_day_is_not_followed() {
    let mut nodes = cluster(2);
    let mut names = write(&mut nodes[1].admin(), 1);
    require_equal(&nodes);
    nodes[0].stop();
    let aside = nodes[0].folder.join("etcd.earlier");
    copy(&nodes[0].node().join("etcd"), &aside);
    nodes[0].serve();
    names.extend(write(&mut nodes[1].admin(), 2));
    require_equal(&nodes);
    nodes[0].stop();
    exchange(&nodes[0], &aside);
    nodes[0].serve();
    for node in &nodes {
        await_refusal(node, "was emptied or restored from a backup");
    }
    recover(nodes, &names);
}

#[test]
fn the_etcd_of_another_cluster_is_not_used() {
    let mut nodes = cluster(1);
    let mut other = cluster(1);
    for node in [&mut nodes[0], &mut other[0]] {
        node.stop();
    }
    exchange(&nodes[0], &other[0].node().join("etcd"));
    refused(nodes[0].serve_in_vain(), 1, "holds etcd's data of cluster");
}

#[test]
fn one_voter_that_was_emptied_is_made_anew() {
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    let mut names = write(&mut nodes[1].admin(), 1);
    // The first one under its node's process, the second one while its machine is off.
    empty(&nodes[0]);
    names.push(add_when_possible(&nodes[1], "during"));
    names.push(add_when_possible(&nodes[0], "during0"));
    until("a new member", || data(&nodes[0]).exists().then_some(()));
    nodes.iter().for_each(|it| await_voters(it, 3));
    nodes[1].kill_with_etcd();
    fs::remove_dir_all(data(&nodes[1])).expect("our own folder");
    nodes[1].serve();
    names.push(add_when_possible(&nodes[1], "after"));
    until("a new member", || data(&nodes[1]).exists().then_some(()));
    nodes.iter().for_each(|it| await_voters(it, 3));
    // The new ones have all that the log must have.
    nodes[2].kill_with_etcd();
    names.extend(write(&mut nodes[1].admin(), 2));
    nodes[2].serve();
    require_equal(&nodes);
    require_names(&nodes, &names);
    conclude(&mut nodes);
}
