//! Compaction of a served node: clients notice nothing, and the disk regains its room.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kit::client::{Client, Modification};
use kit::process::{Running, until};
use kit::{Disk, EnoughAtEnd, Pando, SUFFIX, people, tools};
use protocol::{DeleteRequest, ExtendedRequest, Request, ResultCode, Scope, oid};
use serde_json::Value;

const PEOPLE: u32 = 1_500;

fn name(number: u32) -> String {
    format!("uid=p{number},{SUFFIX}")
}

/// Adds a group with everybody as members by name, and one by uid with enough values to be stored
/// as links.
fn groups() -> String {
    let of = |values: fn(u32) -> String| (0..PEOPLE).map(values).collect::<String>();
    let members = of(|number| format!("member: {}\n", name(number)));
    let uids = of(|number| format!("memberUid: p{number}\n"));
    format!(
        "dn: cn=names,{SUFFIX}\nobjectClass: groupOfNames\n{members}\n\
         dn: cn=uids,{SUFFIX}\nobjectClass: namedObject\nobjectClass: posixGroup\n\
         gidNumber: 1\n{uids}\n"
    )
}

/// Serves a node that keeps changes, with people of whom most are deleted.
fn with_free_pages() -> Pando {
    let mut pando = Pando::init();
    let settings = pando.node().join("pando.toml");
    let read = fs::read_to_string(&settings).expect("the settings");
    let read = read.replace("#keep_mib = 0", "keep_mib = 64");
    fs::write(&settings, read).expect("written");
    let person = |number: u32| {
        format!(
            "dn: {}\nobjectClass: inetOrgPerson\ncn: p{number}\nsn: Family {number}\n\
             description: {}\n\n",
            name(number),
            "x".repeat(6_000)
        )
    };
    let people: String = (0..PEOPLE).map(person).collect();
    let file = pando.folder.write("people.ldif", people + &groups());
    pando.run_on_node(&["import"], &[&text(&file)]).expect(0);
    pando.serve();
    let mut admin = pando.admin();
    // All requests are sent before the first answer is read, so that they share commits.
    let names: Vec<String> = (200..PEOPLE).map(name).collect();
    let deletions = names.iter().map(|entry| {
        let request = Request::Delete(DeleteRequest { entry });
        admin.send(&request, &[])
    });
    let deletions: Vec<_> = deletions.collect();
    for deletion in deletions {
        let deleted = admin.try_finish(deletion).expect("an answer");
        deleted.outcome.expect_success();
    }
    pando
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn length(pando: &Pando) -> u64 {
    let database = pando.node().join("data/pando.mdb");
    fs::metadata(database).expect("the database").len()
}

fn status(pando: &Pando) -> Value {
    let answer = pando.run_on_node(&["status"], &["--format", "json"]);
    serde_json::from_str(&answer.expect(0).out).expect("JSON")
}

/// Increments one value, with at most one write in flight; `done` counts acknowledged writes.
fn count_up(mut admin: Client, number: u32, enough: &AtomicBool, done: &AtomicU64) {
    while !enough.load(Ordering::Relaxed) {
        let next = done.load(Ordering::Relaxed) + 1;
        let change = Modification::replace("title", &[&next.to_string()]);
        admin.modify(&name(number), &[change]).expect_success();
        done.store(next, Ordering::Relaxed);
        // The acknowledged value is visible, in whichever file.
        let entry = admin.read(&name(number)).expect("it is there");
        assert_eq!(entry.text("title"), next.to_string());
    }
}

/// Adds and removes members of groups; `turns` counts the acknowledged turns.
fn regroup(mut admin: Client, enough: &AtomicBool, turns: &AtomicU64) {
    let (names, uids) = (format!("cn=names,{SUFFIX}"), format!("cn=uids,{SUFFIX}"));
    let member = name(18);
    while !enough.load(Ordering::Relaxed) {
        for change in [Modification::delete, Modification::add] {
            let member = change("member", &[&member]);
            admin.modify(&names, &[member]).expect_success();
            let uid = change("memberUid", &["p1018"]);
            admin.modify(&uids, &[uid]).expect_success();
        }
        turns.fetch_add(1, Ordering::Relaxed);
    }
}

/// Searches repeatedly; each search must find all people.
fn look(mut client: Client, enough: &AtomicBool, looks: &AtomicU64) {
    while !enough.load(Ordering::Relaxed) {
        let found = client.search(SUFFIX, Scope::SingleLevel, "(uid=*)", &["uid"]);
        found.outcome.clone().expect_success();
        assert_eq!(found.entries.len(), 200);
        let found = client.search(SUFFIX, Scope::WholeSubtree, "(uid=p17)", &["description"]);
        assert_eq!(found.only().text("description").len(), 6_000);
        for (group, filter) in [
            ("names", format!("(member={})", name(17))),
            ("uids", "(memberUid=p1017)".to_owned()),
        ] {
            let found = client.search(SUFFIX, Scope::WholeSubtree, &filter, &["cn"]);
            assert_eq!(found.only().text("cn"), group);
        }
        looks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until the old files are closed, without any request.
fn no_deleted_file_is_open(pando: &mut Pando) {
    let files = format!("/proc/{}/fd", pando.process().pid());
    until("no deleted file is open", || {
        let open = fs::read_dir(&files).expect("of a running process");
        let deleted = open.filter_map(|it| fs::read_link(it.ok()?.path()).ok());
        let mut deleted = deleted.filter(|it| it.to_string_lossy().ends_with("(deleted)"));
        deleted.next().is_none().then_some(())
    });
}

#[test]
fn writes_and_searches_go_on_and_the_file_becomes_small() {
    let mut pando = with_free_pages();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let before = length(&pando);
    let enough = AtomicBool::new(false);
    let (done, looks) = ([const { AtomicU64::new(0) }; 3], AtomicU64::new(0));
    let turns = AtomicU64::new(0);
    thread::scope(|scope| {
        let (pando, enough, looks, turns) = (&pando, &enough, &looks, &turns);
        let _ends = EnoughAtEnd(enough);
        for (number, done) in (0_u32..).zip(&done) {
            let admin = pando.admin();
            scope.spawn(move || count_up(admin, number, enough, done));
        }
        let client = pando.admin();
        scope.spawn(move || look(client, enough, looks));
        let admin = pando.admin();
        scope.spawn(move || regroup(admin, enough, turns));
        let count = || done.iter().map(|it| it.load(Ordering::Relaxed)).min();
        for _ in 0..3 {
            let (written, looked) = (count(), looks.load(Ordering::Relaxed));
            let turned = turns.load(Ordering::Relaxed);
            until("clients are at work", || {
                let moved = count() > written.map(|it| it + 3);
                let moved = moved && turns.load(Ordering::Relaxed) > turned;
                (moved && looks.load(Ordering::Relaxed) > looked).then_some(())
            });
            let said = pando.run_on_node(&["compact"], &[]).expect(0);
            assert!(said.out.contains(" instead of "), "{}", said.out);
            assert!(said.err.contains("writes waited for "), "{}", said.err);
        }
    });
    // While clients write, the file keeps pages for the last checkpoint; without them it is small.
    pando.run_on_node(&["compact"], &[]).expect(0);
    assert!(
        length(&pando) < before / 3,
        "{} of {before}",
        length(&pando)
    );
    no_deleted_file_is_open(&mut pando);
    assert!(!pando.node().join("data/compact").exists());
    let shown = status(&pando);
    assert_eq!(shown["compaction"]["state"], "done");
    assert!(shown["compaction"]["pause_us"].as_u64() > Some(0));
    let digest = shown["database"]["digest"].clone();
    let mut admin = pando.admin();
    for (number, done) in (0..).zip(&done) {
        let entry = admin.read(&name(number)).expect("it is there");
        let done = done.load(Ordering::Relaxed);
        assert_eq!(entry.text("title"), done.to_string());
    }
    for (group, attribute, count) in [("names", "member", 200), ("uids", "memberUid", PEOPLE)] {
        let group = admin.read(&format!("cn={group},{SUFFIX}"));
        let values = group.expect("it is there").values(attribute).len();
        assert_eq!(values, count as usize, "{attribute}");
    }
    // Kept changes go on across replacements: the backup made before them leads to this state.
    pando
        .run_on_node(&["backup"], &[&backup, "--incremental"])
        .expect(0);
    let verified = pando.run(&["verify", &backup]).expect(0);
    verified.says(digest.as_str().expect("a digest"));
    pando.stop();
    let checked = pando.run_on_node(&["check"], &[]).expect(0);
    checked.says(digest.as_str().expect("a digest"));
}

#[test]
fn backups_beside_a_compaction_are_whole() {
    let mut pando = with_free_pages();
    let enough = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        let (pando, enough, done) = (&pando, &enough, &done);
        let (admin, node) = (pando.admin(), text(&pando.node()));
        scope.spawn(move || count_up(admin, 3, enough, done));
        let compacting = scope.spawn(move || {
            let mut count = 0;
            while !enough.load(Ordering::Relaxed) {
                tools::run(kit::pando::program(), &["compact", &node], "").expect(0);
                count += 1;
            }
            count
        });
        for round in 0..8 {
            let marker = people::person(&format!("marker{round}"));
            let mut marker = marker.clone();
            marker.name = format!("uid=marker{round},{SUFFIX}");
            pando.admin().add(&marker).expect_success();
            let to = text(&pando.folder.join(&format!("backup{round}")));
            pando.run_on_node(&["backup"], &[&to]).expect(0);
            let verified = pando.run(&["verify", &to]).expect(0);
            verified.says("no problem found");
            let restored = text(&pando.folder.join(&format!("restored{round}")));
            pando.run(&["restore", &to, &restored]).expect(0);
            let found = pando.run(&["export", &restored, &marker.name]).expect(0);
            found.says(&format!("uid: marker{round}"));
        }
        enough.store(true, Ordering::Relaxed);
        assert!(compacting.join().expect("no panic") > 0);
    });
    pando.stop();
    pando.assert_clean();
}

/// Sends several requests at once: the server receives the second while it executes the first.
fn at_once(client: &mut Client, names: &[&str]) -> Vec<ResultCode> {
    let mut ids = Vec::new();
    for name in names {
        let request = Request::Extended(ExtendedRequest { name, value: None });
        ids.push(client.send(&request, &[]));
    }
    let answers = ids.into_iter();
    answers
        .map(|id| client.try_finish(id).expect("an answer").outcome.code)
        .collect()
}

#[test]
fn one_at_a_time_by_the_administrator_and_cancelled_on_request() {
    let mut pando = with_free_pages();
    pando
        .client()
        .extended(oid::COMPACT, None)
        .expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let mut admin = pando.admin();
    admin
        .extended(oid::COMPACT, Some(b"now"))
        .expect(ResultCode::PROTOCOL_ERROR);
    admin
        .extended(oid::CANCEL_COMPACTION, None)
        .expect(ResultCode::NO_SUCH_OPERATION);
    let refused = pando.run_on_node(&["compact"], &["--cancel"]).expect(1);
    refused.says("not being compacted");
    let (root, wanted) = (
        admin.search("", Scope::BaseObject, "(objectClass=*)", &["+"]),
        oid::COMPACT,
    );
    let extensions = root.only().texts("supportedExtension");
    assert!(extensions.iter().any(|it| it == wanted), "{extensions:?}");

    let asked = [oid::COMPACT, oid::COMPACT, oid::CANCEL_COMPACTION];
    let (success, unwilling) = (ResultCode::SUCCESS, ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(at_once(&mut admin, &asked), [success, unwilling, success]);
    let ended = until("it has ended", || {
        let state = status(&pando)["compaction"]["state"].clone();
        ["done", "cancelled"]
            .into_iter()
            .find(|it| state.as_str() == Some(it))
    });
    assert_eq!(ended, "cancelled");
    assert!(!pando.node().join("data/compact").exists());
    assert!(length(&pando) > 8 << 20);

    // A server stopped during compaction stops at once, and the next start removes its files.
    assert_eq!(at_once(&mut admin, &[oid::COMPACT]), [success]);
    assert!(pando.stop().success());
    pando.serve();
    assert!(!pando.node().join("data/compact").exists());
    let url = pando.url();
    let password = pando.folder.write("password", kit::PASSWORD);
    let remote = [
        "compact",
        "--url",
        &url,
        "-D",
        kit::ADMIN,
        "-y",
        &text(&password),
    ];
    pando.run(&remote).expect(0).says(" instead of ");
    assert!(length(&pando) < 4 << 20);
    pando.stop();
    pando.assert_clean();
}

#[test]
fn an_index_is_built_meanwhile_and_finds_everything() {
    let mut pando = with_free_pages();
    let (enough, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let ready = |client: &mut Client, attribute: &str| {
        let index = client.read(&format!("cn={attribute},cn=indexes,cn=config"));
        let state = index.expect("defined").text("pandoIndexState");
        (state == "ready").then_some(())
    };
    thread::scope(|scope| {
        let (pando, enough, done) = (&pando, &enough, &done);
        let admin = pando.admin();
        scope.spawn(move || count_up(admin, 3, enough, done));
        let mut admin = pando.admin();
        for attribute in ["sn", "title", "description"] {
            let mut command = Command::new(kit::pando::program());
            command.arg("compact").arg(pando.node());
            let mut compacting = Running::start("pando compact", &mut command);
            let kinds = "equality,substring";
            pando
                .run_on_node(&["index", "add"], &[attribute, kinds])
                .expect(0);
            assert!(compacting.wait().success(), "{}", compacting.log());
            until("the index is ready", || ready(&mut admin, attribute));
            let found = admin.search(SUFFIX, Scope::WholeSubtree, "(sn=family 19*)", &["1.1"]);
            assert_eq!(found.entries.len(), 11);
        }
        enough.store(true, Ordering::Relaxed);
    });
    pando.stop();
    pando.assert_clean();
}

#[test]
fn without_room_it_is_refused_beforehand() {
    let disk = Disk::new();
    let mut pando = Pando::init_on(&disk);
    pando.serve();
    pando.admin().add(&people::unit("People")).expect_success();
    let answer = pando.run_on_node(&["compact"], &[]);
    // Where the size of files is limited instead, the file system has room.
    if disk.prefix()[0] == "nsenter" {
        answer
            .expect(1)
            .says("not enough space for the compacted copy");
    }
    pando.admin().add(&people::person("ada")).expect_success();
    pando.stop();
    pando.assert_clean();
}
