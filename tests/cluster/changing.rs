//! Schema, indexes and rules change, a node compacts its database, and a large group is replaced,
//! while clients write at all nodes.

use crate::nodes::{await_voters, cluster, conclude};
use crate::writers::while_written;
use kit::client::Modification;
use kit::process::until;
use kit::{Entry, Pando, SUFFIX};
use protocol::{ResultCode, Scope};

/// Members of a large group in a run of all tests; `PANDO_FAULT_MEMBERS` otherwise.
const MEMBERS: usize = 50_000;
/// Times that it is replaced.
const REPLACEMENTS: usize = 4;

fn three() -> Vec<Pando> {
    let nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    nodes
}

#[test]
fn the_configuration_changes_during_writes() {
    let mut nodes = three();
    while_written(&nodes, || {
        for round in 0..3 {
            let schema = format!(
                "( 1.2.3.4.5.{round} NAME 'shoeSize{round}' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )"
            );
            let walker =
                format!("( 1.2.3.4.6.{round} NAME 'walker{round}' AUXILIARY MAY shoeSize{round} )");
            let name = format!("cn=mine{round},cn=schema,cn=config");
            let attributes: [(&str, &[&str]); 3] = [
                ("objectClass", &["pandoSchema"]),
                ("attributeTypes", &[&schema]),
                ("objectClasses", &[&walker]),
            ];
            add(&nodes[round], &Entry::of(&name, &attributes));
            let type_name = ["employeeNumber", "roomNumber", "carLicense"][round];
            let indexed =
                nodes[(round + 1) % 3].run_on_node(&["index", "add"], &[type_name, "equality"]);
            indexed.expect(0);
            let rule = format!("cn={type_name},cn=rules,cn=config");
            let attributes: [(&str, &[&str]); 2] = [
                ("objectClass", &["pandoUnique"]),
                ("pandoUniqueAttribute", &[type_name]),
            ];
            add(&nodes[(round + 2) % 3], &Entry::of(&rule, &attributes));
            // The new type and the new rule hold at another node.
            let size = format!("shoeSize{round}");
            let class = format!("walker{round}");
            for (number, code) in [
                (0, ResultCode::SUCCESS),
                (1, ResultCode::CONSTRAINT_VIOLATION),
            ] {
                let name = format!("uid=walker{round}{number},{SUFFIX}");
                let attributes: [(&str, &[&str]); 6] = [
                    ("objectClass", &["inetOrgPerson", &class]),
                    ("uid", &[&format!("walker{round}{number}")]),
                    ("cn", &["x"]),
                    ("sn", &["x"]),
                    (&size, &["42"]),
                    (type_name, &["7"]),
                ];
                let entry = Entry::of(&name, &attributes);
                let node = &nodes[round];
                until("the rule at another node", || {
                    let added = node.admin().add(&entry);
                    let is_late = added.code == ResultCode::UNDEFINED_ATTRIBUTE_TYPE
                        || added.code == ResultCode::OBJECT_CLASS_VIOLATION
                        || added.code == ResultCode::INVALID_ATTRIBUTE_SYNTAX
                        || added.code == ResultCode::BUSY;
                    assert!(is_late || added.code == code, "{added}");
                    (!is_late).then_some(())
                });
            }
        }
    });
    conclude(&mut nodes);
}

/// Adds an entry of the configuration; a node may be busy with an index.
fn add(node: &Pando, entry: &Entry) {
    until("a change of the configuration", || {
        let added = node.admin().add(entry);
        let is_late = [ResultCode::BUSY, ResultCode::UNAVAILABLE].contains(&added.code);
        assert!(is_late || added.code == ResultCode::SUCCESS, "{added}");
        (!is_late).then_some(())
    });
}

#[test]
fn a_node_compacts_its_database_during_writes() {
    let mut nodes = three();
    while_written(&nodes, || {
        for node in &nodes[1..] {
            let said = node.run_on_node(&["compact"], &[]);
            assert_eq!(said.status, 0, "{}", said.err);
        }
    });
    // Recovery from the log behind the compaction.
    nodes[1].kill();
    nodes[1].serve();
    while_written(&nodes, || ());
    conclude(&mut nodes);
}

#[test]
fn a_large_group_is_replaced_during_writes() {
    let count = std::env::var("PANDO_FAULT_MEMBERS").ok();
    let count = count.map_or(MEMBERS, |it| it.parse().expect("a number of members"));
    let mut nodes = three();
    let name = format!("cn=all,{SUFFIX}");
    let first: [(&str, &[&str]); 2] = [
        ("objectClass", &["groupOfNames"]),
        ("member", &["uid=x,dc=example,dc=com"]),
    ];
    nodes[0]
        .admin()
        .add(&Entry::of(&name, &first))
        .expect_success();
    let mut random = kit::Random::announced("members of a large group");
    let mut group = |round: usize| -> Vec<String> {
        let member = |_| format!("uid={round}x{:016x},{SUFFIX}", random.number());
        (0..count).map(member).collect()
    };
    let mut last = Vec::new();
    while_written(&nodes, || {
        for round in 0..REPLACEMENTS {
            last = group(round);
            let members: Vec<&str> = last.iter().map(String::as_str).collect();
            let change = Modification::replace("member", &members);
            let done = nodes[round % nodes.len()].admin().modify(&name, &[change]);
            done.expect_success();
        }
    });
    last.sort();
    for node in &nodes {
        until("the last members", || {
            let mut client = node.admin();
            let found = client.search(&name, Scope::BaseObject, "(objectClass=*)", &["member"]);
            let mut members = found.entries.first()?.texts("member");
            members.sort();
            (members == last).then_some(())
        });
    }
    conclude(&mut nodes);
}
