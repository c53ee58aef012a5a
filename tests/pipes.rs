//! Backups and exports through pipes: the output is complete or refused, and a broken pipe is
//! reported at both ends.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use kit::process::{Running, until};
use kit::tools::{self, Answer};
use kit::{Disk, Pando, people};
use rustix::process::Signal;

/// Makes a node with some hundred people, not served.
fn node() -> Pando {
    let pando = Pando::init();
    let mut entries = vec![people::unit("People")];
    entries.extend((0..400_u64).map(|number| {
        let mut person = people::person(&format!("user{number}"));
        // The entries are large, so that neither an export nor a backup fits into a pipe.
        let noise: String = (0..40_u64)
            .map(|at| {
                format!(
                    "{:016x}",
                    (number * 40 + at).wrapping_mul(0x9E37_79B9_7F4A_7C15)
                )
            })
            .collect();
        person.push("description", noise.into_bytes());
        person
    }));
    let ldif: String = entries.iter().map(kit::ldif::print).collect();
    let file = pando.folder.write("people.ldif", ldif);
    pando.run_on_node(&["import"], &[&text(&file)]).expect(0);
    pando
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Runs a script in the folder of the node, with `$pando` set and the node in `node`; a pipe fails
/// when any command of it does.
fn script(pando: &Pando, script: &str) -> Answer {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "120", "bash", "-c"])
        .arg(format!("set -o pipefail; {script}"))
        .current_dir(pando.folder.path())
        .env("pando", kit::pando::program())
        .env("LC_ALL", "C.UTF-8");
    tools::run_command(&mut command, "")
}

/// Runs a subcommand in the folder with these bytes on standard input.
fn with_input(pando: &Pando, args: &[&str], input: &[u8]) -> Answer {
    let file = pando.folder.write("input", input);
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "120", "bash", "-c"])
        // The input comes through a pipe.
        .arg("cat \"$0\" | \"$pando\" \"$@\"")
        .arg(file)
        .args(args)
        .current_dir(pando.folder.path())
        .env("pando", kit::pando::program());
    let answer = tools::run_command(&mut command, "");
    fs::remove_file(pando.folder.join("input")).expect("it was there");
    answer
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |it: fs::DirEntry| it.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|it| name(it.expect("an entry"))).collect();
    names.sort();
    names
}

fn export_of(pando: &Pando, node: &str) -> String {
    pando.run(&["export", node]).expect(0).out
}

/// Returns a backup as one file.
fn single(pando: &Pando) -> Vec<u8> {
    pando
        .run_on_node(&["backup", "--single"], &["single.zst"])
        .expect(0);
    let path = pando.folder.join("single.zst");
    let whole = fs::read(&path).expect("made");
    fs::remove_file(path).expect("it was there");
    whole
}

#[test]
fn a_new_server_is_made_of_a_stream() {
    let mut pando = node();
    let export = pando.export();
    let pipe = "\"$pando\" backup node - --single | \"$pando\" restore - new";
    script(&pando, pipe)
        .expect(0)
        .says("start it with: pando serve new");
    assert_eq!(export_of(&pando, "new"), export);
    let settings =
        |node: &str| fs::read(pando.folder.join(node).join("pando.toml")).expect("there");
    assert_eq!(settings("new"), settings("node"));
    pando.run(&["check", "new"]).expect(0);
    // The node is served, and the destination varies.
    pando.serve();
    let pipe = "\"$pando\" backup node - --single | tee kept | \"$pando\" verify -";
    script(&pando, pipe).expect(0).says("no problem found");
    script(&pando, "\"$pando\" verify - --within new <kept")
        .expect(0)
        .says("no problem found");
    assert!(
        !names(pando.folder.path())
            .iter()
            .any(|it| it.starts_with("pando-verify-"))
    );
    assert_eq!(names(&pando.folder.join("new")), ["data", "pando.toml"]);
}

