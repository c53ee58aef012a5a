//! LDAP libraries that applications use, as clients of a running Pando.
//!
//! Each test starts a server and runs one small program of `python/`, `java/` or `go/`, written
//! against the library's own interface. A program exits with 0, or prints the expected and the
//! actual value.

mod go_ldap;
mod java;
mod jndi;
mod ldap3;
mod python_ldap;
mod unboundid;
mod unboundid_tools;

use std::path::{Path, PathBuf};
use std::process::Command;

use kit::tools::{self, Answer};
use kit::{ADMIN, PASSWORD, Pando, SUFFIX, ldif, people};

/// Serves a node with the sample people.
fn with_people() -> Pando {
    let pando = Pando::start();
    add_people(&pando);
    pando
}

fn add_people(pando: &Pando) {
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
}

/// Serves a node with `p0` … `p2999` below `ou=People`.
fn with_many_people() -> Pando {
    let mut pando = Pando::init();
    let mut text = ldif::print(&people::unit("People"));
    for number in 0..3000 {
        text.push_str(&ldif::print(&people::person(&format!("p{number}"))));
    }
    let file = pando.folder.write("people.ldif", text);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    pando.serve();
    pando
}

/// Serves two nodes: the first has a referral object for `ou=People`, which the second holds.
fn with_referral() -> (Pando, Pando) {
    let (here, there) = (Pando::start(), with_people());
    let mut referral = people::unit("People");
    referral.name = format!("ou=People,{SUFFIX}");
    let classes = ["referral", "extensibleObject"].map(|it| it.as_bytes().to_vec());
    referral.attributes[0].1 = classes.to_vec();
    let url = format!("{}/ou=People,{SUFFIX}", there.url());
    referral.push("ref", url.into_bytes());
    let mut admin = here.admin();
    admin.add(&referral).expect_success();
    admin.add(&people::unit("Groups")).expect_success();
    (here, there)
}

/// Returns the folder of this file.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("libraries")
}

/// Returns the folder into which `tests/libraries/install` has put a part.
fn installed(part: &str) -> PathBuf {
    let folder = sources().join("../../target/libraries").join(part);
    assert!(
        folder.join("installed").exists(),
        "{} is not complete: run `tests/libraries/install` first (`.ci/run libraries` does)",
        folder.display()
    );
    folder
}

/// Returns a command in a folder that ends after five minutes: a loaded machine compiles slowly.
fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "300"]).arg(program);
    command.current_dir(folder);
    command
}

/// Runs a program for five minutes at most, with the site in its environment.
#[track_caller]
fn run(program: &Path, args: &[&str], environment: &[(&str, &str)]) -> Answer {
    let mut command = command(program, &sources());
    command.args(args).envs(environment.iter().copied());
    command.envs([("SUFFIX", SUFFIX), ("ADMIN", ADMIN), ("PASSWORD", PASSWORD)]);
    command.envs([("LDAPNOINIT", "1"), ("LC_ALL", "C.UTF-8")]);
    tools::run_command(&mut command, "")
}

/// Runs a program of `python/`, which must succeed.
#[track_caller]
fn python(program: &str, args: &[&str]) {
    let interpreter = installed("python").join("bin/python");
    let mut all = vec!["-B", program];
    all.extend(args);
    run(&interpreter, &all, &[]).expect(0);
}
