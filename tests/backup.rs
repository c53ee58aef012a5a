//! Backups and exports of a served node, and restores of them.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use kit::client::Modification;
use kit::process::{Running, until};
use kit::{EnoughAtEnd, Pando, SUFFIX, people};
use protocol::Scope;

/// Serves a node with some hundred people.
fn served() -> Pando {
    let pando = Pando::start();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    for number in 0..300 {
        admin
            .add(&people::person(&format!("user{number}")))
            .expect_success();
    }
    pando
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |it: fs::DirEntry| it.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|it| name(it.expect("an entry"))).collect();
    names.sort();
    names
}

#[test]
fn a_backup_is_made_while_writes_go_on() {
    let pando = served();
    let backup = text(&pando.folder.join("backup"));
    let stop = AtomicBool::new(false);
    let before = thread::scope(|scope| {
        let ends = EnoughAtEnd(&stop);
        let (mut admin, stop) = (pando.admin(), &stop);
        let (begun, wait) = mpsc::channel();
        let writer = scope.spawn(move || {
            let mut count = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                count += 1;
                let name = people::person(&format!("user{}", count % 300)).name;
                let change = Modification::replace("description", &[&count.to_string()]);
                admin.modify(&name, &[change]).expect_success();
                begun.send(()).unwrap_or_default();
            }
        });
        wait.recv().expect("writes go on");
        let mut admin = pando.admin();
        let marker = people::person("marker");
        admin.add(&marker).expect_success();
        pando
            .run_on_node(&["backup"], &[&backup])
            .expect(0)
            .says("backed up as");
        drop(ends);
        writer.join().expect("the writer ends");
        marker.name
    });
    let kept = ["manifest.toml", "pando.mdb.zst", "pando.toml"];
    assert_eq!(names(&pando.folder.join("backup")), kept);
    pando
        .run(&["verify", &backup])
        .expect(0)
        .says("no problem found");
    assert_eq!(names(&pando.folder.join("backup")), kept);
    // The backup has the entry that was acknowledged before it.
    let restored = text(&pando.folder.join("restored"));
    pando.run(&["restore", &backup, &restored]).expect(0);
    let found = pando.run(&["export", &restored, &before, "--attributes", "uid"]);
    found.expect(0).says("uid: marker");
    assert_eq!(
        pando
            .admin()
            .search(SUFFIX, Scope::BaseObject, "(dc=*)", &[])
            .entries
            .len(),
        1
    );
}

#[test]
fn an_export_is_of_one_state_while_writes_go_on() {
    let mut pando = served();
    let stop = AtomicBool::new(false);
    let ldif = thread::scope(|scope| {
        let ends = EnoughAtEnd(&stop);
        let (mut admin, stop) = (pando.admin(), &stop);
        let (begun, wait) = mpsc::channel();
        // Entries are added one after another, so that every state has all earlier ones.
        let writer = scope.spawn(move || {
            for number in 0_u32.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let person = people::person(&format!("late{number}"));
                admin.add(&person).expect_success();
                begun.send(()).unwrap_or_default();
            }
        });
        wait.recv().expect("writes go on");
        let ldif = pando.run_on_node(&["export"], &[]).expect(0).out;
        drop(ends);
        writer.join().expect("the writer ends");
        ldif
    });
    let late = ldif.matches("\ndn: uid=late").count();
    assert!(late > 0);
    for number in 0..late {
        let dn = format!("\ndn: uid=late{number},");
        assert!(ldif.contains(&dn), "{late} entries without number {number}");
    }
    assert_eq!(ldif.matches("\ndn: uid=user").count(), 300);
    pando.stop();
    pando.assert_clean();
}

#[test]
fn a_backup_of_a_stopped_node_is_the_same_database() {
    let mut pando = served();
    pando.stop();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let restored = text(&pando.folder.join("restored"));
    pando.run(&["restore", &backup, &restored]).expect(0);
    let digest = |node: &str| {
        let said = pando.run(&["check", node]).expect(0).out;
        let digest = said.split("digest ").nth(1).map(str::to_owned);
        digest.unwrap_or_else(|| panic!("no digest in {said}"))
    };
    assert_eq!(digest(&restored), digest(&text(&pando.node())));
}

