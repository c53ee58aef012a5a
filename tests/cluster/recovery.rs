//! A cluster that has lost most of its voters goes on in another generation.

use crate::nodes::{
    add_when_possible, await_voters, cluster, free_address, joined, refused, require_equal, status,
    write,
};
use kit::{Folder, Pando, SUFFIX};

/// Every name that was added is there.
fn require(node: &Pando, names: &[String]) {
    let mut client = node.admin();
    for name in names {
        assert!(client.read(name).is_some(), "{name} was acknowledged");
    }
}

#[test]
fn a_survivor_begins_another_generation() {
    let mut nodes = cluster(3);
    await_voters(&nodes[2], 3);
    let mut names = write(&mut nodes[0].admin(), 1);
    require_equal(&nodes);
    let mut survivor = nodes.remove(2);
    // Nothing is to be recovered while the log works.
    survivor.stop();
    let early = survivor.run_on_node(&["cluster", "recover"], &[]);
    refused(early, 1, "has not lost its log");
    survivor.serve();
    // Two of three machines are lost; one of them comes back later.
    for node in &mut nodes {
        node.kill_with_etcd();
    }
    assert!(survivor.admin().read(SUFFIX).is_some(), "reads go on");
    let served = survivor.run_on_node(&["cluster", "recover"], &[]);
    refused(served, 1, "stop its server");
    survivor.kill();
    let silent = survivor.run_on_node(&["cluster", "recover"], &[]);
    refused(silent, 1, "--lose-silent");
    let said = survivor.run_on_node(&["cluster", "recover"], &["--lose-silent"]);
    let line = said.expect(0).says("first node of generation 2").out;
    survivor.serve();
    require(&survivor, &names);
    names.push(add_when_possible(&survivor, "anew"));
    assert_eq!(status(&survivor)["generation"], 2);
    let mut second = Pando::join(&line, &free_address());
    second.serve();
    let mut all = vec![survivor, second];
    all.push(joined(&all[0]));
    await_voters(&all[0], 3);
    names.extend(write(&mut all[2].admin(), 2));
    require_equal(&all);
    for node in &mut all {
        require(node, &names);
        node.stop();
        node.assert_clean();
    }
}

#[test]
fn a_node_of_an_earlier_generation_is_not_served() {
    let mut nodes = cluster(2);
    let names = write(&mut nodes[1].admin(), 1);
    require_equal(&nodes);
    nodes[0].kill_with_etcd();
    nodes[1].stop();
    let said = nodes[1].run_on_node(&["cluster", "recover"], &["--lose-silent"]);
    said.expect(0);
    nodes[1].serve();
    let late = nodes[0].run_on_node(&["serve"], &["--listen", "ldap://127.0.0.1:0"]);
    refused(late, 1, "has begun generation 2");
    require(&nodes[1], &names);
    nodes[1].stop();
}

#[test]
fn a_restored_backup_is_the_first_node_of_a_new_cluster() {
    let nodes = cluster(2);
    let names = write(&mut nodes[1].admin(), 1);
    let folder = Folder::new();
    let backup = folder.join("backup").to_string_lossy().into_owned();
    nodes[1].run_on_node(&["backup"], &[&backup]).expect(0);
    drop(nodes);
    let mut restored = Pando::restore(&backup);
    let address = free_address();
    restored
        .run_on_node(&["cluster", "init"], &["--address", &address])
        .expect(0);
    restored.serve();
    require(&restored, &names);
    add_when_possible(&restored, "after");
    let all = [joined(&restored), restored];
    require_equal(&all);
}