#[test]
fn a_stream_that_is_not_whole_leaves_nothing() {
    let pando = node();
    let whole = single(&pando);
    let before = names(pando.folder.path());
    let refused = |input: &[u8], what: &str| {
        for args in [&["restore", "-", "new"][..], &["verify", "-"]] {
            let answer = with_input(&pando, args, input).expect(1);
            let said = &answer.err;
            assert!(
                said.contains(what) && said.lines().count() == 1,
                "{what}: {said}"
            );
            assert!(said.contains("standard input"), "{said}");
            assert_eq!(names(pando.folder.path()), before);
        }
    };
    refused(b"", "expected a backup, got nothing");
    refused(b"dn: dc=example,dc=com\n", "got something else");
    refused(&whole[..3], "expected a whole backup, got an early end");
    refused(
        &whole[..whole.len() / 2],
        "expected a whole backup, got an early end",
    );
    refused(
        &[&whole[..], b"more"].concat(),
        "expected nothing behind the backup, got more",
    );
    for missing in [1, 9, 700] {
        refused(&whole[..whole.len() - missing], "expected ");
    }
    // Damaged are the data, the checksum of zstd, the settings, lengths, and the final mark.
    let end = whole.len();
    let frame = (0..end - 8)
        .rev()
        .find(|at| whole[*at..].starts_with(&0x184D_2A50_u32.to_le_bytes()))
        .expect("the frame at the end");
    for at in [end / 2, frame - 2, frame + 5, end - 40, end - 12, end - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        refused(&damaged, "");
    }
    // The manifest belongs to another database.
    let changed = [&zstd_of(b"no database at all"), &whole[frame..]].concat();
    refused(&changed, "the file is damaged");
    // An existing database is not touched, and the stream is not even read.
    let existing = with_input(&pando, &["restore", "-", "node"], &whole).expect(1);
    existing.says("expected a node without a database");
    with_input(&pando, &["restore", "-", "new"], &whole).expect(0);
}

/// Returns a frame of zstd with one uncompressed block.
fn zstd_of(content: &[u8]) -> Vec<u8> {
    let length = content.len() as u8;
    let block = (u32::from(length) << 3 | 1).to_le_bytes();
    let head = [0x28, 0xb5, 0x2f, 0xfd, 0x20, length];
    [&head, &block[..3], content].concat()
}

#[test]
fn a_stream_may_stand_in_a_file_or_break_off_and_a_terminal_is_none() {
    let pando = node();
    fs::write(pando.folder.join("kept"), single(&pando)).expect("written");
    script(&pando, "\"$pando\" restore - new <kept").expect(0);
    // The program at the other end fails.
    let broken = script(
        &pando,
        "(head -c 9000 kept; false) | \"$pando\" restore - broken",
    );
    broken.expect(1).says("got an early end");
    assert!(!pando.folder.join("broken").exists());
    for command in ["restore - more", "verify -", "backup node - --single"] {
        let script_of = format!("script -qec '\"$pando\" {command}' /dev/null </dev/null");
        let answer = script(&pando, &script_of).expect(2);
        answer.says("terminal");
    }
    assert!(!pando.folder.join("more").exists());
    let folder = pando.run_on_node(&["backup"], &["-"]).expect(2);
    folder.says("expected --single with standard output");
}

#[test]
fn who_waits_for_a_stream_can_be_told_to_stop() {
    let pando = node();
    let whole = single(&pando);
    let before = names(pando.folder.path());
    let mut command = Command::new(kit::pando::program());
    let (from, mut into) = std::io::pipe().expect("a pipe");
    command
        .args(["restore", "-", "new"])
        .current_dir(pando.folder.path());
    let mut running = Running::start_reading("pando restore", &mut command, from.into());
    drop(command);
    std::io::Write::write_all(&mut into, &whole[..1000]).expect("it reads");
    until("it has begun", || {
        pando.folder.join("new/data.partial").exists().then_some(())
    });
    running.signal(Signal::TERM);
    let status = running.wait();
    assert_eq!(status.code(), Some(1), "{}", running.log());
    assert!(running.log().contains("cancelled"), "{}", running.log());
    assert_eq!(names(pando.folder.path()), before);
}

#[test]
fn a_stream_leaves_room_for_others() {
    let disk = Disk::new();
    if !disk.has_an_end() {
        eprintln!("the file system has no end here: nothing to look at");
        return;
    }
    let pando = node();
    let file = pando.folder.write("kept", single(&pando));
    let prefix = disk.prefix();
    let mut command = Command::new(&prefix[0]);
    let script = "\"$0\" restore - \"$1/new\" <\"$2\"; status=$?; ls \"$1\"; exit $status";
    command
        .args(&prefix[1..])
        .args(["timeout", "--kill-after=5", "120", "bash", "-c", script])
        .arg(kit::pando::program())
        .arg(disk.path())
        .arg(file);
    let answer = tools::run_command(&mut command, "").expect(1);
    assert_eq!(answer.out, "filler\n");
    answer.says("and a reserve of 64 MiB");
}