#[test]
fn a_backup_after_a_crash_has_what_was_acknowledged() {
    let mut pando = served();
    pando.kill();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let verified = pando.run(&["verify", &backup]).expect(0);
    verified.says("no problem found");
}

#[test]
fn damage_is_found_and_nothing_is_left() {
    let pando = served();
    let folder = pando.folder.join("backup");
    let backup = text(&folder);
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let content = folder.join("pando.mdb.zst");
    let whole = fs::read(&content).expect("the content");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let longer = [&whole[..], b"more"].concat();
    for damaged in [&flipped[..], &whole[..whole.len() / 2], &longer] {
        fs::write(&content, damaged).expect("written");
        let restored = text(&pando.folder.join("restored"));
        let answer = pando.run(&["restore", &backup, &restored]).expect(1);
        assert!(answer.err.contains("pando.mdb.zst"), "{}", answer.err);
        assert!(!Path::new(&restored).exists());
        pando.run(&["verify", &backup]).expect(1);
    }
    fs::write(&content, whole).expect("written");
    pando.run(&["verify", &backup]).expect(0);
    assert_eq!(names(&pando.folder.join("backup")).len(), 3);
}

#[test]
fn mistakes_are_said_and_change_nothing() {
    let pando = served();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    pando
        .run_on_node(&["backup"], &[&backup])
        .expect(1)
        .says("expected a folder that does not exist yet");
    let node = text(&pando.node());
    pando
        .run(&["restore", &backup, &node])
        .expect(1)
        .says("expected a node without a database");
    let nothing = text(&pando.folder.join("nothing"));
    pando
        .run(&["restore", &nothing, &node])
        .expect(1)
        .says("expected the manifest of a backup");
    let manifest = pando.folder.join("backup").join("manifest.toml");
    let read = fs::read_to_string(&manifest).expect("the manifest");
    fs::write(&manifest, read.replace("format = 2", "format = 7")).expect("written");
    pando
        .run(&["verify", &backup])
        .expect(1)
        .says("format is not 2");
}

#[test]
fn compacting_gives_space_back_and_keeps_everything() {
    let mut pando = served();
    let mut admin = pando.admin();
    let photo = "x".repeat(8_000);
    for number in 0..300 {
        let name = people::person(&format!("user{number}")).name;
        let large = Modification::replace("description", &[&photo]);
        admin.modify(&name, &[large]).expect_success();
    }
    for number in 20..300 {
        let name = people::person(&format!("user{number}")).name;
        admin.delete(&name).expect_success();
    }
    pando.stop();
    let database = pando.node().join("data/pando.mdb");
    let length = || fs::metadata(&database).expect("the database").len();
    let (before, export) = (length(), pando.export());
    // Whenever the restore is killed, the database is the old one or the new one.
    for ticks in [0, 1, 2, 4, 8] {
        let mut command = std::process::Command::new(kit::pando::program());
        command.arg("compact").arg(pando.node());
        let mut running = Running::start("pando compact", &mut command);
        until("the compaction is somewhere", || {
            (running.processor_ticks() >= ticks || !running.is_alive()).then_some(())
        });
        running.kill();
        assert_eq!(pando.export(), export);
    }
    pando
        .run_on_node(&["compact"], &[])
        .expect(0)
        .says(" instead of ");
    assert!(length() < before / 4, "{} of {before}", length());
    assert_eq!(pando.export(), export);
    pando.assert_clean();
    pando.serve();
    pando.admin().add(&people::person("new")).expect_success();
    pando.stop();
    pando.assert_clean();
    assert!(!pando.node().join("data/compact").exists());
}

#[test]
fn old_backups_go_in_rotation() {
    let pando = served();
    let folder = pando.folder.join("backups");
    let old = ["20240101000000Z", "20250101000000Z", "20260101000000Z"];
    let others = ["20250101000000Z.partial", "notes", "2025"];
    for name in old.iter().chain(&others) {
        fs::create_dir_all(folder.join(name)).expect("made");
    }
    let to = text(&folder);
    pando
        .run_on_node(&["backup"], &[&to, "--keep", "2"])
        .expect(0);
    let left = names(&folder);
    assert_eq!(left.len(), 5, "{left:?}");
    assert_eq!(left[0], "2025");
    assert_eq!(left[1], "20260101000000Z");
    assert_eq!(left[3], "notes");
    assert_eq!(left[4], "pando-backup.lock");
    pando
        .run(&["verify", &text(&folder.join(&left[2]))])
        .expect(0);
}

