//! `pando conformance` against a served node: its output, exit status, and leftover entries.

use kit::{ADMIN, PASSWORD, Pando, SUFFIX};
use protocol::Scope;
use serde_json::Value;

use super::{Shell, one_line};

fn examine(pando: &Pando, more: &[&str]) -> kit::tools::Answer {
    pando.folder.write("password", format!("{PASSWORD}\n"));
    let url = pando.url();
    let mut all = vec!["conformance", "--url", &url];
    all.extend(["-D", ADMIN, "-y", "password"]);
    all.extend(more);
    pando.run(&all)
}

#[test]
fn a_table_and_nothing_left_behind() {
    let pando = Pando::start();
    let answer = examine(&pando, &["--only", "rfc4511-4.8,rfc4514-2.3"]).expect(0);
    assert!(answer.out.contains("RFC 4511 protocol"), "{}", answer.out);
    assert!(
        answer.out.contains("RFC 4514 distinguished names"),
        "{}",
        answer.out
    );
    assert!(!answer.out.contains("RFC 4517"), "{}", answer.out);
    let mut admin = pando.admin();
    let found = admin.search(SUFFIX, Scope::WholeSubtree, "(ou=conformance*)", &["1.1"]);
    assert_eq!(found.entries.len(), 0, "{found:?}");
}

#[test]
fn json_for_programs() {
    let pando = Pando::start();
    let answer = examine(&pando, &["--json", "--only", "rfc4511-4.8"]).expect(0);
    let report: Value = serde_json::from_str(&answer.out).expect("it is JSON");
    assert_eq!(report["failed"], 0);
    let clauses = report["clauses"].as_array().expect("a list");
    assert!(clauses.len() >= 5);
    assert!(
        clauses.iter().all(|it| it["verdict"] == "passed"),
        "{report}"
    );
    assert_eq!(clauses[0]["standard"], "rfc4511");
}

#[test]
fn without_a_name_only_reading() {
    let pando = Pando::start();
    let url = pando.url();
    let args = [
        "conformance",
        "--url",
        &url,
        "--only",
        "rfc4511-4.8",
        "--verbose",
    ];
    let answer = pando.run(&args).expect(0);
    assert!(
        answer.out.contains("not offered: rfc4511-4.8-"),
        "{}",
        answer.out
    );
}

#[test]
fn names_and_mistakes() {
    let shell = Shell::new();
    let list = shell
        .pando(&["conformance", "--list", "--only", "rfc2696"])
        .expect(0);
    assert!(list.out.lines().count() >= 5, "{}", list.out);
    assert!(list.out.starts_with("rfc2696-3-"), "{}", list.out);
    one_line(
        shell.pando(&["conformance", "--only", "rfc1"]),
        2,
        &["--only", "rfc1"],
    );
    one_line(
        shell.pando(&["conformance", "--url", "http://x"]),
        2,
        &["--url", "http://x"],
    );
    one_line(
        shell.pando(&["conformance", "-D", "cn=x"]),
        2,
        &["-D", "password"],
    );
    let refused = ["conformance", "--url", "ldap://127.0.0.1:1"];
    one_line(
        shell.pando(&refused),
        1,
        &["ldap://127.0.0.1:1", "connection"],
    );
}