#[test]
fn a_pipe_that_is_closed_is_told() {
    let pando = node();
    let closed = |args: &[&str]| {
        let (from, into) = std::io::pipe().expect("a pipe");
        drop(from);
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", "120"])
            .arg(kit::pando::program())
            .args(args)
            .current_dir(pando.folder.path())
            .stdin(Stdio::null())
            .stdout(into)
            .stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        drop(command);
        let ended = child.wait_with_output().expect("it is ours");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{args:?}: {said}");
        let expected = "the output was closed before everything was written";
        assert!(said.contains(expected), "{args:?}: {said}");
    };
    for args in [
        &["export", "node"][..],
        &["export", "node", "-o", "-", "--compress", "zstd"],
        &["export", "node", "--format", "ber"],
        &["backup", "node", "-", "--single"],
    ] {
        closed(args);
    }
    // The status of a pipe is that of the first failure in it.
    let answer = script(&pando, "\"$pando\" export node | head -c 10");
    answer.expect(1).says("the output was closed");
    assert!(
        !names(pando.folder.path())
            .iter()
            .any(|it| it == "-" || it == "-.partial")
    );
}

#[test]
fn nothing_but_the_export_goes_to_standard_output() {
    let pando = node();
    let export = pando.export();
    let to = |args: &[&str]| pando.run_on_node(&["export"], args).expect(0);
    assert_eq!(to(&["-o", "-"]).out, export);
    assert!(to(&["-o", "-"]).err.contains("entries exported"));
    for (how, tool) in [("gzip", "gzip -dc"), ("none", "cat")] {
        let pipe = format!("\"$pando\" export node -o - --compress {how} 2>/dev/null | {tool}");
        assert_eq!(script(&pando, &pipe).expect(0).out, export);
    }
    // The file name selects the compression by default.
    to(&["-o", "plain.zst", "--compress", "none"]);
    assert_eq!(pando.folder.read("plain.zst"), export);
}

#[test]
fn compressed_streams_are_imported() {
    let pando = node();
    let export = pando.export();
    for (number, how) in ["none", "gzip", "zstd"].into_iter().enumerate() {
        for format in ["ldif", "ber"] {
            let to = format!("to-{number}-{format}");
            let init = ["init", &to, "--suffix", kit::SUFFIX, "--no-base"];
            pando.run(&init).expect(0);
            let pipe = format!(
                "\"$pando\" export node --compress {how} --format {format} \
                 | \"$pando\" import {to} -"
            );
            script(&pando, &pipe).expect(0);
            assert_eq!(export_of(&pando, &to), export, "{how}, {format}");
        }
    }
}

/// A tool of every machine stands for a program that encrypts a stream.
#[test]
fn exports_and_backups_go_through_a_tool_that_encrypts() {
    let pando = node();
    let export = pando.export();
    pando.folder.write("key", "a key of the tests\n");
    let tool = "openssl enc -aes-256-ctr -pbkdf2 -pass file:key";
    let pipe = format!("\"$pando\" export node -o - --compress zstd | {tool} >people.enc");
    script(&pando, &pipe).expect(0);
    let init = ["init", "imported", "--suffix", kit::SUFFIX, "--no-base"];
    pando.run(&init).expect(0);
    let pipe = format!("{tool} -d <people.enc | \"$pando\" import imported -");
    script(&pando, &pipe).expect(0);
    assert_eq!(export_of(&pando, "imported"), export);
    let pipe = format!("\"$pando\" backup node - --single | {tool} >backup.enc");
    script(&pando, &pipe).expect(0);
    let encrypted = fs::read(pando.folder.join("backup.enc")).expect("written");
    assert!(encrypted.starts_with(b"Salted__"));
    let pipe = format!("{tool} -d <backup.enc | \"$pando\" restore - restored");
    script(&pando, &pipe).expect(0);
    assert_eq!(export_of(&pando, "restored"), export);
    // The key is wrong.
    pando.folder.write("key", "another one\n");
    let answer = script(&pando, &pipe.replace("restored", "other"));
    answer
        .expect(1)
        .says("expected a backup as one file, got something else");
    assert!(!pando.folder.join("other").exists());
}