#[test]
fn a_backup_that_was_just_made_stays_whatever_the_clock_says() {
    let pando = served();
    let folder = pando.folder.join("backups");
    let later = ["29990101000000Z", "29990102000000Z"];
    for name in later {
        fs::create_dir_all(folder.join(name)).expect("made");
    }
    let to = text(&folder);
    let made = pando.run_on_node(&["backup"], &[&to, "--keep", "2"]);
    let made = made.expect(0).out;
    pando.run(&["verify", made.trim()]).expect(0);
    let left = names(&folder);
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(left[1], later[1]);
}

#[test]
fn one_backup_at_a_time_is_made_by_rotation() {
    let pando = served();
    let folder = pando.folder.join("backups");
    let partial = folder.join("20250101000000Z.partial");
    fs::create_dir_all(&partial).expect("made");
    // A lock stands for another run of the same backup.
    let lock = fs::File::create(folder.join("pando-backup.lock")).expect("made");
    lock.try_lock().expect("nobody has it");
    let to = text(&folder);
    let backup = || pando.run_on_node(&["backup"], &[&to, "--keep", "2"]);
    backup()
        .expect(1)
        .says("another backup is being made here; try again when it has ended");
    assert!(partial.exists());
    drop(lock);
    backup().expect(0);
    assert!(!partial.exists());
}

#[test]
fn one_process_at_a_time_makes_a_backup() {
    let pando = served();
    let (folder, file) = (pando.folder.join("backup"), pando.folder.join("one.zst"));
    let backup = |to: &Path, single: &[&str]| {
        pando.run_on_node(&["backup"], &[&[text(to).as_str()][..], single].concat())
    };
    // Locks stand for other runs.
    let partial = |of: &str| pando.folder.join(&format!("{of}.partial"));
    fs::create_dir(partial("backup")).expect("made");
    fs::write(partial("backup").join("pando.mdb.zst"), b"half").expect("written");
    fs::write(partial("one.zst"), b"half").expect("written");
    let held = ["backup", "one.zst"].map(|it| fs::File::open(partial(it)).expect("there"));
    held.iter().for_each(|it| it.lock().expect("nobody has it"));
    let before = names(pando.folder.path());
    for (to, single) in [(&folder, &[][..]), (&file, &["--single"][..])] {
        backup(to, single)
            .expect(1)
            .says("another process is making this; try again when it has ended");
        assert_eq!(names(pando.folder.path()), before);
    }
    assert_eq!(fs::read(partial("one.zst")).expect("there"), b"half");
    assert_eq!(names(&partial("backup")), ["pando.mdb.zst"]);
    // The run was killed: the next removes its files.
    drop(held);
    for (to, single) in [(&folder, &[][..]), (&file, &["--single"][..])] {
        backup(to, single).expect(0);
        pando.run(&["verify", &text(to)]).expect(0);
    }
    assert!(!partial("backup").exists() && !partial("one.zst").exists());
    // At the same time: one run makes the backup, and no other files are left.
    for (name, single) in [("both", &[][..]), ("both.zst", &["--single"][..])] {
        let to = pando.folder.join(name);
        let runs = [(); 3].map(|()| {
            let mut command = std::process::Command::new("timeout");
            command.args(["--kill-after=5", "120"]);
            command
                .arg(kit::pando::program())
                .arg("backup")
                .args(single);
            command.arg(pando.node()).arg(&to);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("it starts")
        });
        let statuses = runs.map(|mut it| it.wait().expect("it is ours").code());
        let made = statuses.iter().filter(|it| **it == Some(0)).count();
        assert_eq!(made, 1, "{statuses:?}");
        pando.run(&["verify", &text(&to)]).expect(0);
        assert!(!partial(name).exists());
    }
}

