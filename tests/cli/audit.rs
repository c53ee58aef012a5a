//! The audit: lines about changes, and `pando audit`.

use std::fs;
use std::path::{Path, PathBuf};

use kit::client::Modification;
use kit::process::until;
use kit::{Pando, SUFFIX, people};
use protocol::{ResultCode, Scope};
use serde_json::Value;

use super::one_line;

/// Sets lines in a section of a node's settings.
fn set(pando: &Pando, lines: &[(&str, &str)]) {
    let settings = pando.node().join("pando.toml");
    let text = fs::read_to_string(&settings).expect("the settings");
    let (before, section) = text.split_once("[audit]\n").expect("a section");
    let mut section = section.to_owned();
    for (from, to) in lines {
        section = section.replacen(from, to, 1);
    }
    fs::write(&settings, format!("{before}[audit]\n{section}")).expect("written");
}

/// A served node whose changes are audited.
fn audited() -> Pando {
    let mut pando = Pando::init();
    set(&pando, &[("#enabled = false", "enabled = true")]);
    pando.serve();
    pando
}

fn lines(pando: &Pando, args: &[&str]) -> Vec<Value> {
    let shown = pando.run_on_node(&["audit", "show"], args).expect(0).out;
    let parse = |line: &str| serde_json::from_str(line).expect("JSON");
    shown.lines().map(parse).collect()
}

fn files(pando: &Pando) -> Vec<PathBuf> {
    let folder = pando.node().join("data/audit");
    let all = fs::read_dir(folder).expect("the folder");
    let paths = all.map(|it| it.expect("a file").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|it| it.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    files.sort();
    files
}

fn verify(pando: &Pando) -> kit::tools::Answer {
    pando.run_on_node(&["audit", "verify"], &[])
}

#[test]
fn a_line_says_who_changed_what_and_no_secret() {
    let pando = audited();
    let mut admin = pando.admin();
    let name = people::person("ada").name;
    admin.add(&people::unit("People")).expect_success();
    let mut ada = people::person("ada");
    ada.push("userPassword", b"swordfish-1".to_vec());
    admin.add(&ada).expect_success();
    let mut own = pando.client();
    own.bind(&name, "swordfish-1").expect_success();
    let changes = [Modification::replace("userPassword", &["swordfish-2"])];
    own.modify(&name, &changes).expect_success();
    let changes = [
        Modification::replace("description", &["a \"quoted\" line\nand another", "plain"]),
        Modification::replace("jpegPhoto", &["x".repeat(2_000).as_str()]),
    ];
    admin.modify(&name, &changes).expect_success();
    let refused = admin.modify(&name, &[Modification::delete("pager", &[])]);
    refused.expect(ResultCode::NO_SUCH_ATTRIBUTE);
    let renamed = admin.rename(&name, "uid=countess", true, None);
    renamed.expect_success();
    admin
        .delete(&format!("uid=countess,ou=People,{SUFFIX}"))
        .expect_success();

    let all = lines(&pando, &[]);
    let operations: Vec<&str> = all
        .iter()
        .filter_map(|it| it["operation"].as_str())
        .collect();
    let expected = [
        "begin", "add", "add", "modify", "modify", "rename", "delete",
    ];
    assert_eq!(operations, expected);
    let uuid = all[2]["uuid"].as_str().expect("an entryUUID");
    assert_eq!(all[3]["by"]["uuid"], uuid);
    assert_eq!(all[3]["by"]["dn"], name.as_str());
    assert_eq!(all[3]["authentication"], "simple");
    assert_eq!(all[3]["from"], "127.0.0.1");
    assert_eq!(all[3]["rule"], "own password");
    let secret = &all[3]["changes"][0];
    assert_eq!(secret["attribute"], "userPassword");
    let counts = (&secret["secret"], &secret["deleted"], &secret["added"]);
    assert_eq!(counts, (&true.into(), &1.into(), &1.into()));
    assert_eq!(all[4]["rule"], "administrator");
    let text = all[4].to_string();
    assert!(
        text.contains("\"bytes\":2000") && text.contains("base64"),
        "{text}"
    );
    assert_eq!(all[5]["to"], format!("uid=countess,ou=People,{SUFFIX}"));
    assert_eq!(all[6]["uuid"], uuid);
    for file in files(&pando) {
        let text = fs::read_to_string(file).expect("text");
        assert!(
            !text.contains("swordfish") && !text.to_lowercase().contains("argon"),
            "{text}"
        );
    }
    verify(&pando).expect(0).says("7 lines, from 1 to 7");
    assert_eq!(lines(&pando, &["--who", uuid]).len(), 1);
    assert_eq!(lines(&pando, &["--entry", uuid]).len(), 5);
    let from = all[3]["position"].to_string();
    let later = lines(&pando, &["--position", &from, "--entry", &name]);
    assert_eq!(later.len(), 3);
}

/// Verification of a copy of a node's lines after `change`.
fn verify_changed(pando: &Pando, change: impl FnOnce(&mut Vec<String>)) -> kit::tools::Answer {
    let [file] = &files(pando)[..] else {
        panic!("one file");
    };
    let text = fs::read_to_string(file).expect("text");
    let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut rows);
    let to: &Path = file;
    fs::write(to, rows.join("\n") + "\n").expect("written");
    let verified = verify(pando);
    fs::write(to, text).expect("written");
    verified
}

