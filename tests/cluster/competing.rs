//! Writes at two nodes to one entry, where the first of them wins.

use crate::nodes::{cluster, content, require_equal};
use kit::client::Modification;
use kit::{Client, SUFFIX};
use protocol::ResultCode;

/// Number of writes of each client.
const WRITES: usize = 200;

/// Adds one to the counter again and again; returns how often the answer was success.
fn count(client: &mut Client) -> usize {
    let change = [Modification::increment("uidNumber", "1")];
    let mut done = 0;
    for _ in 0..WRITES {
        let answer = client.modify(&counter(), &change);
        match answer.code {
            ResultCode::SUCCESS => done += 1,
            ResultCode::ASSERTION_FAILED => {}
            _ => panic!("expected success or assertionFailed, got {answer}"),
        }
    }
    done
}

fn counter() -> String {
    format!("uid=counter,{SUFFIX}")
}

#[test]
fn the_first_writer_wins_on_all_nodes_alike() {
    let nodes = cluster(2);
    let mut admin = nodes[0].admin();
    let mut person = kit::people::person("counter");
    person.name = counter();
    admin.add(&person).expect_success();
    let begin = [
        Modification::add("objectClass", &["posixAccount"]),
        Modification::replace("uidNumber", &["0"]),
        Modification::replace("gidNumber", &["0"]),
        Modification::replace("homeDirectory", &["/"]),
    ];
    admin.modify(&counter(), &begin).expect_success();
    let rule = [Modification::add("pandoFirstWriterWins", &[SUFFIX])];
    admin.modify("cn=config", &rule).expect_success();
    require_equal(&nodes);
    let done: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = nodes
            .iter()
            .map(|node| {
                let mut client = node.admin();
                scope.spawn(move || count(&mut client))
            })
            .collect();
        let done = writers.into_iter().map(|it| it.join().expect("counted"));
        done.sum()
    });
    assert!(done < 2 * WRITES, "both nodes wrote at once, and none lost");
    require_equal(&nodes);
    let counted = format!("uidNumber: {done}");
    for node in &nodes {
        let all = content(&mut node.admin());
        assert!(all.iter().any(|it| it.contains(&counted)), "{counted}");
    }
}
