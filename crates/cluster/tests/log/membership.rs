//! Registrations, twins, reports and fences.

use crate::etcd::{Etcd, wait_for};
use crate::node::{Node, begin, settings};
use crate::proxy::Proxy;
use cluster::log::{ChangeFailure, EtcdLog, EtcdLogSettings, NodeAbout, OpenFailure};
use replica::clock::{Clock, SystemClock};
use replica::commit_log::{CommitLog, DIGEST_EVERY, LogFailure, NodeId, Standing};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn the_earlier_of_two_processes_with_one_identity_appends_nothing_more() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut first = Node::open(settings(&etcd, 1));
    first.submit("first");
    first.read_records(1);
    let mut twin = Node::open(settings(&etcd, 1));
    twin.submit("twin");
    twin.read_records(2);
    let number = first.submit("late");
    first.read_until("a refusal", |it| it.refused.contains_key(&number));
    let reason = &first.refused[&number];
    assert!(reason.contains("another process registered"), "{reason}");
    assert_eq!(first.log.health().trouble.as_ref(), Some(reason));
    // It still reads.
    twin.submit("more");
    first.read_records(3);
    twin.read_records(3);
    assert_eq!(first.payloads(), ["first", "twin", "more"]);
    assert_eq!(twin.payloads(), first.payloads());
    assert_eq!(twin.log.health().trouble, None);
}

#[test]
fn a_bundle_on_its_way_when_a_twin_comes_is_a_record_or_refused() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    // Its append arrived and the answer did not; its append did not arrive.
    for (id, arrives) in [(1, true), (2, false)] {
        let proxy = Proxy::before(etcd.port());
        let mut first = Node::open(EtcdLogSettings {
            endpoints: vec![proxy.url()],
            ..settings(&etcd, id)
        });
        first.submit("before");
        first.read_until("its record", |it| it.place_of(1).is_some());
        let asked = proxy.asked();
        if arrives {
            proxy.set_deaf(true);
        } else {
            proxy.set_mute(true);
        }
        let number = first.submit("between");
        wait_for("an attempt", || (proxy.asked() > asked + 100).then_some(()));
        let mut watcher = Node::open(settings(&etcd, 3));
        let record = |it: &Node| {
            let records = it.records.iter();
            records
                .filter(|it| it.origin.node == NodeId([id; 16]))
                .count()
        };
        if arrives {
            watcher.read_until("the record", |it| record(it) == 2);
        }
        let mut twin = Node::open(settings(&etcd, id));
        twin.submit("twin");
        twin.read_until("its record", |it| it.place_of(1).is_some());
        proxy.set_deaf(false);
        proxy.set_mute(false);
        first.read_until("the end", |it| it.place >= twin.place);
        first.read_until("a decision", |it| {
            it.place_of(number).is_some() || it.refused.contains_key(&number)
        });
        assert_eq!(first.place_of(number).is_some(), arrives);
        assert_eq!(first.refused.contains_key(&number), !arrives);
        let late = first.submit("late");
        first.read_until("a refusal", |it| it.refused.contains_key(&late));
        assert_eq!(record(&twin), if arrives { 3 } else { 2 });
    }
}

#[test]
fn a_removed_node_appends_nothing_and_does_not_come_back() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(settings(&etcd, 1));
    let other = Node::open(settings(&etcd, 2));
    other.log.remove(NodeId([1; 16])).unwrap();
    let unknown = NodeId([9; 16]);
    let failure = other.log.remove(unknown);
    assert_eq!(failure, Err(ChangeFailure::NoSuchNode(unknown)));
    let number = node.submit("late");
    node.read_until("a refusal", |it| it.refused.contains_key(&number));
    assert!(node.refused[&number].contains("removed"));
    drop(node);
    let again = EtcdLog::open(settings(&etcd, 1));
    let failure = again.err().unwrap().to_string();
    assert!(failure.contains("was removed"), "{failure}");
}