#[test]
fn every_kind_of_forgery_is_found() {
    let mut pando = audited();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    for uid in ["a", "b", "c", "d"] {
        admin.add(&people::person(uid)).expect_success();
    }
    assert!(pando.stop().success());
    verify(&pando).expect(0).says("6 lines");
    let head = pando.run_on_node(&["audit", "head"], &[]).expect(0);
    let copy = pando
        .node()
        .join("data/audit")
        .to_string_lossy()
        .into_owned();
    let given = ["audit", "verify", &copy, "--head", head.out.trim()];
    pando.run(&given).expect(0).says("no problem found");

    let edited = verify_changed(&pando, |rows| {
        rows[3] = rows[3].replace("uid=a", "uid=x");
    });
    edited
        .expect(1)
        .says("line 3 is not the one that was written");
    let gap = verify_changed(&pando, |rows| drop(rows.remove(4)));
    gap.expect(1).says("line 4 is missing");
    let cut = verify_changed(&pando, |rows| rows.truncate(5));
    cut.expect(1).says("lines 5 to 6 are missing at the end");
    let last = verify_changed(&pando, |rows| {
        rows[6] = rows[6].replace("uid=d", "uid=e");
    });
    last.expect(1)
        .says("line 6 is not the one that the database knows");
    let twice = verify_changed(&pando, |rows| rows.insert(3, rows[3].clone()));
    twice.expect(1).says("expected line 4, found line 3");
    let headless = verify_changed(&pando, |rows| drop(rows.remove(0)));
    headless.expect(1).says("where the file begins");
    let garbage = verify_changed(&pando, |rows| rows[2] = "{}".to_owned());
    garbage.expect(1).says("row 3: expected a number");
    one_line(
        pando.run(&["audit", "verify", &copy, "--head", "6:zz"]),
        2,
        &["--head"],
    );
    verify(&pando).expect(0).says("no problem found");
}

#[test]
fn the_chain_goes_on_over_files_pauses_and_crashes() {
    let mut pando = audited();
    set(&pando, &[("#file_mib = 64", "file_mib = 1")]);
    assert!(pando.stop().success());
    pando.serve();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    admin.add(&people::person("ada")).expect_success();
    let name = people::person("ada").name;
    let values: Vec<String> = (0..600)
        .map(|it| format!("{it} {}", "v".repeat(990)))
        .collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    for _ in 0..3 {
        let all = [Modification::replace("description", &values)];
        admin.modify(&name, &all).expect_success();
        let none = [Modification::replace("description", &[])];
        admin.modify(&name, &none).expect_success();
    }
    pando.kill();
    assert!(files(&pando).len() > 1);
    verify(&pando).expect(0).says("9 lines");
    pando.serve();
    let mut admin = pando.admin();
    admin.add(&people::person("grace")).expect_success();
    verify(&pando).expect(0).says("10 lines");
    assert!(pando.stop().success());

    // A node alone ends its audit with the setting, and begins it again in the same chain.
    set(&pando, &[("enabled = true", "enabled = false")]);
    pando.serve();
    pando.admin().delete(&name).expect_success();
    assert!(pando.stop().success());
    set(&pando, &[("enabled = false", "enabled = true")]);
    pando.serve();
    until("the audit begins again", || {
        let all = lines(&pando, &[]);
        let last = all.iter().rev().map(|it| it["operation"].clone());
        (last.take(2).collect::<Vec<_>>() == ["begin", "end"]).then_some(())
    });
    verify(&pando).expect(0).says("12 lines, from 1 to 12");
}

