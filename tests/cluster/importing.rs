//! An import into a stopped node begins another generation, whose state the other nodes take by
//! themselves.

use crate::nodes::{
    add_when_possible, await_voters, cluster, conclude, content, refused, require_equal, status,
};
use crate::wanderers::pause;
use kit::process::until;
use kit::random::Random;
use kit::{Client, Pando, SUFFIX, people};
use protocol::ResultCode;
use std::fs;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A file of this many people, whose names begin with a word.
pub fn file_of(node: &Pando, word: &str, count: usize) -> String {
    let people = (0..count).map(|number| {
        let mut person = people::person(&format!("{word}{number}"));
        person.name = format!("uid={word}{number},{SUFFIX}");
        kit::ldif::print(&person)
    });
    let file = node.folder.join(&format!("{word}.ldif"));
    fs::write(&file, people.collect::<Vec<_>>().join("\n")).expect("our own folder");
    file.to_string_lossy().into_owned()
}

/// Waits until a node that is served belongs to a generation.
pub fn await_generation(node: &Pando, generation: u64) {
    until(&format!("generation {generation}"), || {
        (status(node)["generation"] == generation).then_some(())
    });
}

/// Waits until a node listens that was served anew, perhaps more than once.
fn await_last_address(node: &mut Pando) {
    loop {
        node.await_address();
        if TcpStream::connect(node.address()).is_ok() {
            return;
        }
    }
}

/// Every name that was added is there.
fn require_names(nodes: &[Pando], names: &[String]) {
    for node in nodes {
        let mut client = node.admin();
        for name in names {
            assert!(client.read(name).is_some(), "{name} was acknowledged");
        }
    }
}

/// Adds people until it is told to stop. Returns the names of those that were
/// acknowledged, and whether a write was refused because of an import.
fn add_until(mut client: Client, word: &str, ended: &AtomicBool) -> (Vec<String>, bool) {
    let (mut added, mut refused) = (Vec::new(), false);
    for number in 0.. {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let mut person = people::person(&format!("{word}{number}"));
        person.name = format!("uid={word}{number},{SUFFIX}");
        let answer = client.add(&person);
        match answer.code {
            ResultCode::SUCCESS => added.push(person.name),
            code => {
                assert_eq!(code, ResultCode::UNAVAILABLE, "{}", answer.diagnostic);
                refused |= answer.diagnostic.contains("begins another generation");
            }
        }
    }
    (added, refused)
}

#[test]
fn the_others_take_what_was_imported_into_one() {
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    let file = file_of(&nodes[1], "imported", 300);
    nodes[1].stop();
    // The third is away, and lacks what comes now.
    nodes[2].stop();
    nodes[2].serve();
    let plain = nodes[1].run_on_node(&["import"], &[&file]);
    refused(plain, 1, "--new-generation");
    let ended = AtomicBool::new(false);
    let (mut names, was_refused) = std::thread::scope(|scope| {
        let client = nodes[0].admin();
        let adding = scope.spawn(|| add_until(client, "meanwhile", &ended));
        until("writes", || {
            (content(&mut nodes[2].admin()).len() > 20).then_some(())
        });
        let said = nodes[1].run_on_node(&["import"], &[&file, "--new-generation"]);
        said.expect(0)
            .says("every write of its cluster")
            .says("300 entries imported")
            .says("generation 2 of the cluster begins with");
        until("a refusal", || {
            let added = nodes[2].admin().add(&people::person("late"));
            (added.code == ResultCode::UNAVAILABLE).then_some(())
        });
        ended.store(true, Ordering::Relaxed);
        adding.join().expect("the writer")
    });
    assert!(was_refused, "a write came after the log was closed");
    // One is served meanwhile, and begins anew; the other is started later.
    nodes[2].stop();
    nodes[1].serve();
    await_generation(&nodes[1], 2);
    nodes[0].await_address();
    await_generation(&nodes[0], 2);
    nodes[2].serve();
    await_generation(&nodes[2], 2);
    nodes.iter().for_each(|it| await_voters(it, 3));
    for (number, node) in nodes.iter().enumerate() {
        names.push(add_when_possible(node, &format!("afterwards{number}")));
    }
    require_equal(&nodes);
    names.extend((0..300).map(|number| format!("uid=imported{number},{SUFFIX}")));
    require_names(&nodes, &names);
    for node in [&nodes[0], &nodes[2]] {
        assert!(
            node.node().join("data.before-2").exists(),
            "the former state is kept"
        );
    }
    conclude(&mut nodes);
}

/// Makes a pipe in the folder of a node, so that an import from it waits.
fn pipe_of(node: &Pando) -> String {
    let pipe = node.folder.join("pipe").to_string_lossy().into_owned();
    // One of an import before may be there.
    fs::remove_file(&pipe).ok();
    kit::tools::run("mkfifo", &[&pipe], "").expect(0);
    pipe
}

/// Begins an import into a stopped node that waits for its input, and kills it.
fn kill_an_import(node: &Pando) {
    let pipe = pipe_of(node);
    let mut import = node.begin_on_node("import", &[&pipe, "--new-generation"]);
    import.wait_for("a closed log", |line| {
        line.contains("every write of its cluster").then_some(())
    });
    import.kill();
}

/// Waits until a node refuses writes because of an import.
fn await_refusal(node: &Pando) {
    until("a refusal", || {
        let added = node.admin().add(&people::person("late"));
        let is_closed = added.diagnostic.contains("begins another generation");
        (added.code == ResultCode::UNAVAILABLE && is_closed).then_some(())
    });
}