#[test]
fn all_nodes_know_the_order_of_joining() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    // The order of their identifiers is another one, and a second registration changes nothing.
    let mut nodes = [3, 1, 2, 3].map(|id| Node::open(settings(&etcd, id)));
    let ids = [3, 1, 2].map(|id| NodeId([id; 16]));
    for node in &mut nodes {
        node.read_until("all nodes", |it| {
            let view = it.log.members();
            let present: Vec<_> = view.present().iter().map(|it| it.id).collect();
            present == ids && view.members[2].epoch == 2
        });
    }
    nodes[0].log.remove(ids[0]).unwrap();
    nodes[1].read_until("the removal", |it| it.log.members().present().len() == 2);
}

#[test]
fn members_of_etcd_can_be_exchanged_at_run_time() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let proxy = Proxy::before(etcd.port());
    let mut node = Node::open(EtcdLogSettings {
        endpoints: vec![proxy.url()],
        ..settings(&etcd, 1)
    });
    node.submit("by the first");
    node.read_records(1);
    node.log.set_endpoints(&[]);
    assert_eq!(node.log.endpoints(), [proxy.url()]);
    node.log.set_endpoints(&[etcd.url()]);
    proxy.set_deaf(true);
    proxy.set_mute(true);
    node.submit("by the second");
    node.read_records(2);
    assert_eq!(node.log.members().endpoint, Some(etcd.url()));
}

#[test]
fn the_format_level_waits_for_all_programs() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let about = |format_max| NodeAbout {
        format_max,
        ..NodeAbout::default()
    };
    let open = |node, level| {
        Node::open(EtcdLogSettings {
            about: about(level),
            ..settings(&etcd, node)
        })
    };
    let mut new = open(1, 3);
    let old = open(2, 2);
    new.read_until("both nodes", |it| it.log.members().members.len() == 2);
    // As far as both go.
    assert_eq!(new.log.raise_format(3), Ok(2));
    let failure = new.log.raise_format(3).unwrap_err().to_string();
    assert!(failure.contains("level 3 on all nodes"), "{failure}");
    assert!(failure.contains("node 02020202 at"), "{failure}");
    assert!(failure.contains("up to 2"), "{failure}");
    assert_eq!(old.log.raise_format(2), Err(ChangeFailure::Newest(2)));
    let older = EtcdLog::open(EtcdLogSettings {
        about: about(1),
        ..settings(&etcd, 3)
    });
    assert!(matches!(older, Err(OpenFailure::Level(it)) if it.level == 2));
    for mut node in [new, old] {
        node.read_until("level 2", |it| it.log.members().format_level == Some(2));
        assert_eq!(node.log.agreed_level(), Some(2));
    }
}

#[test]
fn nodes_know_of_each_other_and_of_differences() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut nodes = [1, 2].map(|id| {
        let about = NodeAbout {
            address: format!("host{id}:8390"),
            ..NodeAbout::default()
        };
        let settings = settings(&etcd, id);
        Node::open(EtcdLogSettings { about, ..settings })
    });
    let equal = Standing {
        digest: (DIGEST_EVERY, 77),
        ..Standing::default()
    };
    for node in &nodes {
        node.log.report(equal);
    }
    for node in &mut nodes {
        node.read_until("two reports", |it| {
            let members = it.log.members().members;
            members.len() == 2 && members.iter().all(|it| it.standing == Some(equal))
        });
        assert_eq!(node.log.differences(), []);
        let view = node.log.members();
        assert_eq!(view.endpoint, Some(etcd.url()));
        assert!(view.head >= view.read && view.read > 0);
        assert_eq!(view.members[1].id, NodeId([2; 16]));
        assert_eq!(view.members[1].about.address, "host2:8390");
        assert_eq!(view.members[1].epoch, 1);
        assert!(view.members.iter().all(|it| it.is_alive && !it.is_removed));
    }
    let next = |digest| Standing {
        digest: (2 * DIGEST_EVERY, digest),
        ..Standing::default()
    };
    nodes[0].log.report(next(1));
    nodes[1].log.report(next(2));
    for node in &mut nodes {
        node.read_until("a difference", |it| !it.log.differences().is_empty());
        let differences = node.log.differences();
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].position, 2 * DIGEST_EVERY);
        assert_eq!(differences[0].digests[0].digest, 1);
        assert_eq!(differences[0].digests[1].digest, 2);
        // Reports have come while it followed the log's end.
        let offset = node.log.members().members[1].clock_offset_us.unwrap();
        assert!(offset.abs() < 60_000_000, "{offset}");
    }
}

