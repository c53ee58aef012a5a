//! Kept changes: incremental backups, restores to a moment, and `pando changes`.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kit::client::Modification;
use kit::{EnoughAtEnd, Pando, SUFFIX, people};
use protocol::ResultCode;

/// Serves a node that keeps changes, with a few people.
fn keeping() -> Pando {
    let mut pando = Pando::init();
    let settings = pando.node().join("pando.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    let text = text.replace("#keep_mib = 0", "keep_mib = 64");
    fs::write(&settings, text).expect("written");
    pando.serve();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    admin.add(&people::unit("Gone")).expect_success();
    add(&pando, "early", 20);
    pando
}

fn add(pando: &Pando, name: &str, count: usize) {
    let mut admin = pando.admin();
    for number in 0..count {
        let person = people::person(&format!("{name}{number}"));
        admin.add(&person).expect_success();
    }
}

/// Makes changes of every kind, refused ones among them.
fn change(pando: &Pando) {
    let mut admin = pando.admin();
    let name = |uid: &str| people::person(uid).name;
    let title = Modification::replace("title", &["Mädchen für alles", " spaced"]);
    admin.modify(&name("early1"), &[title]).expect_success();
    let wrong = Modification::delete("pager", &[]);
    let refused = admin.modify(&name("early1"), &[wrong]);
    refused.expect(ResultCode::NO_SUCH_ATTRIBUTE);
    admin.delete(&name("early2")).expect_success();
    admin
        .delete(&name("nobody"))
        .expect(ResultCode::NO_SUCH_OBJECT);
    let gone = people::unit("Gone").name;
    admin
        .rename(
            &name("early3"),
            "uid=moved+cn=Ada \\2C B",
            true,
            Some(&gone),
        )
        .expect_success();
    add(pando, "later", 5);
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn position(said: &str) -> String {
    let rest = said.split("position ").nth(1).expect("a position is said");
    rest.split(|it: char| !it.is_ascii_digit())
        .next()
        .unwrap_or("")
        .to_owned()
}

fn restored(pando: &Pando, backup: &str, name: &str, further: &[&str]) -> String {
    let to = text(&pando.folder.join(name));
    let args = [&["restore", backup, &to], further].concat();
    pando.run(&args).expect(0);
    pando.run(&["check", &to]).expect(0);
    pando.run(&["export", &to]).expect(0).out
}

#[test]
fn an_export_of_no_changes_says_where_to_go_on() {
    let pando = keeping();
    change(&pando);
    let since = |point: &str| {
        let said = pando.run_on_node(&["export"], &["--changes-since", point]);
        said.expect(0).err
    };
    let later = since("29991231000000Z");
    assert!(later.starts_with("0 changes exported"), "{later}");
    let at = position(&later);
    assert!(since(&at).starts_with("0 changes exported"));
    add(&pando, "new", 1);
    let more = since(&at);
    assert!(more.starts_with("1 change exported"), "{more}");
    assert_eq!(position(&more), position(&since("29991231000000Z")));
}

#[test]
fn a_lost_database_is_restored_beside_its_log() {
    let mut pando = keeping();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    change(&pando);
    let export = pando.export();
    pando.kill();
    let data = pando.node().join("data");
    fs::remove_file(data.join("pando.mdb")).expect("it was there");
    // The log belongs to another state than the backup's.
    let node = text(&pando.node());
    pando
        .run(&["restore", &backup, &node])
        .expect(1)
        .says("expected a folder without the log of a database that was not closed");
    assert!(data.join("checkpoint").exists() && !data.join("pando.mdb").exists());
    let kept = text(&data.join("changes"));
    let all = restored(&pando, &backup, "again", &["--changes", &kept]);
    assert_eq!(all, export);
}

#[test]
fn one_increment_at_a_time_and_what_killed_ones_left_goes() {
    let pando = keeping();
    let folder = pando.folder.join("backup");
    let backup = text(&folder);
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    change(&pando);
    let left = [
        "changes-00000000000000000009-00000000000000000010.zst",
        "changes-00000000000000000009-00000000000000000011.zst.partial",
    ];
    for name in left.iter().chain(&["changes-of-mine.txt"]) {
        fs::write(folder.join(name), b"half").expect("written");
    }
    let add = || pando.run_on_node(&["backup", "--incremental"], &[&backup]);
    // A lock stands for another run of the backup.
    let held = fs::File::open(&folder).expect("there");
    held.lock().expect("nobody has it");
    let refused = "another increment is being added; try again when it has ended";
    add().expect(1).says(refused);
    assert!(left.iter().all(|it| folder.join(it).exists()));
    drop(held);
    add().expect(0).says("added as");
    assert!(!left.iter().any(|it| folder.join(it).exists()));
    assert!(folder.join("changes-of-mine.txt").exists());
    assert_eq!(restored(&pando, &backup, "again", &[]), pando.export());
}

#[test]
fn a_backup_grows_by_increments_and_restores_to_any_moment() {
    let pando = keeping();
    let backup = text(&pando.folder.join("backup"));
    let at_first = pando.export();
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let incremental = || pando.run_on_node(&["backup"], &[&backup, "--incremental"]);
    incremental()
        .expect(0)
        .says("no change since the last backup or increment");
    change(&pando);
    let between = pando.export();
    let added = incremental().expect(0);
    let middle = added.err.split(" added").next().unwrap_or("");
    let middle = middle.rsplit(' ').next().expect("a position").to_owned();
    add(&pando, "last", 3);
    incremental().expect(0);
    let at_last = pando.export();

    pando
        .run(&["verify", &backup])
        .expect(0)
        .says("no problem found");
    assert_eq!(restored(&pando, &backup, "last", &[]), at_last);
    assert_eq!(
        restored(&pando, &backup, "middle", &["--until", &middle]),
        between
    );
    // A moment behind the last increment is in the changes that the node keeps.
    add(&pando, "latest", 2);
    let kept = text(&pando.node().join("data/changes"));
    let latest = restored(&pando, &backup, "latest", &["--changes", &kept]);
    assert_eq!(latest, pando.export());

    let to = text(&pando.folder.join("early"));
    let early = ["restore", &backup, &to, "--until", "20200101000000Z"];
    pando
        .run(&early)
        .expect(1)
        .says("expected a backup made before that");
    let late = ["restore", &backup, &to, "--until", "99999"];
    pando
        .run(&late)
        .expect(1)
        .says("expected changes up to position 99999");
    assert!(!Path::new(&to).exists());
    assert_ne!(at_first, between);
}

#[test]
fn exported_changes_make_of_the_old_state_the_new_one() {
    let mut pando = keeping();
    let old = pando
        .run_on_node(&["export"], &["--no-operational"])
        .expect(0)
        .out;
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let verified = pando.run(&["verify", &backup]).expect(0).out;
    change(&pando);
    let since = position(&verified);
    let changes = pando
        .run_on_node(&["export"], &["--changes-since", &since])
        .expect(0);
    assert!(
        changes.out.contains("changetype: modrdn"),
        "{}",
        changes.out
    );
    assert!(!changes.out.contains("nobody"), "{}", changes.out);
    let new = pando
        .run_on_node(&["export"], &["--no-operational"])
        .expect(0)
        .out;
    pando.stop();

    // Debian's ldapmodify applies the changes to the old state.
    fs::remove_dir_all(pando.node().join("data")).expect("removed");
    pando
        .run(&["restore", &backup, &text(&pando.node())])
        .expect(0);
    let restored = pando.run_on_node(&["export"], &["--no-operational"]);
    assert_eq!(restored.expect(0).out, old);
    pando.serve();
    pando.tools().modify(&changes.out).expect(0);
    let made = pando
        .run_on_node(&["export"], &["--no-operational"])
        .expect(0)
        .out;
    assert_eq!(made, new);
    assert_ne!(old, new);
}

const NUMBERS: &str = "\
dn: cn=uidNumber,cn=rules,cn=config
objectClass: pandoNumbers
pandoNumberAttribute: uidNumber
pandoNumberClass: posixAccount
pandoNumberRange: 10000-59999
pandoNumberRequest: -1
";

/// Returns the LDIF of an account, with or without a number.
fn account(uid: &str, more: &str) -> String {
    format!(
        "dn: uid={uid},ou=People,{SUFFIX}\nchangetype: add\nobjectClass: account\n\
         objectClass: posixAccount\ncn: {uid}\ngidNumber: 100\nhomeDirectory: /home/{uid}\n\
         {more}\n"
    )
}

#[test]
fn exported_numbers_are_those_of_the_time() {
    let mut pando = keeping();
    pando.tools().run("ldapadd", &[], NUMBERS).expect(0);
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let since = position(&pando.run(&["verify", &backup]).expect(0).out);

    let accounts = [
        ("said", "uidNumber: 5\n", "5"),
        ("given", "", "10000"),
        ("asked", "uidNumber: -1\n", "10001"),
        ("gone", "", "10002"),
    ];
    for (uid, more, _) in accounts {
        pando.tools().modify(&account(uid, more)).expect(0);
    }
    let name = |uid: &str| format!("uid={uid},ou=People,{SUFFIX}");
    let mut admin = pando.admin();
    let other = [
        Modification::delete("uidNumber", &["5"]),
        Modification::add("uidNumber", &["6"]),
    ];
    admin.modify(&name("said"), &other).expect_success();
    let seven = [Modification::replace("uidNumber", &["7"])];
    admin.modify(&name("given"), &seven).expect_success();
    admin.delete(&name("gone")).expect_success();
    let becomes = [
        Modification::add("objectClass", &["posixAccount"]),
        Modification::add("gidNumber", &["100"]),
        Modification::add("homeDirectory", &["/home/early0"]),
    ];
    admin.modify(&name("early0"), &becomes).expect_success();
    let changes = pando.run_on_node(&["export"], &["--changes-since", &since]);
    let changes = changes.expect(0).out;
    for (uid, _, number) in accounts {
        let dn = format!("\ndn: {}\nchangetype: add\n", name(uid));
        let record = changes.split("\n\n").find(|it| it.contains(&dn));
        let record = record.unwrap_or_else(|| panic!("no {uid} in {changes}"));
        let numbers: Vec<&str> = record.lines().filter(|it| it.starts_with("uidN")).collect();
        assert_eq!(numbers, [format!("uidNumber: {number}")], "{record}");
    }
    assert!(changes.contains("uidNumber: 10003\n"), "{changes}");

    // A number given by a rule stands in another place of the entry than one in the request.
    let lines = |pando: &Pando| {
        let plain = pando.run_on_node(&["export"], &["--no-operational"]);
        let mut lines: Vec<String> = plain.expect(0).out.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let new = lines(&pando);
    pando.stop();
    fs::remove_dir_all(pando.node().join("data")).expect("removed");
    pando
        .run(&["restore", &backup, &text(&pando.node())])
        .expect(0);
    pando.serve();
    pando.tools().modify(&changes).expect(0);
    assert_eq!(lines(&pando), new);
}

/// The backup has no index of the attribute, and the increment needs it.
#[test]
fn a_rule_whose_index_is_newer_than_the_backup_is_restored() {
    let pando = keeping();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    pando
        .run_on_node(&["index", "add"], &["employeeNumber", "equality"])
        .expect(0);
    kit::process::until("the index is ready", || {
        let status = pando.run_on_node(&["index", "status"], &[]).expect(0).out;
        let own = |it: &&str| it.starts_with("employeeNumber") && it.contains("ready");
        status.lines().find(own).map(|_| ())
    });
    let rule = "dn: cn=number,cn=rules,cn=config\nobjectClass: pandoUnique\n\
                pandoUniqueAttribute: employeeNumber\n";
    pando.tools().run("ldapadd", &[], rule).expect(0);
    let mut admin = pando.admin();
    let number = |value| [Modification::replace("employeeNumber", &[value])];
    let name = |uid: &str| people::person(uid).name;
    for (uid, value) in [("early1", "1"), ("early2", "2")] {
        admin.modify(&name(uid), &number(value)).expect_success();
    }
    let held = admin.modify(&name("early3"), &number("1"));
    held.expect(ResultCode::CONSTRAINT_VIOLATION);
    admin.modify(&name("early3"), &number("3")).expect_success();

    let kept = text(&pando.node().join("data/changes"));
    let restored_to = restored(&pando, &backup, "kept", &["--changes", &kept]);
    assert_eq!(restored_to, pando.export());
    pando
        .run_on_node(&["backup"], &[&backup, "--incremental"])
        .expect(0);
    pando
        .run(&["verify", &backup])
        .expect(0)
        .says("no problem found");
}

#[test]
fn changes_of_attributes_that_are_defined_no_more_are_exported() {
    let pando = keeping();
    let schema = "dn: cn=mine,cn=schema,cn=config\nobjectClass: pandoSchema\n\
        attributeTypes: ( 1.2.3.4.5 NAME 'shoeSize' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
        objectClasses: ( 1.2.3.4.6 NAME 'walker' SUP top AUXILIARY MAY shoeSize )\n";
    let tools = pando.tools();
    tools.run("ldapadd", &[], schema).expect(0);
    let dn = format!("dn: uid=walker,ou=People,{SUFFIX}\n");
    let add = format!(
        "{dn}changetype: add\nobjectClass: account\nobjectClass: walker\nshoeSize: 42\n\n\
         {dn}changetype: modify\nreplace: shoeSize\nshoeSize: 43\n\n\
         {dn}changetype: delete\n\n\
         dn: cn=mine,cn=schema,cn=config\nchangetype: delete\n"
    );
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let since = position(&pando.run(&["verify", &backup]).expect(0).out);
    tools.modify(&add).expect(0);
    let changes = pando.run_on_node(&["export"], &["--changes-since", &since]);
    let changes = changes.expect(0).out;
    for line in ["shoeSize: 42", "replace: shoeSize", "shoeSize: 43"] {
        assert!(changes.contains(&format!("{line}\n")), "{changes}");
    }
}

#[test]
fn an_increment_of_another_history_is_refused() {
    let mut pando = keeping();
    let backup = text(&pando.folder.join("backup"));
    let incremental = |pando: &Pando| pando.run_on_node(&["backup"], &[&backup, "--incremental"]);
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let early = position(&pando.run(&["verify", &backup]).expect(0).out);
    add(&pando, "lost", 10);
    incremental(&pando).expect(0);
    let at_last = pando.export();
    pando.stop();

    // The node is restored to an earlier moment, and then to a later one.
    fs::remove_dir_all(pando.node().join("data")).expect("removed");
    let node = text(&pando.node());
    pando
        .run(&["restore", &backup, &node, "--until", &early])
        .expect(0);
    pando.serve();
    for (more, says) in [(9, "only to"), (1, "at position"), (5, "at position")] {
        add(&pando, &format!("other{more}-"), more);
        let refused = incremental(&pando).expect(1);
        assert!(refused.err.contains(says), "{}", refused.err);
        assert!(
            refused.err.contains("make a full backup"),
            "{}",
            refused.err
        );
    }
    assert_eq!(restored(&pando, &backup, "restored", &[]), at_last);
    let next = text(&pando.folder.join("next"));
    pando.run_on_node(&["backup"], &[&next]).expect(0);
    add(&pando, "more", 1);
    let more = pando.run_on_node(&["backup"], &[&next, "--incremental"]);
    more.expect(0);
    assert_eq!(restored(&pando, &next, "again", &[]), pando.export());
}

#[test]
fn a_manifest_without_digests_takes_increments() {
    let pando = keeping();
    let folder = pando.folder.join("backup");
    let backup = text(&folder);
    let incremental = || pando.run_on_node(&["backup"], &[&backup, "--incremental"]);
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    add(&pando, "first", 2);
    incremental().expect(0);
    let manifest = fs::read_to_string(folder.join("manifest.toml")).expect("the manifest");
    let lines = manifest.lines();
    let old: Vec<&str> = lines.filter(|it| !it.starts_with("digest = ")).collect();
    assert_eq!(old.len() + 2, manifest.lines().count(), "{manifest}");
    fs::write(folder.join("manifest.toml"), old.join("\n")).expect("written");
    incremental()
        .expect(0)
        .says("no change since the last backup or increment");
    add(&pando, "second", 2);
    incremental().expect(0);
    assert_eq!(restored(&pando, &backup, "restored", &[]), pando.export());
}

#[test]
fn nothing_is_missing_after_crashes() {
    let mut pando = keeping();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    for round in 0..4 {
        add(&pando, &format!("round{round}-"), 30);
        pando.kill();
        // The next process that opens the node executes the log: a tool, or the server.
        if round % 2 == 0 {
            pando.assert_clean();
        }
        pando.serve();
        add(&pando, &format!("again{round}-"), 3);
    }
    pando
        .run_on_node(&["backup"], &[&backup, "--incremental"])
        .expect(0);
    assert_eq!(restored(&pando, &backup, "restored", &[]), pando.export());
}

#[test]
fn changes_are_whole_while_writes_go_on() {
    let pando = keeping();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    let since = position(&pando.run(&["verify", &backup]).expect(0).out);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _ends = EnoughAtEnd(&stop);
        for writer in 0..2 {
            let (mut admin, stop) = (pando.admin(), &stop);
            scope.spawn(move || {
                let name = people::person(&format!("early{writer}")).name;
                for count in 0_u32.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let change = Modification::replace("description", &[&count.to_string()]);
                    admin.modify(&name, &[change]).expect_success();
                }
            });
        }
        let mut failed = Vec::new();
        for _ in 0..12 {
            let incremental = pando.run_on_node(&["backup"], &[&backup, "--incremental"]);
            let exported = pando.run_on_node(&["export"], &["--changes-since", &since]);
            let both = [incremental, exported].into_iter();
            failed.extend(both.filter(|it| it.status != 0).map(|it| it.err));
        }
        assert!(failed.is_empty(), "{failed:?}");
    });
    pando
        .run_on_node(&["backup"], &[&backup, "--incremental"])
        .expect(0);
    assert_eq!(restored(&pando, &backup, "restored", &[]), pando.export());
}

