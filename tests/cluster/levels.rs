//! Format levels: programs of two versions in one cluster, the raise under load, and what an older
//! program does afterwards.

use crate::nodes::{await_voters, free_address, refused, require_equal, status};
use crate::settings::SETTINGS;
use crate::wanderers::{Grove, conclude, pause, wander};
use kit::client::Modification;
use kit::process::until;
use kit::random::Random;
use kit::{Entry, Folder, Pando, SUFFIX};
use protocol::ResultCode;
use serde_json::Value;
use std::time::Duration;

/// Time for which clients work between two steps.
const WHILE: Duration = Duration::from_millis(300);

/// Three nodes with programs that know the first level only.
fn older_cluster() -> Vec<Pando> {
    let mut first = Pando::init_knowing(1);
    let address = ["--address", &free_address()];
    first.run_on_node(&["cluster", "init"], &address).expect(0);
    first.serve();
    let mut nodes = vec![first];
    while nodes.len() < 3 {
        let token = nodes[0].run_on_node(&["cluster", "token"], &[]).expect(0);
        let mut node = Pando::join_knowing(&token.out, &free_address(), 1);
        node.serve();
        nodes.push(node);
    }
    await_voters(&nodes[0], 3);
    nodes
}

/// Exchanges the program of a node.
fn exchange(nodes: &mut [Pando], grove: &Grove, number: usize) {
    let node = &mut nodes[number];
    assert!(node.stop().success());
    node.know_levels_up_to(None);
    node.serve();
    grove.moved(number, node.address());
    pause(WHILE);
}

/// Raises the level by a node, while clients work, and has an older program try to follow.
fn raise(nodes: &mut [Pando], grove: &Grove) {
    let upgrade = |node: &Pando| node.run_on_node(&["cluster", "upgrade"], &[]);
    refused(upgrade(&nodes[1]), 1, "the format level is 1, the highest");
    exchange(nodes, grove, 0);
    // An older program would not know the attribute.
    let change = [Modification::add("pandoRequire", &["authc"])];
    let early = nodes[0].admin().modify("cn=config", &change);
    assert_eq!(early.code, ResultCode::UNWILLING_TO_PERFORM, "{early}");
    for setting in [
        "scram_verifiers = none",
        "rehash_on_bind = true",
        "allow_des = true",
    ] {
        let text = format!("passwords.{setting}");
        let change = [Modification::add("pandoSetting", &[&text])];
        let early = nodes[0].admin().modify(SETTINGS, &change);
        assert_eq!(early.code, ResultCode::CONSTRAINT_VIOLATION, "{early}");
    }
    let rules = "rule a\non everything\nlet users read\n";
    nodes[0].folder.write("rules", rules);
    let early = nodes[0].run_on_node(&["access", "shadow"], &["rules"]);
    refused(early, 1, "pandoCandidate");
    exchange(nodes, grove, 1);
    let third = nodes[2].run_on_node(&["cluster", "upgrade"], &[]);
    refused(third, 1, "the highest that the programs");
    let early = upgrade(&nodes[0]);
    refused(early, 1, "expected programs that execute format level 3");
    let said = nodes[1].run_on_node(&["cluster", "status"], &[]);
    said.expect(0).says("1; 2 of 3 nodes know 3");
    exchange(nodes, grove, 2);
    upgrade(&nodes[0]).expect(0).says("has format level 3");
    await_level(nodes, 3);
    pause(WHILE);
    // Killed: its own log has the record that raised the level, or its database the row.
    nodes[1].kill();
    nodes[1].know_levels_up_to(Some(1));
    cannot_serve(&nodes[1]);
    pause(WHILE);
    nodes[1].know_levels_up_to(None);
    nodes[1].serve();
    grove.moved(1, nodes[1].address());
    refused(upgrade(&nodes[2]), 1, "the format level is 3, the highest");
}

/// The program of a node ends with the way out.
fn cannot_serve(node: &Pando) {
    let listen = ["--listen", "ldap://127.0.0.1:0"];
    let late = node.run_on_node(&["serve"], &listen).expect(1);
    let mut lines = late.err.lines();
    let last = lines.rfind(|it| it.contains("found 3: install a newer pando"));
    assert!(last.is_some_and(|it| it.starts_with("pando: ")), "{late:?}");
}

/// Waits until every node executes at a level.
fn await_level(nodes: &[Pando], level: u64) {
    until("the level on all nodes", || {
        let said = status(&nodes[0]);
        let nodes = said["nodes"].as_array()?;
        let has = |it: &Value| it["format_level"] == level && it["format_level_max"] == 3;
        nodes.iter().all(has).then_some(())
    });
}

