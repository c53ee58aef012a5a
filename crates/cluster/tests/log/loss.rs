//! Lost replies, lost connections, and an etcd that comes and goes.

use crate::etcd::{Etcd, wait_for};
use crate::node::{Node, begin, settings};
use crate::proxy::Proxy;
use cluster::log::{EtcdLog, EtcdLogSettings};
use replica::commit_log::CommitLog;
use std::time::{Duration, Instant};

/// Settings of a node that reaches etcd by a proxy alone.
fn through(etcd: &Etcd, proxy: &Proxy, node: u8) -> EtcdLogSettings {
    EtcdLogSettings {
        endpoints: vec![proxy.url()],
        ..settings(etcd, node)
    }
}

#[test]
fn a_bundle_whose_replies_are_lost_becomes_one_record() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let proxy = Proxy::before(etcd.port());
    let mut writer = Node::open(through(&etcd, &proxy, 1));
    let mut other = Node::open(settings(&etcd, 2));
    for round in 0..5 {
        writer.submit(format!("before {round}"));
        writer.read_records(2 * round + 1);
        proxy.set_deaf(true);
        let number = writer.submit(format!("lost {round}"));
        // It is in the log, and its writer does not know.
        other.read_records(2 * round + 2);
        assert!(!writer.log.is_free(0));
        assert_eq!(writer.place_of(number), None);
        // Until it has sent the same once more.
        let asked = proxy.asked();
        wait_for("a second attempt", || (proxy.asked() > asked).then_some(()));
        proxy.set_deaf(false);
        writer.read_records(2 * round + 2);
        assert_eq!(writer.place_of(number), Some(other.place));
    }
    writer.submit("last");
    writer.read_records(11);
    other.read_records(11);
    assert_eq!(writer.payloads(), other.payloads());
    assert!(writer.refused.is_empty());
}

#[test]
fn a_process_that_ends_without_its_reply_leaves_one_record() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let proxy = Proxy::before(etcd.port());
    let mut writer = Node::open(through(&etcd, &proxy, 1));
    writer.submit("first");
    writer.read_records(1);
    let place = writer.place;
    proxy.set_deaf(true);
    writer.submit("lost");
    let mut other = Node::open(settings(&etcd, 2));
    other.read_records(2);
    drop(writer);
    proxy.set_deaf(false);

    let mut again = Node::open(EtcdLogSettings {
        from: place,
        ..through(&etcd, &proxy, 1)
    });
    again.submit("next");
    again.read_records(2);
    assert_eq!(again.payloads(), ["lost", "next"]);
    assert_eq!(again.records[0].own, None);
    assert_eq!(again.records[1].origin.sequence, 3);
    other.read_records(3);
    assert_eq!(other.payloads(), ["first", "lost", "next"]);
}

#[test]
fn a_log_opens_without_etcd_and_works_when_it_comes() {
    let mut etcd = Etcd::start(&[]);
    begin(&etcd);
    etcd.kill();
    let mut node = Node::open(settings(&etcd, 1));
    let trouble = node.log.health().trouble.unwrap();
    assert!(trouble.contains(&etcd.url()), "{trouble}");
    let number = node.submit("early");
    node.read(Duration::from_millis(50));
    assert!(node.records.is_empty() && node.failure.is_none());
    etcd.run();
    node.read_until_well();
    node.read_records(1);
    assert_eq!(node.records[0].own, Some(number));
    assert_eq!(node.records[0].origin.epoch, 1);
}

#[test]
fn a_bundle_that_was_never_sent_is_refused_in_time() {
    let mut etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(settings(&etcd, 1));
    node.write_timeout = Duration::from_millis(700);
    node.submit("sent");
    node.read_records(1);
    etcd.kill();
    node.read_until("trouble", |it| it.log.health().trouble.is_some());
    let number = node.submit("never");
    node.read_until("a refusal", |it| it.refused.contains_key(&number));
    let reason = &node.refused[&number];
    assert!(reason.contains("etcd cannot be reached"), "{reason}");
    assert!(node.log.is_free(0));
    etcd.run();
    node.read_until_well();
    node.submit("later");
    node.read_records(2);
    assert_eq!(node.payloads(), ["sent", "later"]);
}