#[test]
fn what_a_killed_verification_left_goes_with_the_next_backup() {
    let pando = served();
    let folder = pando.folder.join("backups");
    let backup = text(&folder.join("first"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let left = || {
        let names = names(&folder);
        names.iter().any(|it| it.starts_with("pando-verify-"))
    };
    // The rounds end when one run is killed before its end.
    while !left() {
        let mut command = std::process::Command::new(kit::pando::program());
        let mut running = Running::start("pando verify", command.args(["verify", &backup]));
        until("it has begun", || {
            (left() || !running.is_alive()).then_some(())
        });
        running.kill();
    }
    pando
        .run_on_node(&["backup"], &[&text(&folder.join("second"))])
        .expect(0)
        .says("removed: the process that wrote it has ended");
    assert_eq!(names(&folder), ["first", "second"]);
}

#[test]
fn a_backup_may_be_one_file_or_a_stream() {
    let pando = served();
    let export = pando.export();
    let file = pando.folder.join("backup.zst");
    let to = text(&file);
    pando.run_on_node(&["backup", "--single"], &[&to]).expect(0);
    pando.run_on_node(&["backup", "--single"], &[&to]).expect(1);
    pando.run(&["verify", &to]).expect(0);
    // The backup is a stream, to any destination.
    let node = text(&pando.node());
    let program = kit::pando::program();
    let out = std::process::Command::new(program)
        .args(["backup", "--single", &node, "-"])
        .output()
        .expect("it runs");
    assert!(out.status.success());
    let stream = pando.folder.join("stream.zst");
    fs::write(&stream, &out.stdout).expect("written");
    for (backup, name) in [(&to, "one"), (&text(&stream), "other")] {
        let restored = pando.folder.join(name);
        pando.run(&["restore", backup, &text(&restored)]).expect(0);
        let exported = pando.run(&["export", &text(&restored)]).expect(0).out;
        assert_eq!(exported, export);
        let settings = fs::read(restored.join("pando.toml")).expect("they came along");
        assert_eq!(
            settings,
            fs::read(pando.node().join("pando.toml")).expect("they are there")
        );
    }
    // Damage anywhere is found, and a foreign file is refused.
    let whole = fs::read(&file).expect("read");
    let end = whole.len();
    for at in [end / 2, end - 40, end - 12, end - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&file, &damaged).expect("written");
        pando.run(&["verify", &to]).expect(1);
    }
    fs::write(&file, &whole[..whole.len() - 3]).expect("written");
    pando.run(&["verify", &to]).expect(1);
    fs::write(&file, b"short").expect("written");
    pando.run(&["verify", &to]).expect(1);
    pando
        .run_on_node(&["backup", "--incremental"], &[&text(&stream)])
        .expect(1);
}

/// Returns the processes with a slot in LMDB's table of readers, dead or alive: 64 bytes for each
/// reader, its process in bytes 8 to 11.
fn readers_of(pando: &Pando) -> Vec<u32> {
    let table = fs::read(pando.node().join("data/pando.mdb-lock")).expect("the table of readers");
    let process = |slot: &[u8]| u32::from_ne_bytes(slot[8..12].try_into().expect("four bytes"));
    table.chunks_exact(64).map(process).collect()
}

#[test]
fn a_reader_that_was_killed_is_forgotten() {
    let pando = served();
    let mut admin = pando.admin();
    let photo = "x".repeat(8_000);
    for number in 0..300 {
        let name = people::person(&format!("user{number}")).name;
        let large = Modification::replace("description", &[&photo]);
        admin.modify(&name, &[large]).expect_success();
    }
    // The output fills the pipe, which no process reads: the export waits with its snapshot.
    let mut export = std::process::Command::new(kit::pando::program())
        .arg("export")
        .arg(pando.node())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    until("the export is a reader", || {
        readers_of(&pando).contains(&export.id()).then_some(())
    });
    export.kill().expect("killed");
    export.wait().expect("it ended");
    let name = people::person("user0").name;
    let mut count = 0_u32;
    until("the dead reader is forgotten", || {
        count += 1;
        let change = Modification::replace("description", &[&count.to_string()]);
        admin.modify(&name, &[change]).expect_success();
        (!readers_of(&pando).contains(&export.id())).then_some(())
    });
}