#[test]
fn writes_are_refused_where_the_audit_is_required_and_cannot_be_written() {
    let mut pando = Pando::init();
    let lines = [
        ("#enabled = false", "enabled = true"),
        ("#required = false", "required = true"),
        ("#file_mib = 64", "file_mib = 1"),
    ];
    set(&pando, &lines);
    pando.serve();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    admin.add(&people::person("ada")).expect_success();
    let name = people::person("ada").name;
    let values: Vec<String> = (0..1_100)
        .map(|it| format!("{it} {}", "v".repeat(990)))
        .collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    // The file is full after this one, and another one cannot be made.
    let folder = pando.node().join("data/audit");
    let away = pando.node().join("data/elsewhere");
    let long = [Modification::replace("description", &values)];
    fs::rename(&folder, &away).expect("renamed");
    admin.modify(&name, &long).expect_success();
    let refused = admin.modify(&name, &[Modification::replace("title", &["never"])]);
    assert!(
        refused.diagnostic.contains("changes must be audited"),
        "{refused:?}"
    );
    refused.expect(ResultCode::UNAVAILABLE);
    let status = pando.run_on_node(&["status"], &[]).expect(0);
    status.says("refusing writes after line 4");
    let told = admin.search(
        "cn=Audit,cn=monitor",
        Scope::BaseObject,
        "(objectClass=*)",
        &["+"],
    );
    assert!(told.entries[0].has("pandoAuditTrouble"), "{told:?}");
    let ada = admin.read(&name).expect("reads go on");
    assert!(!ada.has("title"));
    fs::rename(&away, &folder).expect("renamed");
    until("writes are taken again", || {
        let done = admin.modify(&name, &[Modification::replace("title", &["at last"])]);
        (done.code == ResultCode::SUCCESS).then_some(())
    });
    verify(&pando).expect(0).says("no problem found");
    set(&pando, &[("enabled = true", "enabled = false")]);
    assert!(pando.stop().success());
    one_line(pando.serve_in_vain(), 2, &["audit.required"]);
}

/// A served node that writes lines about attempts every second, with ada, who has a password.
fn attempted() -> Pando {
    let mut pando = Pando::init();
    let lines = [
        ("#enabled = false", "enabled = true"),
        ("#attempts_interval_s = 60", "attempts_interval_s = 1"),
    ];
    set(&pando, &lines);
    pando.serve();
    let mut admin = pando.admin();
    admin.add(&people::unit("People")).expect_success();
    let mut ada = people::person("ada");
    ada.push("userPassword", b"swordfish-1".to_vec());
    admin.add(&ada).expect_success();
    pando
}

/// Lines about attempts with a value under a key, once they have counted this many.
fn attempts(pando: &Pando, key: &str, value: &str, count: u64) -> Vec<Value> {
    until(&format!("{count} attempts with {key} {value}"), || {
        let mut found = lines(pando, &["--attempts"]);
        found.retain(|it| it[key] == value);
        let counts = found
            .iter()
            .map(|it| it["count"].as_u64().expect("a count"));
        (counts.sum::<u64>() == count).then_some(found)
    })
}

