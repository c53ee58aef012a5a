//! go-ldap, the usual library for Go.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kit::{Secure, tools};

use crate::{
    add_people, command, installed, run, sources, with_many_people, with_people, with_referral,
};

/// Runs one part of the program of `go/`, which must succeed.
#[track_caller]
fn go(part: &str, args: &[&str]) {
    run(program(), &[&[part], args].concat(), &[]).expect(0);
}

/// Returns the program; the first call compiles it, without the network.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libraries-go");
        let folder = installed("go");
        let mut build = command(Path::new("go"), &sources().join("go"));
        build.arg("build").arg("-o").arg(&program).arg(".");
        build.env("GOMODCACHE", folder.join("modules"));
        build.env("GOCACHE", folder.join("cache"));
        build.envs([("GOPROXY", "off"), ("GOTOOLCHAIN", "local")]);
        build.env("GOFLAGS", "-modcacherw");
        tools::run_command(&mut build, "").expect(0);
        program
    })
}

#[test]
fn life_of_an_entry() {
    let pando = with_people();
    go("life", &[&pando.url()]);
}

#[test]
fn pages_and_order() {
    let pando = with_many_people();
    go("lists", &[&pando.url()]);
}

#[test]
fn following_changes() {
    let pando = with_people();
    go("following", &[&pando.url()]);
}

#[test]
fn controls() {
    let pando = with_people();
    go("controls", &[&pando.url()]);
}

#[test]
fn transactions() {
    let pando = with_people();
    go("transactions", &[&pando.url()]);
}

#[test]
fn referrals() {
    let (here, there) = with_referral();
    go("referrals", &[&here.url(), &there.url()]);
}

#[test]
fn tls() {
    let server = Secure::start();
    add_people(&server.pando);
    let certificate = server.certificate.to_string_lossy();
    go("tls", &[&server.pando.url(), &server.url, &certificate]);
}