#[test]
fn the_level_is_raised_under_load_when_every_node_knows_it() {
    let mut random = Random::announced("a raise of the level");
    let mut nodes = older_cluster();
    let history = wander(&mut nodes, &mut random, |nodes, grove, _| {
        raise(nodes, grove);
        pause(WHILE);
    });
    change_texts(&nodes);
    joins_with_a_newer_program(&nodes[0]);
    conclude(&mut nodes, &history);
}

/// Changes members that name no entry until the nodes have compared digests at the new level.
fn change_texts(nodes: &[Pando]) {
    let group = format!("cn=nobody,{SUFFIX}");
    let mut clients: Vec<_> = nodes.iter().map(Pando::admin).collect();
    let member = |number: usize| format!("uid=nobody{number},{SUFFIX}");
    let attributes: [(&str, &[&str]); 2] = [
        ("objectClass", &["groupOfNames"]),
        ("member", &[&member(0)]),
    ];
    clients[0]
        .add(&Entry::of(&group, &attributes))
        .expect_success();
    require_equal(nodes);
    let begun = digest_position(&nodes[0]);
    for number in 1.. {
        let change = Modification::replace("member", &[&member(number)]);
        let client = &mut clients[number % nodes.len()];
        client.modify(&group, &[change]).expect_success();
        if number.is_multiple_of(200) && digest_position(&nodes[0]) > begun {
            break;
        }
    }
    until("equal digests", || {
        let said = status(&nodes[0]);
        let mut nodes = said["nodes"].as_array()?.iter();
        let position = said["nodes"][0]["digest_position"].as_u64();
        let is_equal =
            |it: &Value| it["equality"] == "equal" && it["digest_position"].as_u64() == position;
        nodes.all(is_equal).then_some(())
    });
}

fn digest_position(node: &Pando) -> u64 {
    let said = status(node);
    said["nodes"][0]["digest_position"]
        .as_u64()
        .expect("a position")
}

/// A node of an older program is not taken in, and the token serves afterwards.
fn joins_with_a_newer_program(first: &Pando) {
    let line = first.run_on_node(&["cluster", "token"], &[]).expect(0).out;
    let words = line.trim().trim_start_matches("pando cluster join DIR ");
    let folder = Folder::new();
    let dir = folder.join("node");
    let dir = dir.to_string_lossy();
    let mut args = vec!["cluster", "join", &dir];
    args.extend(words.split(' '));
    let older = Pando::init_knowing(1);
    refused(older.run(&args), 1, "the cluster has format level 3");
    assert!(!folder.join("node").exists(), "nothing is touched");
    let mut node = Pando::join(&line, &free_address());
    node.serve();
    require_equal(std::slice::from_ref(&node));
    let left = node.run_on_node(&["cluster", "leave"], &[]);
    left.expect(0);
    node.wait_for_end();
}

#[test]
fn a_node_alone_is_raised_at_its_start() {
    let mut node = Pando::init_knowing(1);
    node.serve();
    node.stop();
    node.know_levels_up_to(None);
    node.serve();
    let add = |node: &Pando, name: &str| {
        let attributes: [(&str, &[&str]); 1] = [("objectClass", &["applicationProcess"])];
        let added = node.admin().add(&Entry::of(name, &attributes));
        added.expect_success();
    };
    let name = format!("cn=one,{SUFFIX}");
    add(&node, &name);
    let log = node.process().log();
    assert!(
        log.contains("format level of the database was raised"),
        "{log}"
    );
    node.kill();
    // What an older program meets is the record in the log; then, after a clean end, the row.
    node.know_levels_up_to(Some(1));
    cannot_serve(&node);
    node.know_levels_up_to(None);
    node.serve();
    assert!(node.admin().read(&name).is_some());
    node.stop();
    node.know_levels_up_to(Some(1));
    cannot_serve(&node);
    refused(
        node.run_on_node(&["export"], &[]),
        1,
        "install a newer pando",
    );
    node.know_levels_up_to(None);
    node.assert_clean();
    node.serve();
    let log = node.process().log();
    assert!(!log.contains("was raised"), "raised once: {log}");
}

/// An older program makes nothing of a newer folder that it could not serve afterwards.
#[test]
fn an_older_program_makes_no_cluster_of_a_newer_folder() {
    let mut node = Pando::init();
    let address = ["--address", &free_address()];
    let init = |node: &Pando| node.run_on_node(&["cluster", "init"], &address);
    node.know_levels_up_to(Some(1));
    refused(init(&node), 1, "expected a format level from 1 to 1");
    node.know_levels_up_to(None);
    init(&node).expect(0);
    node.serve();
    node.stop();
    let recover = |node: &Pando| node.run_on_node(&["cluster", "recover"], &[]);
    node.know_levels_up_to(Some(1));
    refused(recover(&node), 1, "expected a format level from 1 to 1");
    node.know_levels_up_to(None);
    node.serve();
    assert_eq!(status(&node)["generation"], 1);
}
