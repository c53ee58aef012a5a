//! Settings that all nodes of a cluster share: they stand in the directory, and hold on all nodes
//! from one position of the log.

use crate::nodes::{cluster, free_address, joined, refused, require_equal};
use kit::client::{Entry, Modification};
use kit::process::{Running, until};
use kit::{Client, Pando, SUFFIX, people};
use protocol::{ResultCode, Scope};
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

const SETTINGS: &str = "cn=settings,cn=config";
/// A file with settings of both kinds.
const FILE: &str = "[log]\nlevel = \"info\"\n[limits]\nsize_entries_max = 3\n\
                    [dynamic_entries]\nttl_default_s = 77\n\
                    [passwords]\nscheme = \"{SSHA}\"\nremembered_s = 7\n";
/// The file after the shared settings have moved.
const FILE_AFTER: &str = "[log]\nlevel = \"info\"\n[limits]\n#size_entries_max = 3\n\
                          [dynamic_entries]\n#ttl_default_s = 77\n\
                          [passwords]\n#scheme = \"{SSHA}\"\nremembered_s = 7\n";

/// A person below the base entry with a password in clear text.
fn person(uid: &str) -> Entry {
    let mut person = people::person(uid);
    person.name = format!("uid={uid},{SUFFIX}");
    person.push("userPassword", format!("secret of {uid}").into_bytes());
    person
}

/// A person that was added.
struct Added {
    name: String,
    /// Whether its add began when its node had the changed setting.
    is_later: bool,
}

/// The scheme under which an entry's password is stored.
fn scheme(client: &mut Client, name: &str) -> String {
    let found = client.search(
        name,
        Scope::BaseObject,
        "(objectClass=*)",
        &["userPassword"],
    );
    let stored = found.only().text("userPassword").to_owned();
    let end = stored.find('}').expect("a scheme") + 1;
    stored[..end].to_owned()
}

/// A change of one setting.
fn exchanged(old: &str, new: &str) -> [Modification; 2] {
    [
        Modification::delete("pandoSetting", &[old]),
        Modification::add("pandoSetting", &[new]),
    ]
}

fn has_setting(node: &Pando, text: &str) -> bool {
    let entry = node.admin().read(SETTINGS).expect("the settings");
    entry.texts("pandoSetting").iter().any(|it| it == text)
}

#[test]
fn they_move_to_the_directory_and_hold_on_all_nodes() {
    let mut first = Pando::init();
    let file = first.node().join("pando.toml");
    fs::write(&file, FILE).expect("our own folder");
    first
        .run_on_node(&["cluster", "init"], &["--address", &free_address()])
        .expect(0)
        .says("limits.size_entries_max, dynamic_entries.ttl_default_s, passwords.scheme");
    assert_eq!(fs::read_to_string(&file).expect("it stays"), FILE_AFTER);
    first.serve();
    let second = joined(&first);
    let mut admin = second.admin();
    for number in 0..5 {
        admin.add(&person(&format!("p{number}"))).expect_success();
    }
    let ada = format!("uid=p0,{SUFFIX}");
    assert_eq!(scheme(&mut admin, &ada), "{SSHA}");
    let meeting = Entry::of(
        &format!("cn=meeting,{SUFFIX}"),
        &[
            ("objectClass", &["device", "dynamicObject"]),
            ("cn", &["meeting"]),
        ],
    );
    admin.add(&meeting).expect_success();
    let found = admin.search(
        &meeting.name,
        Scope::BaseObject,
        "(objectClass=*)",
        &["entryTtl"],
    );
    let ttl_s: u32 = found.only().text("entryTtl").parse().expect("a number");
    assert!((1..=77).contains(&ttl_s), "{ttl_s}");

    // The limit holds for subjects that bind, changed at any node.
    let search = |node: &Pando| {
        let mut client = node.client();
        client.bind(&ada, "secret of p0").expect_success();
        let found = client.search(SUFFIX, Scope::WholeSubtree, "(uid=*)", &["1.1"]);
        (found.outcome.code, found.entries.len())
    };
    let limited = (ResultCode::SIZE_LIMIT_EXCEEDED, 3);
    assert_eq!(search(&second), limited);
    let change = exchanged("limits.size_entries_max = 3", "limits.size_entries_max = 4");
    let mut first_admin = first.admin();
    first_admin.modify(SETTINGS, &change).expect_success();
    // Each kind of subject has its own.
    assert_eq!(search(&first), (ResultCode::SIZE_LIMIT_EXCEEDED, 4));
    until("the limit at the other node", || {
        has_setting(&second, "limits.size_entries_max = 4").then_some(())
    });
    assert_eq!(search(&second), (ResultCode::SIZE_LIMIT_EXCEEDED, 4));

    // What cannot be is refused by all nodes alike, and changes nothing.
    let wrong = exchanged("passwords.scheme = {SSHA}", "passwords.scheme = {ROT13}");
    let answer = first_admin.modify(SETTINGS, &wrong);
    assert_eq!(answer.code, ResultCode::CONSTRAINT_VIOLATION, "{answer:?}");
    assert!(
        answer
            .diagnostic
            .contains("cn=settings,cn=config: passwords.scheme"),
        "{answer:?}"
    );
    require_equal(&[first, second]);
}

