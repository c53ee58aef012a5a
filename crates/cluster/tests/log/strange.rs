//! An etcd that is not the log that a node has followed, or that is used for something else, too.

use crate::etcd::{Etcd, wait_for};
use crate::node::{CLUSTER, Node, begin, settings};
use crate::proxy::Proxy;
use cluster::log::{EtcdLogSettings, found};
use replica::commit_log::{CommitLog, LogFailure};
use std::time::Duration;

/// The sentence with which a node's log failed.
fn strange(node: &mut Node) -> String {
    node.read_until("a failure", |it| it.failure.is_some());
    let text = match node.failure.clone() {
        Some(LogFailure::Strange(text)) => text,
        other => panic!("expected a strange log, found {other:?}"),
    };
    let trouble = node.log.health().trouble.unwrap();
    assert!(trouble.contains(&text), "{trouble}");
    text
}

#[test]
fn an_etcd_that_was_emptied_is_not_followed() {
    let mut etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(settings(&etcd, 1));
    node.submit("first");
    node.read_records(1);
    etcd.kill();
    etcd.empty();
    etcd.run();
    let text = strange(&mut node);
    assert!(text.contains("it was emptied"), "{text}");
    let number = node.submit("late");
    node.read(Duration::ZERO);
    assert!(node.place_of(number).is_none());
    // Also by a process that starts then, and when the cluster was begun once more.
    let again = || EtcdLogSettings {
        from: node.place,
        ..settings(&etcd, 1)
    };
    let text = strange(&mut Node::open(again()));
    assert!(text.contains("it was emptied"), "{text}");
    begin(&etcd);
    let text = strange(&mut Node::open(again()));
    assert!(text.contains("ends at place 3"), "{text}");
}

#[test]
fn another_cluster_s_log_is_not_followed() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let other = EtcdLogSettings {
        cluster: [7; 16],
        ..settings(&etcd, 1)
    };
    let text = strange(&mut Node::open(other.clone()));
    assert!(text.contains("07070707"), "{text}");
    // Two clusters in one etcd do not see each other.
    found(&other, 1).unwrap();
    let mut one = Node::open(settings(&etcd, 1));
    let mut two = Node::open(other);
    for number in 0..5 {
        one.submit(format!("one {number}"));
        two.submit(format!("two {number}"));
    }
    one.read_records(5);
    two.read_records(5);
    assert!(one.payloads().iter().all(|it| it.starts_with("one")));
    assert!(two.payloads().iter().all(|it| it.starts_with("two")));
}

#[test]
fn an_identity_of_another_etcd_is_noticed() {
    let first = Etcd::start(&[]);
    begin(&first);
    let second = Etcd::start(&["--initial-cluster-token", "other"]);
    begin(&second);
    let proxy = Proxy::before(first.port());
    let endpoints = vec![proxy.url(), second.url()];
    let mut node = Node::open(EtcdLogSettings {
        endpoints,
        ..settings(&first, 1)
    });
    assert_eq!(node.log.health().trouble, None);
    for number in 0..10 {
        node.submit(format!("{number}"));
    }
    node.read_records(10);
    proxy.set_closed(true);
    let text = strange(&mut node);
    assert!(text.contains(&second.url()), "{text}");
}

#[test]
fn keys_of_others_are_passed_over() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(settings(&etcd, 1));
    for round in 0..5 {
        etcd.with(async |mut client| {
            for number in 0..30 {
                let key = format!("/elsewhere/{number}");
                client.put(key, "x", None).await.unwrap();
            }
        });
        // Nothing of ours follows: the end is reached nevertheless.
        let end = etcd.with(async |mut client| {
            let answer = client.get("/elsewhere/1", None).await.unwrap();
            answer.header().unwrap().revision()
        });
        let end = u64::try_from(end).unwrap();
        node.read_until("the end of others' keys", |it| it.place >= end);
        node.submit(format!("{round}"));
        node.read_records(round + 1);
    }
    let mut late = Node::open(settings(&etcd, 2));
    late.read_records(5);
    assert_eq!(late.payloads(), node.payloads());
}

#[test]
fn a_deleted_lane_is_not_passed_over() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(settings(&etcd, 1));
    node.submit("first");
    node.read_records(1);
    let cluster = format!("{:032x}", u128::from_be_bytes(CLUSTER));
    let lane = format!("/pando/{cluster}/log/{}/0", "01".repeat(16));
    etcd.with(async |mut client| {
        let deleted = client.delete(lane, None).await.unwrap();
        assert_eq!(deleted.deleted(), 1);
    });
    let text = strange(&mut node);
    assert!(text.contains("was deleted at place"), "{text}");
}

#[test]
fn a_record_that_no_node_wrote_is_not_passed_on() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(settings(&etcd, 1));
    node.submit("first");
    node.read_records(1);
    let cluster = format!("{:032x}", u128::from_be_bytes(CLUSTER));
    let lane = format!("/pando/{cluster}/log/{}/0", "01".repeat(16));
    etcd.with(async |mut client| client.put(lane, "PLOG", None).await.unwrap());
    let text = strange(&mut node);
    assert!(text.contains("lane 0 of node 0101"), "{text}");
}

#[test]
fn a_slow_executor_slows_the_reader_and_nothing_is_lost() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut writer = Node::open(settings(&etcd, 1));
    let proxy = Proxy::before(etcd.port());
    let mut slow = Node::open(EtcdLogSettings {
        endpoints: vec![proxy.url()],
        waiting_bytes_max: 1 << 20,
        ..settings(&etcd, 2)
    });
    slow.read(Duration::from_millis(50));
    for number in 0..200 {
        let mut payload = format!("{number}:").into_bytes();
        payload.resize(200_000, b'x');
        writer.submit(payload);
    }
    writer.read_records(200);
    // Its reader stopped long before the end: 40 MB wait in etcd.
    let head = slow.log.members().read;
    assert!(head < writer.records[100].place, "{head}");
    slow.read_records(200);
    let first = |it: &Node| -> Vec<Vec<u8>> {
        let records = it.records.iter();
        records.map(|it| it.payload[..8].to_vec()).collect()
    };
    assert_eq!(first(&slow), first(&writer));
}

#[test]
fn lanes_are_independent_and_keep_their_order() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(EtcdLogSettings {
        lanes: 3,
        ..settings(&etcd, 1)
    });
    assert_eq!(node.log.lanes(), 3);
    let (sender, woken) = std::sync::mpsc::channel();
    node.log
        .on_free(std::sync::Arc::new(move || sender.send(()).unwrap()));
    for round in 0..20 {
        for lane in 0..3 {
            node.submit_to(lane, format!("{lane}:{round}"));
        }
        for lane in 0..3 {
            node.read_until("a free lane", |it| it.log.is_free(lane));
        }
    }
    node.read_records(60);
    for lane in 0..3 {
        let own = node.records.iter().filter(|it| it.origin.lane == lane);
        let sequences: Vec<u64> = own.map(|it| it.origin.sequence).collect();
        assert_eq!(sequences, (1..=20).collect::<Vec<_>>());
    }
    let woken = wait_for("sixty calls", || {
        let calls = woken.try_iter().count();
        (calls > 0).then_some(calls)
    });
    assert_eq!(woken, 60);
    // A later process with fewer lanes reads all of them.
    drop(node);
    let mut fewer = Node::open(settings(&etcd, 1));
    fewer.submit("0:20");
    fewer.read_records(61);
    assert_eq!(fewer.records[60].origin.sequence, 21);
}