#[test]
fn mistakes_are_said() {
    let mut pando = keeping();
    let backup = text(&pando.folder.join("backup"));
    pando.run_on_node(&["backup"], &[&backup]).expect(0);
    add(&pando, "more", 2);
    pando
        .run_on_node(&["export"], &["--changes-since", "99999"])
        .expect(1)
        .says("got 99999");
    pando
        .run_on_node(&["export"], &["--changes-since", "yesterday"])
        .expect(2)
        .says("expected a position or a time such as 20261121030000Z");
    pando.stop();
    for file in fs::read_dir(pando.node().join("data/changes")).expect("the folder") {
        let path = file.expect("an entry").path();
        if path.extension().is_some() {
            fs::remove_file(path).expect("removed");
        }
    }
    let incremental = pando.run_on_node(&["backup"], &[&backup, "--incremental"]);
    incremental.expect(1).says("no later one is kept");
    // The backup is unchanged.
    pando.run(&["verify", &backup]).expect(0);
    let damaged = pando.folder.join("backup/manifest.toml");
    let read = fs::read_to_string(&damaged).expect("the manifest");
    fs::write(&damaged, read.replace("position = ", "position = 9")).expect("written");
    let other = pando.run_on_node(&["backup"], &[&backup, "--incremental"]);
    other.expect(1).says("expected a backup of this node");
}