#[test]
fn a_change_holds_on_all_nodes_from_one_position() {
    let nodes = cluster(2);
    let change = |old: &str, new: &str| {
        let (old, new) = (
            format!("passwords.scheme = {old}"),
            format!("passwords.scheme = {new}"),
        );
        let changed = nodes[1].admin().modify(SETTINGS, &exchanged(&old, &new));
        changed.expect_success();
    };
    change("{ARGON2ID}", "{SSHA}");
    until("the first scheme", || {
        has_setting(&nodes[0], "passwords.scheme = {SSHA}").then_some(())
    });
    let (is_known, ends) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let write = |name: String, mut client: Client| {
        let mut added = Vec::new();
        while !ends.load(Ordering::Acquire) {
            let is_later = is_known.load(Ordering::Acquire);
            let person = person(&format!("{name}n{}", added.len()));
            client.add(&person).expect_success();
            added.push(Added {
                name: person.name,
                is_later,
            });
        }
        added
    };
    let added: Vec<Added> = std::thread::scope(|scope| {
        let writers = [0, 1].map(|it| {
            let (name, client) = (format!("w{it}"), nodes[it].admin());
            scope.spawn(move || write(name, client))
        });
        let mut watcher = nodes[0].admin();
        let mut await_more = |count: usize| {
            until("more people", || {
                let found = watcher.search(SUFFIX, Scope::WholeSubtree, "(uid=*)", &["1.1"]);
                (found.entries.len() >= count).then_some(())
            });
        };
        await_more(50);
        change("{SSHA}", "{SSHA512}");
        until("the setting at the other node", || {
            has_setting(&nodes[0], "passwords.scheme = {SSHA512}").then_some(())
        });
        is_known.store(true, Ordering::Release);
        await_more(150);
        ends.store(true, Ordering::Release);
        let added = writers.map(|it| it.join().expect("written"));
        added.into_iter().flatten().collect()
    });
    require_equal(&nodes);
    let (before, later) = judged(&mut nodes[0].admin(), &added);
    assert!(before > 0 && later > 0, "{before} before, {later} later");
}

/// Requires of each person the scheme that was in force. Returns the numbers of those who were
/// added before the change, and of those whose add began after it.
fn judged(client: &mut Client, added: &[Added]) -> (usize, usize) {
    let csn = |client: &mut Client, name: &str| {
        let found = client.search(name, Scope::BaseObject, "(objectClass=*)", &["entryCSN"]);
        found.only().text("entryCSN").to_owned()
    };
    let changed = csn(client, SETTINGS);
    let (mut before, mut later) = (0, 0);
    for Added { name, is_later } in added {
        let scheme = scheme(client, name);
        if csn(client, name) < changed {
            before += 1;
            assert_eq!(scheme, "{SSHA}", "{name} is before the change");
        }
        if *is_later {
            later += 1;
            assert_eq!(scheme, "{SSHA512}", "{name} began after the change");
        }
    }
    (before, later)
}

#[test]
fn a_file_that_names_one_is_refused_with_its_line() {
    let mut node = Pando::init();
    let file = node.node().join("pando.toml");
    let beside = "[passwords]\nremembered_s = 7\n\n[limits]\ntime_s_max = 9\n";
    let line = "pando.toml:5: limits.time_s_max: expected no such setting on a node of a cluster";
    // A line that cannot move is told before anything is touched.
    fs::write(
        &file,
        "limits = { time_s_max = 9 }\npasswords = { scheme = \"{SSHA}\", remembered_s = 7 }\n",
    )
    .expect("our own folder");
    let init = ["--address", &free_address()];
    refused(
        node.run_on_node(&["cluster", "init"], &init),
        2,
        "pando.toml:1: limits.time_s_max: expected a setting that moves to the directory on lines \
         of its own",
    );
    assert!(!node.node().join("cluster").exists());
    fs::write(&file, "").expect("our own folder");
    node.run_on_node(&["cluster", "init"], &init).expect(0);
    node.serve();
    fs::write(&file, beside).expect("our own folder");
    refused(node.run_on_node(&["reload"], &[]), 1, line);
    node.stop();
    let mut command = Command::new(kit::pando::program());
    let listen = ["--listen", "ldap://127.0.0.1:0"];
    command.arg("serve").arg(node.node()).args(listen);
    let mut serving = Running::start("pando", &mut command);
    serving.wait_for("the refusal", |it| it.contains(line).then_some(()));
    assert_eq!(serving.wait().code(), Some(2));
}

#[test]
fn a_new_cluster_of_a_former_node_keeps_those_of_the_cluster() {
    let mut node = Pando::init();
    let init = ["--address", &free_address()];
    node.run_on_node(&["cluster", "init"], &init).expect(0);
    node.serve();
    let change = exchanged("limits.time_s_max = 60", "limits.time_s_max = 61");
    node.admin().modify(SETTINGS, &change).expect_success();
    let backup = node.folder.join("backup").to_string_lossy().into_owned();
    node.run_on_node(&["backup"], &[&backup]).expect(0);
    node.stop();
    let mut restored = Pando::restore(&backup);
    let file = restored.node().join("pando.toml");
    fs::write(&file, "limits.size_entries_max = 9\n").expect("our own folder");
    restored.run_on_node(&["cluster", "init"], &init).expect(0);
    restored.serve();
    assert!(has_setting(&restored, "limits.time_s_max = 61"));
    assert!(has_setting(&restored, "limits.size_entries_max = 9"));
    restored.stop();
}
