//! A full disk: writes are refused with a clear code, reads go on, and writes work again with room.

use kit::process::until;
use kit::{Client, Disk, Entry, Outcome, Pando, SUFFIX, people, tools};
use protocol::{ResultCode, Scope};

/// Returns a person with 8 KB of text, so that a small disk is soon full.
fn large(number: usize) -> Entry {
    let mut person = people::person(&format!("large{number}"));
    person.name = format!("uid=large{number},{SUFFIX}");
    person.push("description", vec![b'x'; 8000]);
    person
}

fn names(client: &mut Client) -> Vec<String> {
    let found = client.search(SUFFIX, Scope::SingleLevel, "(objectClass=person)", &["1.1"]);
    found.outcome.clone().expect_success();
    found.names()
}

fn assert_refused_clearly(outcome: &Outcome) {
    assert!(outcome.code == ResultCode::UNAVAILABLE, "{outcome:?}");
    assert!(outcome.diagnostic.contains("space"), "{outcome:?}");
}

#[test]
fn writes_stop_and_resume_reads_go_on() {
    let mut disk = Disk::new();
    let mut pando = Pando::init_on(&disk);
    pando.serve();
    let mut client = pando.admin();

    let mut acknowledged = 0;
    let refusal = loop {
        let outcome = client.add(&large(acknowledged));
        if outcome.code != ResultCode::SUCCESS {
            break outcome;
        }
        acknowledged += 1;
        assert!(acknowledged < 100_000, "the small disk never fills");
    };
    assert_refused_clearly(&refusal);
    assert!(acknowledged > 100, "only {acknowledged} entries fit");

    // Refused writes change nothing, on this connection or another.
    for number in acknowledged..acknowledged + 20 {
        let mut other = pando.admin();
        assert_refused_clearly(&other.add(&large(number)));
        assert_eq!(names(&mut other).len(), acknowledged);
    }
    let one = format!("uid=large{},{SUFFIX}", acknowledged / 2);
    let entry = client.read(&one).expect("acknowledged");
    assert_eq!(entry.values("description")[0].len(), 8000);

    let pid = pando.process().pid();
    disk.make_room(pid);
    until("writes resume", || {
        (client.add(&large(acknowledged)).code == ResultCode::SUCCESS).then_some(())
    });
    assert_eq!(names(&mut client).len(), acknowledged + 1);

    pando.stop();
    pando.assert_clean();
    pando.serve();
    let mut client = pando.admin();
    assert_eq!(names(&mut client).len(), acknowledged + 1);
    client.delete(&one).expect_success();
    pando.stop();
    pando.assert_clean();
}

/// The log gets one line a minute, however many updates are refused, and a few megabytes suffice to
/// go on.
#[test]
fn little_room_is_enough_and_the_log_stays_short() {
    let disk = Disk::of(120);
    if !disk.has_an_end() {
        return;
    }
    let mut pando = Pando::init_on(&disk);
    pando.serve();
    let mut client = pando.admin();
    let mut number = 0;
    loop {
        if client.add(&large(number)).code != ResultCode::SUCCESS {
            break;
        }
        number += 1;
    }
    for _ in 0..50 {
        assert_refused_clearly(&client.add(&large(number)));
    }
    let log = pando.process().log();
    assert_eq!(log.matches("no space left").count(), 1, "{log}");
    // Three of the filler's 16 MB are freed.
    let filler = disk.path().join("filler").to_string_lossy().into_owned();
    let prefix = disk.prefix();
    let words = ["truncate", "-s", "13M", &filler];
    let all: Vec<&str> = prefix.iter().map(String::as_str).chain(words).collect();
    tools::run(all[0], &all[1..], "").expect(0);
    until("writes resume", || {
        (client.add(&large(number)).code == ResultCode::SUCCESS).then_some(())
    });
    pando.stop();
    pando.assert_clean();
}

/// A server started on a full disk answers reads, refuses writes, logs that in one line, and
/// accepts writes as soon as there is room: after an orderly stop, and after a crash that left a
/// log to be executed again.
#[test]
fn a_server_starts_on_a_full_disk() {
    let disk = Disk::new();
    if !disk.has_an_end() {
        return;
    }
    let mut pando = Pando::init_on(&disk);
    pando.serve();
    let mut client = pando.admin();
    for number in 0..100 {
        client.add(&large(number)).expect_success();
    }
    for (crashed, next) in [(false, 100), (true, 101)] {
        match crashed {
            true => pando.kill(),
            false => assert!(pando.stop().success()),
        }
        disk.fill("rest");
        pando.serve();
        let log = pando.process().log();
        // The log is removed after recovery, which frees room.
        let said = usize::from(!crashed);
        assert_eq!(log.matches("no space left").count(), said, "{log}");
        disk.fill("more");
        let mut client = pando.admin();
        assert_eq!(names(&mut client).len(), next);
        assert_refused_clearly(&client.add(&large(next)));
        assert_eq!(names(&mut client).len(), next);
        disk.remove("rest");
        disk.remove("more");
        until("writes come back", || {
            (client.add(&large(next)).code == ResultCode::SUCCESS).then_some(())
        });
    }
    pando.stop();
    pando.assert_clean();
}

