//! Writers and a node that executes more slowly than they write.

use crate::etcd::Etcd;
use crate::node::{Node, begin, settings};
use cluster::log::{Credit, EtcdLogSettings};
use replica::commit_log::{CommitLog, Standing};
use std::time::Duration;

/// Settings of a node that reports at once, and waits long for one that is a megabyte behind.
fn patient(etcd: &Etcd, node: u8) -> EtcdLogSettings {
    EtcdLogSettings {
        report_every: Duration::from_millis(50),
        credit: Credit {
            behind_bytes_max: 1 << 20,
            pause_max: Duration::from_secs(600),
            stuck_after: Duration::from_secs(600),
        },
        ..settings(etcd, node)
    }
}

/// Reports all that the node has read as executed.
fn executes(node: &Node) {
    node.log.report(Standing {
        place: node.place,
        ..Standing::default()
    });
}

#[test]
fn a_bundle_waits_for_the_slowest_node() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut slow = Node::open(settings(&etcd, 2));
    let mut writer = Node::open(patient(&etcd, 1));
    writer.submit("first");
    writer.read_records(1);
    slow.read_records(1);
    executes(&slow);
    let place = slow.place;
    writer.read_until("the report of the slow node", |it| {
        let members = it.log.members().members;
        let standings = members.iter().filter_map(|it| it.standing);
        standings.map(|it| it.place).any(|it| it == place)
    });
    // It was near when the second one was handed over, and is behind by all that followed.
    for _ in 0..2 {
        writer.submit(vec![b'x'; 900_000]);
    }
    writer.read_records(3);
    let waits = writer.submit("waits");
    // A node that waits for nobody goes on meanwhile.
    slow.submit("does not wait");
    slow.read_records(4);
    writer.read_records(4);
    assert_eq!(writer.place_of(waits), None, "the slow node is behind");
    executes(&slow);
    writer.read_until("its record", |it| it.place_of(waits).is_some());
    assert!(writer.refused.is_empty());
}