#[test]
fn a_node_with_another_state_than_most_follows_no_longer() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut nodes = vec![
        Node::open(settings(&etcd, 1)),
        Node::open(settings(&etcd, 2)),
    ];
    let report = |node: &Node, digest| {
        node.log.report(Standing {
            digest: (DIGEST_EVERY, digest),
            ..Standing::default()
        });
    };
    report(&nodes[0], 7);
    report(&nodes[1], 8);
    // Either may be wrong, so neither writes.
    for node in &mut nodes {
        node.read_until("trouble", |it| it.log.health().trouble.is_some());
        let number = node.submit("in doubt");
        node.read_until("a refusal", |it| it.refused.contains_key(&number));
        let reason = &node.refused[&number];
        assert!(reason.contains("none is that of most nodes"), "{reason}");
    }
    let third = Node::open(settings(&etcd, 3));
    report(&third, 7);
    nodes.push(third);
    nodes[1].read_until("the end", |it| it.failure.is_some());
    let position = DIGEST_EVERY;
    assert_eq!(nodes[1].failure, Some(LogFailure::Different { position }));
    for node in [0, 2] {
        nodes[node].read_until_well();
        nodes[node].submit("without doubt");
    }
    nodes[0].read_records(2);
}

/// A clock that is some seconds ahead.
struct Ahead(u64);

impl Clock for Ahead {
    fn now_us(&self) -> u64 {
        SystemClock.now_us() + self.0 * 1_000_000
    }

    fn uuid(&self) -> [u8; 16] {
        SystemClock.uuid()
    }
}

#[test]
fn a_node_whose_clock_is_wrong_takes_no_writes() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut nodes = [0, 3, 60].map(|ahead| {
        let id = ahead as u8 + 1;
        Node::open(EtcdLogSettings {
            clock: Arc::new(Ahead(ahead)),
            report_every: Duration::from_millis(100),
            ..settings(&etcd, id)
        })
    });
    for node in &nodes {
        node.log.report(Standing::default());
    }
    nodes[2].read_until("trouble", |it| it.log.health().trouble.is_some());
    let number = nodes[2].submit("from the future");
    nodes[2].read_until("a refusal", |it| it.refused.contains_key(&number));
    let reason = &nodes[2].refused[&number];
    assert!(
        reason.contains("ahead of those of the other nodes"),
        "{reason}"
    );
    for node in &mut nodes[..2] {
        node.read_until_well();
        node.submit("in time");
    }
    nodes[0].read_records(2);
}

#[test]
fn a_fence_names_the_end_at_the_time_of_the_question() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut writer = Node::open(settings(&etcd, 1));
    let mut reader = Node::open(settings(&etcd, 2));
    for round in 1..=20 {
        writer.submit(format!("{round}"));
        writer.read_records(round);
        let (sender, receiver) = channel();
        for _ in 0..10 {
            let sender = sender.clone();
            reader
                .log
                .fence(Box::new(move |end| sender.send(end).unwrap()));
        }
        for _ in 0..10 {
            let end = wait_for("the log's end", || receiver.try_recv().ok()).unwrap();
            assert!(end >= writer.place);
            reader.read_until("the end", |it| it.place >= end);
            assert_eq!(reader.records.len(), round);
        }
    }
}
