//! Which etcd is taken, and which is refused.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cluster::etcd::EtcdProgram;
use cluster::etcd::program::OLDEST;

use crate::world::program;

/// Writes a program that prints `line`.
fn printing(folder: &Path, line: &str) -> std::path::PathBuf {
    let path = folder.join("etcd");
    // Written beside and moved: no other test's child may have it open for writing when it starts.
    let beside = folder.join("written");
    std::fs::write(&beside, format!("#!/bin/sh\necho '{line}'\n")).unwrap();
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&beside, &path).unwrap();
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
                   or set cluster.etcd_program to the path of a newer one";
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
