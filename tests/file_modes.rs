//! Modes of files and folders: for their owner alone, whatever the umask, also when they were wider
//! before.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kit::process::{Running, until};
use kit::tools::Answer;
use kit::{Pando, SUFFIX, Secure, ldif, pando, people};

const NOT_OWNER: u32 = 0o077;

/// Returns files and folders below a folder with the mode bits of the group and of others.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("our own folder") {
            let path = entry.expect("an entry").path();
            // A running server creates and removes files meanwhile.
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            let kind = metadata.file_type();
            let counts = kind.is_file() || kind.is_dir();
            if counts && metadata.mode() & NOT_OWNER != 0 {
                found.push(format!("{:o} {}", metadata.mode() & 0o7777, path.display()));
            }
            if kind.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

#[track_caller]
fn assert_closed(pando: &Pando) {
    let found = open_to_others(pando.folder.path());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn open_up(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own file");
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Makes a node under umask 000 that keeps changes.
fn keeping() -> Pando {
    let pando = Pando::init_under("000");
    assert_closed(&pando);
    let settings = pando.node().join("pando.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    let text = text.replace("#keep_mib = 0", "keep_mib = 64");
    fs::write(&settings, text).expect("written");
    pando
}

/// Runs all subcommands that work beside a server.
fn beside_the_server(pando: &Pando, path: &dyn Fn(&str) -> String) {
    let done = |subcommand: &[&str], args: &[&str]| {
        pando.run_on_node(subcommand, args).expect(0);
        assert_closed(pando);
    };
    pando.admin().add(&people::unit("People")).expect_success();
    done(&["backup"], &[&path("backup")]);
    pando.admin().add(&people::person("ada")).expect_success();
    done(&["backup"], &["--incremental", &path("backup")]);
    done(&["backup"], &["--single", &path("backup.pando")]);
    done(&["backup"], &[&path("rotated"), "--keep", "1"]);
    done(&["export"], &["-o", &path("all.ldif")]);
    done(&["export"], &["-o", &path("all.ldif.gz")]);
    done(
        &["export"],
        &["--changes-since", "1", "-o", &path("changes.ldif")],
    );
    done(&["compact"], &[]);
    done(&["index", "add"], &["title"]);
}

#[test]
fn every_subcommand_closes_what_it_makes() {
    let mut pando = keeping();
    let folder = pando.folder.path().to_path_buf();
    let path = |name: &str| text(&folder.join(name));
    pando.serve();
    beside_the_server(&pando, &path);
    pando.stop();
    assert_closed(&pando);

    let ran = |args: &[&str]| -> Answer {
        let answer = pando.run(args);
        assert_closed(&pando);
        answer
    };
    let node = path("node");
    fs::write(path("password"), "another secret\n").expect("written");
    open_up(Path::new(&path("password")), 0o600);
    ran(&["passwd", &node, "--password-file", &path("password")]).expect(0);
    ran(&["compact", &node]).expect(0);
    ran(&["check", &node]).expect(0);
    for (backup, restored) in [("backup", "restored"), ("backup.pando", "restored-one")] {
        ran(&["verify", &path(backup)]).expect(0);
        ran(&["restore", &path(backup), &path(restored)]).expect(0);
    }
    let template = pando.folder.write("two.template", TEMPLATE);
    let wrong = pando.folder.write("wrong.ldif", WRONG);
    open_up(&template, 0o600);
    open_up(&wrong, 0o600);
    ran(&["generate", &text(&template), "-o", &path("made.ldif")]).expect(0);
    let rejects = path("rejects.ldif");
    ran(&["import", &node, &text(&wrong), "--rejects", &rejects]).expect(1);
    assert!(Path::new(&rejects).exists());
}

const TEMPLATE: &str = "branch: dc=example,dc=com\nobjectClass: dcObject\n\
    objectClass: organization\no: Example\n";
const WRONG: &str = "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\n\
    o: Example\ndc: example\n\ndn: ou=Wrong,dc=example,dc=com\nobjectClass: nothingOfThat\n";

/// Files of an import in progress: sorted runs, waiting entries and the new database.
#[test]
fn an_import_that_goes_on_keeps_its_files_closed() {
    let pando = Pando::init_under("000");
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 000; exec \"$0\" \"$@\""])
        .arg(pando::program())
        .arg("import")
        .arg(pando.node())
        .arg("-")
        .current_dir(pando.folder.path());
    let (input, mut output) = std::io::pipe().expect("a pipe");
    let mut import = Running::start_reading("import", &mut command, Stdio::from(input));
    // The entry comes before its parent, so it waits in a file.
    let early = people::person("early");
    let people = people::unit("People");
    let base = format!(
        "dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\n\
        o: Example\ndc: example\n\n"
    );
    for part in [base, ldif::print(&early), ldif::print(&people)] {
        std::io::Write::write_all(&mut output, part.as_bytes()).expect("the import reads");
    }
    let data: PathBuf = pando.node().join("data");
    until("the import has a folder of its own", || {
        let entries = fs::read_dir(&data).ok()?;
        let folders = entries.flatten().filter(|it| it.path().is_dir());
        (folders.count() > 0).then_some(())
    });
    assert_closed(&pando);
    drop(output);
    assert!(import.wait().success(), "{}", import.log());
    assert_closed(&pando);
}

#[test]
fn a_server_closes_the_files_of_earlier_releases() {
    let mut pando = Pando::init();
    let (data, database) = (
        pando.node().join("data"),
        pando.node().join("data/pando.mdb"),
    );
    open_up(&database, 0o644);
    open_up(&data, 0o755);
    pando.serve();
    let log = pando.process().log();
    assert!(
        log.contains("could be read by other users of this machine"),
        "{log}"
    );
    assert_closed(&pando);
    pando.stop();
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let mut secure = Secure::start();
    secure.pando.stop();
    let node = secure.pando.node();
    let key = node.join("server.key");
    for mode in [0o644, 0o604, 0o660] {
        open_up(&key, mode);
        let answer = secure.pando.run(&["serve", &text(&node)]).expect(1);
        let expected = format!("chmod 600 {}", key.display());
        assert!(answer.err.contains(&expected), "{}", answer.err);
    }
    open_up(&key, 0o400);
    secure.pando.serve_as_configured();
    secure.pando.stop();
}

/// A crash must not leave passwords of clients in a file.
#[test]
fn the_memory_of_a_server_goes_into_no_core_dump() {
    let mut pando = Pando::init();
    let limit = |pando: &mut Pando| {
        let process = pando.process().pid();
        let limits = fs::read_to_string(format!("/proc/{process}/limits")).expect("its limits");
        let line = limits
            .lines()
            .find(|it| it.starts_with("Max core file size"));
        line.expect("a limit").to_owned()
    };
    pando.serve();
    let words = limit(&mut pando);
    let soft_and_hard = words.split_whitespace().skip(4).take(2);
    assert!(
        soft_and_hard.clone().count() == 2 && soft_and_hard.into_iter().all(|it| it == "0"),
        "{words}"
    );
    assert!(pando.stop().success());
    let settings = pando.node().join("pando.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    let text = text.replace("#core_dumps = false", "core_dumps = true");
    fs::write(&settings, text).expect("written");
    pando.serve();
    let own = fs::read_to_string("/proc/self/limits").expect("its limits");
    assert!(
        own.contains(&limit(&mut pando)),
        "the limit of the caller stays"
    );
}
