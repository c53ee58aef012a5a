//! Registrations, reports, holds and trimming.

use crate::etcd::{Etcd, wait_for};
use crate::node::{Node, begin, settings};
use crate::proxy::Proxy;
use cluster::log::{ChangeFailure, EtcdLogSettings, HoldFailure, NodeAbout, Trimming};
use etcd_client::{AlarmAction, AlarmOptions, AlarmType};
use replica::commit_log::{CommitLog, DIGEST_EVERY, LogFailure, NodeId, Standing};
use std::sync::mpsc::channel;
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

/// What a node says that has synced all that it has read.
fn synced(node: &Node) -> Standing {
    Standing {
        place: node.place,
        synced_place: node.place,
        position: node.records.len() as u64,
        ..Standing::default()
    }
}

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
    let mut again = Node::open(settings(&etcd, 1));
    again.read_until("a failure", |it| it.failure.is_some());
    let failure = again.failure.unwrap().to_string();
    assert!(failure.contains("was removed"), "{failure}");
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
    let failure = new.log.raise_format(3).unwrap_err().to_string();
    assert!(failure.contains("knows format levels up to 2"), "{failure}");
    new.log.raise_format(2).unwrap();
    new.log.raise_format(1).unwrap();
    for mut node in [new, old] {
        node.read_until("level 2", |it| it.log.members().format_level == Some(2));
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
    // Nothing can be trimmed.
    node.log.report(Standing::default());
    for _ in 0..85 {
        node.submit(vec![b'x'; 500_000]);
    }
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
    // Those before may have come to a busy log, too.
    node.read_until("an end of the log", |it| it.place >= it.log.health().head);
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
    // Trimmed although the new floor cannot be written.
    node.read_until("room in the database", |it| {
        it.log.report(synced(it));
        etcd.with(async |client| {
            let mut maintenance = client.maintenance_client();
            maintenance.defragment().await.unwrap();
            maintenance.status().await.unwrap().db_size() < 8_000_000
        })
    });
    etcd.with(async |client| {
        let mut maintenance = client.maintenance_client();
        let status = maintenance.status().await.unwrap();
        let member = status.header().unwrap().member_id();
        let mut of = AlarmOptions::new();
        of.with_member(member);
        let (off, alarm) = (AlarmAction::Deactivate, AlarmType::Nospace);
        maintenance.alarm(off, alarm, Some(of)).await.unwrap();
    });
    node.read_until_well();
    let number = node.submit("taken");
    node.read_until("its record", |it| it.place_of(number).is_some());
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