/// An import without room names the place and the remedy.
#[test]
fn an_import_says_that_there_is_no_space() {
    let disk = Disk::new();
    if !disk.has_an_end() {
        return;
    }
    let pando = Pando::init_on(&disk);
    let people: String = (0..4000)
        .map(|number| kit::ldif::print(&large(number)))
        .collect();
    let file = pando.folder.write("people.ldif", people);
    let file = file.to_string_lossy();
    // The estimate may be too high: it only warns.
    let warned = pando.run_on_node(&["import"], &[&*file]).expect(1);
    warned.says("the import needs about 3").says("free");
    // The size of a compressed file's content is not known in advance.
    tools::run("gzip", &[&*file], "").expect(0);
    let answer = pando.run_on_node(&["import"], &[&format!("{file}.gz")]);
    assert_eq!(answer.status, 1, "{}", answer.err);
    assert!(!answer.err.contains("needs about"), "{}", answer.err);
    for said in [
        "no space left on ",
        "node/data",
        "the database is unchanged",
    ] {
        assert!(answer.err.contains(said), "{}", answer.err);
    }
    pando.assert_clean();
}

/// An import that cannot fit is refused before any file is made.
#[test]
fn an_import_without_room_is_refused_before_it_begins() {
    let disk = Disk::new();
    if !disk.has_an_end() {
        return;
    }
    let pando = Pando::init_on(&disk);
    let template = format!(
        "branch: ou=all,{SUFFIX}\nsubordinateTemplate: person:500000\n\n\
        template: person\nrdnAttr: uid\nobjectClass: account\nuid: <sequential>\n"
    );
    let template = pando.folder.write("many.template", template);
    let template = template.to_string_lossy();
    let refused = pando.run_on_node(&["import"], &["--template", &template]);
    refused
        .expect(1)
        .says("node/data: the import needs about 2")
        .says("the import was not begun");
    let people: String = (0..12_000)
        .map(|number| kit::ldif::print(&large(number)))
        .collect();
    let file = pando.folder.write("people.ldif", people);
    let refused = pando.run_on_node(&["import"], &[&file.to_string_lossy()]);
    refused.expect(1).says("the import was not begun");
    pando.assert_clean();
}

/// A backup by rotation without room is refused before it writes, and keeps earlier ones. The disk
/// has room for the backup, but not for the server beside it.
#[test]
fn a_backup_is_refused_when_room_is_short() {
    let disk = Disk::of(144);
    if !disk.has_an_end() {
        return;
    }
    let mut pando = Pando::init_on(&disk);
    pando.serve();
    let mut client = pando.admin();
    let folder = disk.path().join("backups");
    let to = folder.to_string_lossy().into_owned();
    let keep = ["--keep", "1"];
    let backup = |pando: &Pando| pando.run_on_node(&["backup"], &[&[&*to][..], &keep].concat());
    let first = backup(&pando).expect(0).out;
    let inside = |words: &[&str]| {
        let prefix = disk.prefix();
        let all: Vec<&str> = prefix
            .iter()
            .map(String::as_str)
            .chain(words.iter().copied())
            .collect();
        tools::run(all[0], &all[1..], "").expect(0).out
    };
    // Files of an interrupted backup are removed first, which is not enough.
    let partial = format!("{to}/20250101000000Z.partial");
    inside(&["mkdir", &partial]);
    let filler = format!("{to}/filler");
    let fill = "head -c 64M /dev/zero >\"$0\"; true";
    inside(&["sh", "-c", fill, &filler]);
    let refused = backup(&pando);
    assert_eq!(refused.status, 1, "{}", refused.err);
    for said in [
        "not enough space in ",
        "the backup needs up to ",
        "a reserve of 64.00 MiB",
    ] {
        assert!(refused.err.contains(said), "{}", refused.err);
    }
    inside(&["rm", &filler]);
    let listed = inside(&["ls", &to]);
    let first = first.trim().rsplit('/').next().expect("a path");
    let listed: Vec<&str> = listed.lines().collect();
    assert_eq!(listed, [first, "pando-backup.lock"]);
    client.add(&large(1)).expect_success();
    pando.stop();
    pando.assert_clean();
}
