//! Programs that store accounts, groups, keys and passwords in a directory, run against Pando.
//!
//! Each test starts a server, runs a program of a Debian package on files and a folder of its own,
//! and checks the entries that the server holds afterwards. No service of the packages runs.
//! `.ci/run programs` installs the packages and runs these tests.

mod dovecot;
mod kerberos;
mod ldapscripts;
mod smbldap;
mod web;

use std::path::{Path, PathBuf};
use std::process::Command;

use kit::client::Entry;
use kit::tools::{self, Answer};
use kit::{Pando, SUFFIX, people};
use protocol::Scope;

/// Serves a node with the units `People`, `Groups` and `Computers`.
fn with_units() -> Pando {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for unit in ["People", "Groups", "Computers"] {
        admin.add(&people::unit(unit)).expect_success();
    }
    pando
}

/// Returns a person who can log in to Unix systems, below `ou=People`.
fn unix_person(uid: &str) -> Entry {
    Entry::of(
        &format!("uid={uid},ou=People,{SUFFIX}"),
        &[
            ("objectClass", &["inetOrgPerson", "posixAccount"]),
            ("uid", &[uid]),
            ("cn", &["Ada Lovelace"]),
            ("sn", &["Lovelace"]),
            ("uidNumber", &["10000"]),
            ("gidNumber", &["10000"]),
            ("homeDirectory", &[&format!("/home/{uid}")]),
        ],
    )
}

/// Returns the only entry that a filter finds, as read by the administrator.
#[track_caller]
fn only(pando: &Pando, filter: &str) -> Entry {
    let found = pando
        .admin()
        .search(SUFFIX, Scope::WholeSubtree, filter, &[]);
    let names: Vec<&str> = found.entries.iter().map(|it| &*it.name).collect();
    assert_eq!(names.len(), 1, "{filter} finds {names:?}");
    found.entries.into_iter().next().expect("there is one")
}

/// Asserts the values of attributes, in any order.
#[track_caller]
fn assert_holds(entry: &Entry, attributes: &[(&str, &[&str])]) {
    for (attribute, expected) in attributes {
        let (mut values, mut expected) = (entry.texts(attribute), expected.to_vec());
        values.sort();
        expected.sort_unstable();
        assert_eq!(values, expected, "{attribute} of {}", entry.name);
    }
}

/// Runs a program for two minutes at most, with variables and with text on standard input.
fn run(program: &str, args: &[&str], environment: &[(&str, &Path)], input: &str) -> Answer {
    assert!(
        Path::new(program).exists(),
        "{program} is missing: `.ci/run programs` installs its Debian package"
    );
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "120", program])
        .args(args)
        .envs(environment.iter().copied())
        .env("LDAPNOINIT", "1")
        .env("LC_ALL", "C.UTF-8");
    tools::run_command(&mut command, input)
}

/// Returns the folder into which `tests/programs/install` has unpacked a package.
fn unpacked(package: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/programs");
    let folder = folder.join(package);
    assert!(
        folder.exists(),
        "{} is missing: run `tests/programs/install` first (`.ci/run programs` does)",
        folder.display()
    );
    folder
}
