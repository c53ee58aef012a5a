//! Several members of etcd, and members that want certificates.

use crate::certificates::Certificates;
use crate::etcd::{Etcd, wait_for};
use crate::node::{Node, settings};
use cluster::log::{EtcdLogSettings, LogTls, found};
use replica::commit_log::CommitLog;
use std::time::Duration;

/// Settings of a node that asks all members, beginning with one.
fn nearest(all: &[Etcd; 3], first: usize) -> EtcdLogSettings {
    let order = (0..3).map(|step| &all[(first + step) % 3]);
    EtcdLogSettings {
        endpoints: order.map(Etcd::url).collect(),
        ..settings(&all[first], first as u8 + 1)
    }
}

/// Begins the cluster once the members have a leader; three nodes, each with a member of its own.
fn three_nodes(all: &[Etcd; 3]) -> [Node; 3] {
    let settings = [0, 1, 2].map(|it| nearest(all, it));
    wait_for("etcd to begin a cluster", || found(&settings[0], 1).ok());
    settings.map(Node::open)
}

/// Has each node write a number of records, then reads all of them everywhere.
fn write(nodes: &mut [Node; 3], round: usize) {
    for number in 0..10 {
        for (id, node) in nodes.iter_mut().enumerate() {
            node.submit(format!("{id}:{round}:{number}"));
        }
    }
    for node in nodes.iter_mut() {
        node.read_records(30 * (round + 1));
        assert_eq!(node.records.len(), 30 * (round + 1));
    }
    for node in &nodes[1..] {
        assert_eq!(node.payloads(), nodes[0].payloads());
        assert!(node.refused.is_empty());
    }
}

#[test]
fn leaders_are_killed_and_nothing_is_lost_or_doubled() {
    let mut all = Etcd::three();
    let mut nodes = three_nodes(&all);
    write(&mut nodes, 0);
    for round in 1..4 {
        let leader = wait_for("a leader", || all.iter().position(Etcd::is_leader));
        all[leader].kill();
        write(&mut nodes, round);
        all[leader].run();
    }
    write(&mut nodes, 4);
}

#[test]
fn members_that_hang_are_left_and_come_back() {
    let all = Etcd::three();
    let mut nodes = three_nodes(&all);
    write(&mut nodes, 0);
    for (round, etcd) in (1..4).zip(&all) {
        etcd.pause(true);
        write(&mut nodes, round);
        etcd.pause(false);
    }
    write(&mut nodes, 4);
}

#[test]
fn without_a_majority_nothing_is_decided() {
    let mut all = Etcd::three();
    let mut nodes = three_nodes(&all);
    write(&mut nodes, 0);
    all[1].kill();
    all[2].kill();
    let node = &mut nodes[0];
    let number = node.submit("undecided");
    node.read_until("trouble", |it| it.log.health().trouble.is_some());
    assert!(!node.log.is_free(0));
    assert_eq!(node.place_of(number), None);
    assert!(node.refused.is_empty());
    let (sender, receiver) = std::sync::mpsc::channel();
    node.log
        .fence(Box::new(move |end| sender.send(end).unwrap()));
    let answer = receiver.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(answer.is_err(), "{answer:?}");
    all[1].run();
    node.read_until("its record", |it| it.place_of(number).is_some());
    node.read_until_well();
}

/// Certificates of a node.
fn tls(certificates: &Certificates) -> LogTls {
    LogTls {
        authority: certificates.authority.clone(),
        certificate: certificates.node.certificate.clone(),
        key: certificates.node.key.clone(),
    }
}

#[test]
fn etcd_and_nodes_show_each_other_certificates() {
    let certificates = Certificates::make();
    let etcd = Etcd::secure(&certificates);
    let secure = EtcdLogSettings {
        tls: Some(tls(&certificates)),
        ..settings(&etcd, 1)
    };
    wait_for("etcd to begin a cluster", || found(&secure, 1).ok());
    let mut node = Node::open(secure.clone());
    node.submit("secret");
    node.read_records(1);
    // Signed by somebody else: neither side wants the other.
    let others = Certificates::make();
    let mut no_trust = secure.clone();
    no_trust.tls = Some(tls(&others));
    let mut no_right = secure;
    no_right.tls = Some(LogTls {
        authority: certificates.authority.clone(),
        ..tls(&others)
    });
    for settings in [no_trust, no_right] {
        let stranger = Node::open(settings);
        let trouble = stranger.log.health().trouble.unwrap();
        assert!(trouble.contains("etcd cannot be reached"), "{trouble}");
    }
}
