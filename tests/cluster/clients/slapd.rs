//! Debian's slapd keeps a copy of a cluster's directory, and goes on at another node.

use super::{served, take_turns};
use kit::client::Modification;
use kit::process::until;
use kit::{Entry, Pando, Replica, SUFFIX, ldif, people};
use protocol::Scope;

const PEOPLE: usize = 12;

/// Entries with what a copy must have, in order.
fn tree(client: &mut kit::Client) -> Vec<Entry> {
    let select = [
        "*",
        "entryUUID",
        "entryCSN",
        "modifyTimestamp",
        "creatorsName",
    ];
    let found = client.search(SUFFIX, Scope::WholeSubtree, "(objectClass=*)", &select);
    ldif::in_order(found.entries)
}

fn converges(node: &Pando, replica: &Replica) {
    until("the copy equals the original", || {
        (tree(&mut replica.client()) == tree(&mut node.admin())).then_some(())
    });
}

fn name(number: usize) -> String {
    format!("uid=person{number:03},ou=People,{SUFFIX}")
}

/// Changes, adds and deletes at a node.
fn change(node: &Pando, number: usize) {
    let mut admin = node.admin();
    let text = [Modification::replace("description", &["changed"])];
    admin.modify(&name(number), &text).expect_success();
    admin
        .add(&people::person(&format!("new{number}")))
        .expect_success();
    admin.delete(&name(number + 1)).expect_success();
}

/// Number of entries that slapd has received since its start.
fn received(replica: &Replica) -> usize {
    replica
        .log()
        .matches("LDAP_RES_SEARCH_ENTRY(LDAP_SYNC")
        .count()
}

#[test]
fn slapd_follows_the_next_node_without_beginning_anew() {
    let mut nodes = served(PEOPLE);
    // As an operator changes the provider: slapd is stopped and its configuration edited.
    let mut replica = Replica::start(nodes[0].address(), |it| it);
    converges(&nodes[0], &replica);
    assert!(received(&replica) >= PEOPLE);
    change(&nodes[1], 0);
    converges(&nodes[1], &replica);
    replica.stop();
    nodes[0].kill_with_etcd();
    change(&nodes[2], 2);
    replica.follow(nodes[1].address());
    replica.serve();
    converges(&nodes[2], &replica);
    // One added, one changed and one deleted entry, and nothing else: the cookie was good.
    assert_eq!(received(&replica), 3, "{}", replica.log());
    change(&nodes[2], 4);
    converges(&nodes[2], &replica);
    assert_eq!(received(&replica), 6, "{}", replica.log());
}

#[test]
fn slapd_follows_two_nodes_of_which_one_dies() {
    let mut nodes = served(PEOPLE);
    let (first, second) = (nodes[0].address(), nodes[1].address());
    let replica = Replica::start(first, |config| {
        let (before, statement) = config.split_once("syncrepl rid=001").expect("a statement");
        let (statement, after) = statement.split_once("updateref").expect("its end");
        let other = statement.replace(&first.to_string(), &second.to_string());
        format!("{before}syncrepl rid=001{statement}syncrepl rid=002{other}updateref{after}")
    });
    converges(&nodes[0], &replica);
    change(&nodes[2], 0);
    converges(&nodes[2], &replica);
    nodes[0].kill_with_etcd();
    change(&nodes[2], 2);
    converges(&nodes[2], &replica);
    take_turns(&mut nodes);
    change(&nodes[2], 4);
    converges(&nodes[2], &replica);
}
