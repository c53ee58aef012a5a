//! Writes at every node: all are equal, and a killed node goes on.

use crate::nodes::{cluster, conclude, founder, joined, require_equal, write};
use kit::SUFFIX;
use protocol::ResultCode;

#[test]
fn every_node_writes_and_all_are_equal() {
    let mut nodes = cluster(3);
    let added: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = nodes
            .iter()
            .enumerate()
            .map(|(number, node)| {
                let mut client = node.admin();
                scope.spawn(move || write(&mut client, number))
            })
            .collect();
        let done = writers
            .into_iter()
            .flat_map(|it| it.join().expect("written"));
        done.collect()
    });
    require_equal(&nodes);
    for node in &nodes {
        let mut client = node.admin();
        for name in &added {
            assert!(client.read(name).is_some(), "{name} was acknowledged");
        }
    }
    conclude(&mut nodes);
}

#[test]
fn a_killed_node_goes_on_where_the_log_is() {
    let first = founder();
    let mut second = joined(&first);
    write(&mut second.admin(), 1);
    second.kill();
    write(&mut first.admin(), 0);
    second.serve();
    let mut nodes = [first, second];
    require_equal(&nodes);
    // The founder runs etcd: without it the other node reads, and takes no write.
    nodes[0].stop();
    let mut client = nodes[1].admin();
    assert!(client.read(SUFFIX).is_some());
    let refused = client.delete(&format!("uid=n1w0,{SUFFIX}"));
    assert_eq!(refused.code, ResultCode::UNAVAILABLE, "{refused:?}");
    nodes[0].serve();
    require_equal(&nodes);
    write(&mut nodes[1].admin(), 2);
    require_equal(&nodes);
    // A killed node leaves its etcd running, for its next start.
    nodes[0].stop();
}
