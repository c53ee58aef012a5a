//! A node whose clock is an hour wrong takes no writes and says so; the others go on, and no time
//! goes back.

use crate::nodes::{add_when_possible, await_voters, cluster, conclude, status, write};
use kit::process::until;
use kit::{Pando, SUFFIX, people};
use protocol::ResultCode;
use std::path::Path;

/// Debian's libfaketime, which shifts the clock of a process that loads it.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// Serves a node whose clock is off. That of its etcd is right: only the node's times count.
fn serve_off(node: &mut Pando, seconds: &str) {
    assert!(
        Path::new(LIBRARY).exists(),
        "expected {LIBRARY} (Debian: faketime)"
    );
    node.serve_in(&[
        ("LD_PRELOAD", Path::new(LIBRARY)),
        ("FAKETIME", Path::new(seconds)),
        ("FAKETIME_DONT_FAKE_MONOTONIC", Path::new("1")),
    ]);
}

#[test]
fn a_node_whose_clock_is_an_hour_wrong_takes_no_writes() {
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    for (round, (seconds, side)) in [("+3600s", "ahead of"), ("-3600s", "behind")]
        .into_iter()
        .enumerate()
    {
        nodes[2].stop();
        serve_off(&mut nodes[2], seconds);
        let said = until("a refusal", || {
            let added = nodes[2].admin().add(&people::person("off"));
            (added.code == ResultCode::UNAVAILABLE).then_some(added.diagnostic)
        });
        assert!(said.contains("the clock of this node is 3"), "{said}");
        assert!(said.contains(side), "{said}");
        assert!(status(&nodes[0])["nodes"].to_string().contains(side));
        // The others write, and it follows them.
        write(&mut nodes[0].admin(), round);
        add_when_possible(&nodes[1], &format!("other{round}"));
        nodes[2].stop();
        nodes[2].serve();
        add_when_possible(&nodes[2], &format!("right{round}"));
    }
    conclude(&mut nodes);
}

/// The only node has written with a clock an hour ahead; times of later writes do not go back.
#[test]
fn times_do_not_go_back() {
    let mut nodes = cluster(2);
    nodes[1].stop();
    nodes[0].stop();
    serve_off(&mut nodes[0], "+3600s");
    let ahead = add_when_possible(&nodes[0], "ahead");
    nodes[0].stop();
    nodes[0].serve();
    nodes[1].serve();
    let mut names = vec![ahead];
    for round in 0..4 {
        names.push(add_when_possible(&nodes[round % 2], &format!("r{round}")));
    }
    let mut client = nodes[1].admin();
    let times: Vec<String> = names
        .iter()
        .map(|it| {
            let filter = "(objectClass=*)";
            let scope = protocol::Scope::BaseObject;
            let found = client.search(it, scope, filter, &["createTimestamp"]);
            found.one().expect("the entry").text("createTimestamp")
        })
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(client.read(SUFFIX).is_some());
    drop(client);
    conclude(&mut nodes);
}
