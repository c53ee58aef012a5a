//! Trimming: what is kept for whom, and what happens when etcd is full.

use crate::etcd::Etcd;
use crate::node::{Node, begin, settings};
use cluster::log::{EtcdLogSettings, HoldFailure, Trimming};
use etcd_client::DeleteOptions;
use replica::commit_log::{CommitLog, LogFailure, NodeId, Standing};
use std::time::Duration;

/// Settings under which the log is trimmed soon.
fn hasty(etcd: &Etcd, node: u8) -> EtcdLogSettings {
    EtcdLogSettings {
        report_every: Duration::from_millis(100),
        trimming: Trimming {
            every: Duration::from_millis(50),
            ..Trimming::default()
        },
        ..settings(etcd, node)
    }
}

/// Standing of a node that has synced all that it has read.
fn synced(node: &Node) -> Standing {
    Standing {
        place: node.place,
        synced_place: node.place,
        position: node.records.len() as u64,
        ..Standing::default()
    }
}

#[test]
fn a_node_that_was_away_for_too_long_learns_that_records_are_gone() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut away = Node::open(settings(&etcd, 9));
    away.submit("before");
    away.read_records(1);
    let place = away.place;
    away.log.report(synced(&away));
    away.read_until("its own report", |it| {
        it.log.members().members[0].standing.is_some()
    });
    drop(away);
    let short = Trimming {
        alive_for: Duration::from_secs(1),
        absent_for: Duration::from_secs(1),
        ..hasty(&etcd, 1).trimming
    };
    let mut node = Node::open(EtcdLogSettings {
        trimming: short,
        ..hasty(&etcd, 1)
    });
    for number in 0..20 {
        node.submit(format!("{number}"));
    }
    node.read_records(21);
    let last = node.place;
    node.read_until("a trimmed log", |it| {
        it.log.report(synced(it));
        it.log.members().floor >= last
    });
    let mut back = Node::open(EtcdLogSettings {
        from: place,
        ..settings(&etcd, 9)
    });
    back.read_until("a failure", |it| it.failure.is_some());
    let Some(LogFailure::Trimmed { floor }) = back.failure else {
        panic!("expected a trimmed log, found {:?}", back.failure);
    };
    assert!(floor > place, "{floor} {place}");
    assert!(back.records.is_empty());
    // It fails again, and again.
    assert!(back.log.next(Duration::ZERO).is_err());
    // Who has all records goes on.
    node.read(Duration::ZERO);
    let from = node.place;
    drop(node);
    let mut again = Node::open(EtcdLogSettings {
        from,
        ..settings(&etcd, 1)
    });
    again.submit("after");
    again.read_records(1);
}

#[test]
fn nothing_is_trimmed_that_a_node_or_a_hold_needs() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(hasty(&etcd, 1));
    let mut slow = Node::open(hasty(&etcd, 2));
    for number in 0..10 {
        node.submit(format!("{number}"));
    }
    node.read_records(10);
    slow.read_records(5);
    slow.read_until("the other's end", |it| it.place >= node.place);
    let held = node.records[3].place;
    let slow_at = Standing {
        synced_place: node.records[6].place,
        ..Standing::default()
    };
    let joiner = NodeId([8; 16]);
    slow.log
        .hold(joiner, held, Duration::from_secs(600))
        .unwrap();
    let floor = |node: &Node| node.log.members().floor;
    node.log.report(synced(&node));
    slow.log.report(slow_at);
    node.read_until("a floor at the hold", |it| floor(it) == held);
    slow.log.hold(joiner, 0, Duration::ZERO).unwrap();
    // A write more: idle logs are not trimmed.
    node.submit("more");
    node.read_until("a floor at the slow node", |it| {
        floor(it) == slow_at.synced_place
    });
    let late = slow.log.hold(joiner, held, Duration::from_secs(600));
    let expected = HoldFailure::Trimmed {
        from: held,
        floor: slow_at.synced_place,
    };
    assert_eq!(late, Err(expected));
}

#[test]
fn retention_limits_what_a_lagging_node_keeps() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let trimming = Trimming {
        retention_bytes: 3 << 20,
        ..hasty(&etcd, 1).trimming
    };
    let mut node = Node::open(EtcdLogSettings {
        trimming,
        ..hasty(&etcd, 1)
    });
    // Synced nothing, ever.
    node.log.report(Standing::default());
    for _ in 0..20 {
        node.submit(vec![b'x'; 500_000]);
    }
    node.read_records(20);
    let (seventh, last) = (node.records[7].place, node.records[19].place);
    node.read_until("a floor by bytes", |it| it.log.members().floor >= seventh);
    assert!(node.log.members().floor < last);
}

#[test]
fn a_full_etcd_is_busy_before_it_is_full() {
    let etcd = Etcd::start(&["--quota-backend-bytes", "64000000"]);
    begin(&etcd);
    let mut node = Node::open(hasty(&etcd, 1));
    node.submit("first");
    node.read_records(1);
    node.log.report(Standing::default());
    // Nothing of this can be trimmed.
    etcd.with(async |mut client| {
        for number in 0..40 {
            let key = format!("/elsewhere/{number}");
            client.put(key, vec![b'x'; 1_000_000], None).await.unwrap();
        }
    });
    let is_busy = |it: &Node| {
        let trouble = it.log.health().trouble;
        trouble.is_some_and(|it| it.starts_with("busy"))
    };
    node.read_until("a busy log", is_busy);
    let database = node.log.members().database.unwrap();
    assert_eq!(database.quota_bytes, 64_000_000);
    assert!(database.used_bytes > 38_400_000);
    let number = node.submit("refused");
    node.read_until("a refusal", |it| it.refused.contains_key(&number));
    etcd.with(async |mut client| {
        let all = DeleteOptions::new().with_prefix();
        client.delete("/elsewhere/", Some(all)).await.unwrap();
    });
    node.read_until("a log with room", |it| {
        it.log.report(synced(it));
        it.log.health().trouble.is_none()
    });
    let number = node.submit("taken");
    node.read_until("its record", |it| it.place_of(number).is_some());
}

#[test]
fn a_full_etcd_can_be_brought_back() {
    let etcd = Etcd::start(&["--quota-backend-bytes", "16000000"]);
    begin(&etcd);
    let mut node = Node::open(hasty(&etcd, 1));
    node.log.report(Standing::default());
    for _ in 0..14 {
        node.submit(vec![b'x'; 500_000]);
    }
    node.read_records(14);
    // Somebody else fills the rest.
    etcd.with(async |mut client| {
        let more = vec![b'x'; 1_000_000];
        while client.put("/elsewhere", more.clone(), None).await.is_ok() {}
    });
    node.read_until("an alarm", |it| {
        let trouble = it.log.health().trouble;
        trouble.is_some_and(|it| it.contains("NOSPACE") && it.contains("defrag"))
    });
    let number = node.submit("refused");
    node.read_until("a refusal", |it| it.refused.contains_key(&number));
    // Trimmed although the new floor cannot be written, and the alarm is ended.
    node.read_until("the end of the alarm", |it| {
        it.log.report(synced(it));
        it.log.health().trouble.is_none()
    });
    node.read_until_well();
    let number = node.submit("taken");
    node.read_until("its record", |it| it.place_of(number).is_some());
}