#[test]
fn what_was_sent_stays_undecided_until_etcd_answers() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let proxy = Proxy::before(etcd.port());
    let mut node = Node::open(through(&etcd, &proxy, 1));
    node.write_timeout = Duration::from_millis(100);
    node.submit("first");
    node.read_records(1);
    proxy.set_deaf(true);
    let number = node.submit("sent");
    node.read_until("trouble", |it| it.log.health().trouble.is_some());
    assert!(node.refused.is_empty() && !node.log.is_free(0));
    proxy.set_deaf(false);
    node.read_records(2);
    assert_eq!(node.records[1].own, Some(number));
    assert!(node.refused.is_empty());
}

#[test]
fn etcd_killed_again_and_again_loses_and_doubles_nothing() {
    let mut etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut node = Node::open(settings(&etcd, 1));
    let mut expected = Vec::new();
    for round in 0..4 {
        for number in 0..10 {
            node.submit(format!("{round}:{number}"));
            expected.push(format!("{round}:{number}"));
        }
        etcd.kill();
        etcd.run();
    }
    node.read_records(expected.len());
    assert_eq!(node.payloads(), expected);
    assert!(node.refused.is_empty());
}

#[test]
fn another_member_is_used_when_the_nearest_is_gone() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let proxy = Proxy::before(etcd.port());
    let mut node = Node::open(EtcdLogSettings {
        endpoints: vec![proxy.url(), etcd.url()],
        ..settings(&etcd, 1)
    });
    node.submit("near");
    node.read_records(1);
    proxy.set_closed(true);
    for number in 0..20 {
        node.submit(format!("far {number}"));
    }
    node.read_records(21);
    assert!(node.refused.is_empty());
    assert_eq!(node.log.health().trouble, None);
}

#[test]
fn an_etcd_that_is_too_old_is_named_with_its_version() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let version = etcd.with(async |client| {
        let status = client.maintenance_client().status().await;
        status.unwrap().version().to_owned()
    });
    let old = format!("3.5.{}", "9".repeat(version.len() - 4));
    let proxy = Proxy::before(etcd.port());
    proxy.replace(&version, &old);
    let failure = EtcdLog::open(through(&etcd, &proxy, 1)).err().unwrap();
    let text = failure.to_string();
    assert!(text.contains("expected etcd 3.6 or later"), "{text}");
    assert!(text.contains(&proxy.url()) && text.contains(&old), "{text}");
}

#[test]
fn settings_that_cannot_work_are_named() {
    let etcd = Etcd::start(&[]);
    let no_url = EtcdLogSettings {
        endpoints: vec!["http://[::".to_owned()],
        ..settings(&etcd, 1)
    };
    let none = EtcdLogSettings {
        endpoints: Vec::new(),
        ..settings(&etcd, 1)
    };
    let no_lane = EtcdLogSettings {
        lanes: 0,
        ..settings(&etcd, 1)
    };
    for (settings, named) in [(no_url, "http://[::"), (none, "URL"), (no_lane, "lane")] {
        let failure = EtcdLog::open(settings).err().unwrap().to_string();
        assert!(failure.contains(named), "{failure}");
    }
}

#[test]
fn a_member_that_hangs_does_not_hold_up_one_that_comes_back() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let [hangs, returns] = [0, 1].map(|_| Proxy::before(etcd.port()));
    let attempt_timeout = Duration::from_secs(4);
    let mut node = Node::open(EtcdLogSettings {
        endpoints: vec![hangs.url(), returns.url()],
        attempt_timeout,
        ..settings(&etcd, 1)
    });
    node.submit("before");
    node.read_records(1);
    hangs.set_mute(true);
    returns.set_closed(true);
    // Only connections that are ended are made anew.
    hangs.set_closed(true);
    let asked = hangs.asked();
    hangs.set_closed(false);
    // It is asked later than the other one, which has refused by now.
    wait_for("a question", || (hangs.asked() > asked).then_some(()));
    returns.set_closed(false);
    let begun = Instant::now();
    node.submit("after");
    node.read_records(2);
    // The member that hangs has three times as long as an attempt.
    assert!(begun.elapsed() < attempt_timeout * 2);
}
