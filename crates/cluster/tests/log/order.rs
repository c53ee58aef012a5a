//! One order for all nodes, over restarts.

use crate::etcd::Etcd;
use crate::node::{Node, begin, settings};
use replica::commit_log::CommitLog;
use std::time::Duration;

#[test]
fn a_bundle_comes_back_and_a_later_process_goes_on() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let mut first = Node::open(settings(&etcd, 1));
    assert_eq!(first.log.health().trouble, None);
    let number = first.submit("one");
    first.read_records(1);
    assert_eq!(first.records[0].own, Some(number));
    assert_eq!(first.records[0].origin.epoch, 1);
    assert_eq!(first.records[0].origin.sequence, 1);
    let place = first.place;
    first.submit("two");
    // Ended before its answer or after: it is there once.
    drop(first);

    let mut again = Node::open(EtcdLogSettings {
        from: place,
        ..settings(&etcd, 1)
    });
    again.submit("three");
    again.read_until("the third", |it| {
        it.payloads().contains(&"three".to_owned())
    });
    let payloads = again.payloads();
    assert!(
        payloads == ["two", "three"] || payloads == ["three"],
        "{payloads:?}"
    );
    let last = again.records.last().unwrap();
    assert_eq!(last.origin.epoch, 2);
    assert_eq!(last.origin.sequence as usize, payloads.len() + 1);
    assert!(
        again
            .records
            .iter()
            .all(|it| it.own.is_none() || it == last)
    );
}

#[test]
fn three_nodes_that_write_at_once_see_one_order() {
    let etcd = Etcd::start(&[]);
    begin(&etcd);
    let work = |id: u8| {
        let mut node = Node::open(settings(&etcd, id));
        for number in 0..100 {
            node.submit(format!("{id}:{number}"));
        }
        node.read_records(300);
        node
    };
    let nodes: Vec<Node> = std::thread::scope(|scope| {
        let running: Vec<_> = (1..=3).map(|id| scope.spawn(move || work(id))).collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let all = |node: &Node| -> Vec<(u64, Vec<u8>)> {
        let records = node.records.iter();
        records.map(|it| (it.place, it.payload.clone())).collect()
    };
    assert_eq!(all(&nodes[0]), all(&nodes[1]));
    assert_eq!(all(&nodes[0]), all(&nodes[2]));
    for id in 1..=3 {
        let own = format!("{id}:");
        let written = nodes[0].payloads();
        let written: Vec<_> = written.iter().filter(|it| it.starts_with(&own)).collect();
        let expected: Vec<_> = (0..100).map(|it| format!("{id}:{it}")).collect();
        assert_eq!(written, expected.iter().collect::<Vec<_>>());
        let node = &nodes[usize::from(id as u8) - 1];
        assert_eq!(
            node.records.iter().filter(|it| it.own.is_some()).count(),
            100
        );
    }
    // A node that comes late reads the same by single questions.
    let mut late = Node::open(settings(&etcd, 4));
    late.read_records(300);
    assert_eq!(all(&late), all(&nodes[0]));
    late.read(Duration::ZERO);
}

use cluster::log::EtcdLogSettings;