#[test]
fn failed_binds_are_counted_by_account_and_names_of_nobody_are_hidden() {
    let pando = attempted();
    let name = people::person("ada").name;
    let mistyped = "correct horse battery staple";
    for _ in 0..3 {
        pando.client().bind(&name, "swordfish-2");
        pando.client().bind(&name.to_uppercase(), "swordfish-3");
        pando
            .client()
            .bind(&format!("uid={mistyped},{SUFFIX}"), "x");
    }
    pando.client().bind(mistyped, "swordfish-1");
    pando.client().bind(&name, "swordfish-1").expect_success();
    let found = attempts(&pando, "entry", &name, 6);
    assert_eq!(found[0]["operation"], "failed-bind", "{found:?}");
    assert_eq!(found[0]["uuid"].as_str().map(str::len), Some(36));
    assert_eq!(found[0]["mechanism"], "simple");
    assert_eq!(found[0]["from"], "127.0.0.1");
    assert_eq!(found[0]["result"], "invalidCredentials");
    assert!(found[0]["first"].as_str() <= found[0]["last"].as_str());
    attempts(&pando, "result", "invalidDNSyntax", 1);
    let all = attempts(&pando, "result", "invalidCredentials", 9);
    let hashes = all.iter().filter_map(|it| it["name_hash"].as_str());
    let hashes: std::collections::BTreeSet<&str> = hashes.collect();
    assert_eq!(hashes.len(), 1, "{all:?}");
    let folder = pando.node().join("data/audit/attempts");
    for file in fs::read_dir(&folder).expect("the folder") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("text");
        let secret = ["swordfish", mistyped].map(|it| text.contains(it));
        assert_eq!(secret, [false, false], "{text}");
    }
    verify(&pando)
        .expect(0)
        .says("lines about failed binds and denials, from 1 to");
}

#[test]
fn denials_name_subject_rule_and_entry_and_forgery_is_found() {
    let mut pando = attempted();
    let name = people::person("ada").name;
    let mut ada = pando.client();
    ada.bind(&name, "swordfish-1").expect_success();
    for _ in 0..2 {
        let refused = ada.modify(&name, &[Modification::replace("title", &["x"])]);
        refused.expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    }
    let refused = ada.delete(&format!("uid=nobody,{SUFFIX}"));
    refused.expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(
        ada.search(SUFFIX, Scope::WholeSubtree, "(uid=ada)", &[])
            .entries
            .len(),
        1
    );
    // The last interval is written when the server stops.
    assert!(pando.stop().success());
    let all = lines(&pando, &["--attempts"]);
    let of = |request: &str| {
        let found = all.iter().find(|it| it["request"] == request);
        found.unwrap_or_else(|| panic!("{request} in {all:?}"))
    };
    let modify = of("modify");
    assert_eq!(modify["operation"], "denied");
    assert_eq!(modify["entry"], name.as_str());
    assert_eq!(modify["by"]["dn"], name.as_str());
    assert_eq!(modify["uuid"], modify["by"]["uuid"]);
    assert_eq!(modify["result"], "insufficientAccessRights");
    assert!(modify["rule"].as_str().is_some_and(|it| !it.is_empty()));
    let count: u64 = all.iter().filter_map(|it| it["count"].as_u64()).sum();
    assert_eq!(count, 3, "{all:?}");
    assert_eq!(of("delete").get("uuid"), None);
    assert_eq!(
        lines(&pando, &["--attempts", "--who", &name]).len(),
        all.len()
    );

    let folder = pando.node().join("data/audit/attempts");
    let file = folder.join(format!("{:020}.jsonl", 1));
    let text = fs::read_to_string(&file).expect("text");
    fs::write(&file, text.replacen("\"count\":", "\"count\":1", 1)).expect("written");
    let verified = verify(&pando);
    verified
        .expect(1)
        .says("line 1 is not the one that was written");
    fs::write(&file, text).expect("written");
    verify(&pando).expect(0).says("no problem found");
    // The chain goes on after a pause.
    pando.serve();
    pando.client().bind(&name, "swordfish-2");
    attempts(&pando, "operation", "failed-bind", 1);
    verify(&pando)
        .expect(0)
        .says("about failed binds and denials");
}