#[test]
fn a_killed_import_leaves_the_former_generation() {
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    let mut names = vec![add_when_possible(&nodes[0], "before")];
    nodes[0].stop();
    kill_an_import(&nodes[0]);
    await_refusal(&nodes[1]);
    // One more node starts meanwhile; reads go on.
    nodes[2].stop();
    nodes[2].serve();
    await_refusal(&nodes[2]);
    require_names(&nodes[1..], &names);
    nodes[0].serve();
    nodes[1].await_address();
    for (number, node) in nodes.iter().enumerate() {
        names.push(add_when_possible(node, &format!("after{number}")));
    }
    assert_eq!(status(&nodes[1])["generation"], 1);
    require_equal(&nodes);
    // The same node begins the generation later, after having been killed once more.
    let file = file_of(&nodes[0], "imported", 50);
    nodes[0].stop();
    kill_an_import(&nodes[0]);
    let said = nodes[0].run_on_node(&["import"], &[&file, "--new-generation"]);
    said.expect(0).says("50 entries imported");
    nodes[0].serve();
    for node in &mut nodes[1..] {
        node.await_address();
        await_generation(node, 2);
        names.push(add_when_possible(
            node,
            &format!("node{}", node.address().port()),
        ));
    }
    names.push(format!("uid=imported49,{SUFFIX}"));
    require_equal(&nodes);
    require_names(&nodes, &names);
    nodes.iter().for_each(|it| await_voters(it, 3));
    conclude(&mut nodes);
}

#[test]
fn a_cluster_goes_on_without_a_node_that_died_in_an_import() {
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    let mut dead = nodes.remove(2);
    let file = file_of(&dead, "imported", 20);
    dead.stop();
    let said = dead.run_on_node(&["import"], &[&file, "--new-generation"]);
    said.expect(0);
    await_refusal(&nodes[0]);
    // The log works, so that nothing is to be recovered.
    nodes[1].stop();
    let early = nodes[1].run_on_node(&["cluster", "recover"], &["--lose-silent"]);
    refused(early, 1, "is closed by an import");
    nodes[1].serve();
    let all = status(&nodes[0]);
    let address = all["nodes"].as_array().expect("nodes").iter();
    let is_dead = |it: &&serde_json::Value| it["trouble"].is_null() && it["position"].is_null();
    let address = address
        .filter(is_dead)
        .find_map(|it| it["address"].as_str());
    let address = address.unwrap_or_else(|| panic!("a node that does not answer: {all}"));
    nodes[0]
        .run_on_node(&["cluster", "remove"], &[address])
        .expect(0);
    nodes[0].await_address();
    let names = [
        add_when_possible(&nodes[0], "on0"),
        add_when_possible(&nodes[1], "on1"),
    ];
    // What was imported belongs to no generation any more.
    dead.serve_in_vain().expect(1).says("was given up");
    require_equal(&nodes);
    require_names(&nodes, &names);
    assert!(
        nodes[0]
            .admin()
            .read(&format!("uid=imported1,{SUFFIX}"))
            .is_none()
    );
    conclude(&mut nodes);
}

/// The imported node runs the only voter.
#[test]
fn the_first_of_two_nodes_begins_a_generation() {
    let mut nodes = cluster(2);
    let mut names = vec![add_when_possible(&nodes[1], "before")];
    nodes[0].stop();
    // Nothing is changed if the import cannot be done.
    let missing = nodes[0].run_on_node(&["import"], &["none.ldif", "--new-generation"]);
    refused(missing, 1, "none.ldif");
    let damaged = nodes[0].folder.join("damaged.gz");
    fs::write(&damaged, [0x1f, 0x8b, 8, 0, 0, 0]).expect("our own folder");
    let damaged = damaged.to_string_lossy().into_owned();
    let failed = nodes[0].run_on_node(&["import"], &[&damaged, "--new-generation"]);
    failed.expect(1).says("go on without the import");
    nodes[0].serve();
    nodes[1].await_address();
    names.push(add_when_possible(&nodes[1], "between"));
    let file = file_of(&nodes[0], "imported", 20);
    nodes[0].stop();
    // Served meanwhile, it is said that it cannot be imported into.
    let served = nodes[1].run_on_node(&["import"], &[&file, "--new-generation"]);
    refused(served, 1, "stop its server");
    let said = nodes[0].run_on_node(&["import"], &[&file, "--new-generation"]);
    said.expect(0);
    nodes[0].serve();
    nodes[1].await_address();
    names.push(add_when_possible(&nodes[1], "after"));
    names.push(format!("uid=imported19,{SUFFIX}"));
    require_equal(&nodes);
    require_names(&nodes, &names);
    assert!(nodes[1].node().join("data.before-2").exists());
    conclude(&mut nodes);
}

/// The start that begins the generation is killed at any moment, and given again.
#[test]
fn a_killed_start_begins_the_generation_later() {
    let mut nodes = cluster(3);
    nodes.iter().for_each(|it| await_voters(it, 3));
    let mut names = vec![add_when_possible(&nodes[1], "before")];
    let file = file_of(&nodes[0], "imported", 20);
    nodes[0].stop();
    let said = nodes[0].run_on_node(&["import"], &[&file, "--new-generation"]);
    said.expect(0);
    let mut random = Random::announced("a start that is killed");
    for _ in 0..8 {
        let mut start = nodes[0].begin_on_node("serve", &["--listen", "ldap://127.0.0.1:0"]);
        pause(Duration::from_millis(random.below(900)));
        start.kill();
    }
    nodes[0].serve();
    for node in &mut nodes[1..] {
        await_generation(node, 2);
        await_last_address(node);
        let uid = format!("node{}", node.address().port());
        names.push(add_when_possible(node, &uid));
    }
    names.push(format!("uid=imported19,{SUFFIX}"));
    require_equal(&nodes);
    require_names(&nodes, &names);
    conclude(&mut nodes);
}
