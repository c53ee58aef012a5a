//! Which etcd is taken, and which is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::etcd::EtcdProgram;
use cluster::etcd::program::OLDEST;

use crate::world::program;

/// Makes a program that prints `line`. A shell writes it: a child of another test could inherit the
/// file while it is open for writing, and then it could not be started.
fn printing(folder: &Path, line: &str) -> PathBuf {
    let path = folder.join(line.replace(' ', "-"));
    let script = "printf '#!/bin/sh\\necho \"%s\"\\n' \"$1\" >\"$2\" && chmod 755 \"$2\"";
    let written = Command::new("sh")
        .args(["-c", script, "sh", line])
        .arg(&path)
        .status();
    assert!(written.unwrap().success());
    path
}

fn refusal(setting: &Path) -> String {
    EtcdProgram::find(Some(setting)).unwrap_err().to_string()
}

#[test]
fn the_etcd_of_the_tests_is_new_enough() {
    let program = program();
    assert!(program.version >= OLDEST, "{program:?}");
    assert!(program.path.is_absolute(), "{program:?}");
}

#[test]
fn an_old_etcd_is_refused_with_its_version_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = printing(folder.path(), "etcd Version: 3.4.23");
    let way_out = "run `make etcd` in Pando's sources, \
                   or name one in pando.toml by cluster.etcd_program";
    assert_eq!(
        refusal(&path),
        format!(
            "expected etcd 3.6.0 or later, {} is 3.4.23: {way_out}",
            path.display()
        )
    );
}

#[test]
fn what_is_no_etcd_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = refusal(&folder.path().join("nothing"));
    assert!(
        missing.contains("nothing cannot be started: No such file"),
        "{missing}"
    );
    let other = refusal(&printing(folder.path(), "consul 1.2"));
    assert!(other.contains("it printed \"consul 1.2\""), "{other}");
}

#[test]
fn the_first_that_is_new_enough_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let [older, old, new, newer] = ["3.3.1", "3.5.9", "3.6.1", "3.7.3"]
        .map(|version| printing(folder.path(), &format!("etcd Version: {version}")));
    let paths = [&missing, &older, &old, &new, &newer].map(PathBuf::clone);
    assert_eq!(EtcdProgram::first_of(paths).unwrap().path, new);
    let refused = EtcdProgram::first_of([missing, older, old]).unwrap_err();
    assert!(refused.to_string().contains(" is 3.3.1: "), "{refused}");
    let none = EtcdProgram::first_of([]).unwrap_err().to_string();
    assert!(
        none.starts_with("expected etcd 3.6.0 or later in PATH, found none: "),
        "{none}"
    );
}
