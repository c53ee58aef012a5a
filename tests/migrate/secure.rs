//! Migration over TLS, and from a provider other than slapd: Pando.

use kit::client::Modification;
use kit::process::Running;
use kit::secure::Secure;
use kit::{ADMIN, PASSWORD, Pando, people};
use std::process::Command;

#[test]
fn a_node_moves_to_another_over_tls() {
    let old = Secure::start();
    let mut admin = old.pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    let mut new = Pando::init();
    new.folder.write("password", PASSWORD);
    let certificate = old.certificate.to_string_lossy().into_owned();
    let bind = ["-D", ADMIN, "-y", "password", "--once"];
    let from_start = ["--from", &old.url];
    let on_request = ["--from", &old.pando.url(), "--starttls"];
    let trusted = ["--ca", &certificate];

    let untrusted = [&from_start[..], &bind].concat();
    let answer = new.run_on_node(&["migrate"], &untrusted).expect(1);
    answer.says("certificate");
    let copy = [&on_request[..], &bind, &trusted].concat();
    let answer = new.run_on_node(&["migrate"], &copy).expect(0);
    answer.says("6 entries imported");

    new.serve();
    let mut command = Command::new(kit::pando::program());
    command.current_dir(new.folder.path());
    command.arg("migrate").arg(new.node());
    command.args(on_request).args(&bind[..4]).args(trusted);
    let mut command = Running::start("pando migrate", &mut command);
    command.wait_for("in sync", |line| line.contains("in sync").then_some(()));
    admin.delete(&super::person("grace")).expect_success();
    admin
        .rename(&super::person("ada"), "uid=augusta", true, None)
        .expect_success();
    let change = Modification::replace("sn", &["Dijkstra"]);
    admin
        .modify(&super::person("edsger"), &[change])
        .expect_success();
    kit::process::until("the new node has the changes", || {
        let there = super::tree(&mut admin);
        (super::tree(&mut new.admin()) == there).then_some(())
    });
    assert!(command.stop().success());
    // The provider does not know the cookie: it requires a refresh from the beginning.
    admin.delete(&super::person("edsger")).expect_success();
    let path = new.node().join("pando-migrate.ldif");
    let state = std::fs::read_to_string(&path).expect("the state is kept");
    let (before, _) = state.split_once("cookie: ").expect("it has a cookie");
    std::fs::write(&path, format!("{before}cookie: junk\n")).expect("our own file");
    let answer = new.run_on_node(&["migrate"], &copy).expect(0);
    answer
        .says("no longer knows what has changed since")
        .says("0 added, 0 changed, 1 deleted");
    // The folder records its source: to the node, another URL is another server.
    let other = [&from_start[..], &bind, &trusted].concat();
    let answer = new.run_on_node(&["migrate"], &other).expect(1);
    answer.says("remove the file");
}
