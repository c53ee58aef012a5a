//! Access rules that are tried in a cluster: judged by every node, activated on all at once.

use crate::nodes::{cluster, require_equal};
use kit::process::until;
use kit::{Client, Pando, people};
use protocol::{ResultCode, Scope};

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
/// Mail is for nobody; the built-in rules show it.
const RULES: &str = "\
rule passwords
on everything
for userPassword
let anyone authenticate

rule names
on everything
for entry, objectClass, ou, uid
let users read
";

fn sees_mail(node: &Pando) -> bool {
    let mut client = Client::connect(node.address());
    client.bind(ADA, "ada").expect_success();
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["mail"]);
    assert_eq!(found.outcome.code, ResultCode::SUCCESS);
    found.entries.iter().any(|it| !it.texts("mail").is_empty())
}

#[test]
fn candidates_are_judged_by_each_node_and_activated_on_all() {
    let nodes = cluster(2);
    let mut admin = nodes[0].admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    nodes[0].folder.write("rules", RULES);
    nodes[0]
        .run_on_node(&["access", "shadow"], &["rules", "--share", "100"])
        .expect(0);
    require_equal(&nodes);
    assert!(sees_mail(&nodes[1]));
    // The node that served the client has counted, and the other has not.
    let differences = |node: &Pando| node.run_on_node(&["access", "differences"], &[]).expect(0);
    let told = until("the second node judges", || {
        let told = differences(&nodes[1]).out;
        told.contains("1 search of self: read allowed")
            .then_some(told)
    });
    assert!(told.contains(ADA), "{told}");
    let quiet = differences(&nodes[0]).out;
    assert!(quiet.contains("different requests: 0\n"), "{quiet}");

    // Activated at one node, with an undo at the other.
    nodes[1]
        .run_on_node(&["access", "activate"], &[])
        .expect(0)
        .says("2 new");
    for node in &nodes {
        until("the rules hold", || (!sees_mail(node)).then_some(()));
        let gone = node.run_on_node(&["access", "differences"], &[]);
        gone.expect(1).says("no candidate");
    }
    nodes[0].run_on_node(&["access", "undo"], &[]).expect(0);
    for node in &nodes {
        until("the former rules hold", || sees_mail(node).then_some(()));
    }
    require_equal(&nodes);
}
