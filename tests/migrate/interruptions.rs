//! Interruptions of a migration, by the old server and by the operator.

use super::{Move, person};
use kit::client::Modification;
use kit::{Entry, SUFFIX, people};

#[test]
fn a_copy_that_is_killed_begins_again() {
    let mut moved = Move::new("", 1_000);
    let mut command = moved.start();
    command.wait_for("copying", |line| line.contains("copying").then_some(()));
    command.kill();
    moved.run(&["--once"]).expect(0);
    moved.pando.assert_clean();
    moved.pando.serve();
    moved.assert_same();
}

#[test]
fn an_old_cookie_does_no_harm() {
    let mut moved = Move::new("", 200);
    moved.run(&["--once"]).expect(0);
    moved.pando.serve();
    let mut admin = moved.old_admin();
    admin.delete(&person("extra7")).expect_success();
    admin.add(&people::person("alan")).expect_success();
    // The cookie is from before the first change that the old server knows.
    let path = moved.pando.node().join("pando-migrate.ldif");
    let state = std::fs::read_to_string(&path).expect("the state is kept");
    let (before, _) = state
        .split_once("csn=")
        .expect("slapd's cookie names a moment");
    let old = format!("{before}csn=20000101000000.000000Z#000000#000#000000\n");
    std::fs::write(&path, old).expect("our own file");
    let answer = moved.run(&["--once"]).expect(0);
    answer.says("1 added, 0 changed, 1 deleted");
    moved.assert_same();
}

#[test]
fn definitions_come_while_it_follows() {
    let mut moved = Move::new("database config\nrootpw configuration\n", 5);
    moved.run(&["--once"]).expect(0);
    moved.pando.serve();
    let mut command = moved.start();
    command.wait_for("in sync", |line| line.contains("in sync").then_some(()));
    let mut config = moved.old.client();
    config.bind("cn=config", "configuration").expect_success();
    let schema: [(&str, &[&str]); 4] = [
        ("objectClass", &["olcSchemaConfig"]),
        ("cn", &["late"]),
        (
            "olcAttributeTypes",
            &["( 1.3.6.1.4.1.4203.666.99.11 NAME 'lateName' SUP name )"],
        ),
        (
            "olcObjectClasses",
            &["( 1.3.6.1.4.1.4203.666.99.12 NAME 'late' SUP top AUXILIARY MUST lateName )"],
        ),
    ];
    let entry = Entry::of("cn=late,cn=schema,cn=config", &schema);
    config.add(&entry).expect_success();
    let change = [
        Modification::add("objectClass", &["late"]),
        Modification::add("lateName", &["here"]),
    ];
    let mut admin = moved.old_admin();
    admin.modify(&person("ada"), &change).expect_success();
    moved.converges(&command);
    assert!(command.stop().success());
    let log = command.log();
    assert!(log.contains("taken over: lateName"), "{log}");
    assert!(!log.contains("refused"), "{log}");
}

#[test]
fn one_at_a_time_works_on_a_folder() {
    let mut moved = Move::new("", 5);
    let mut command = moved.start();
    command.wait_for("pando serve", |line| {
        line.contains("pando serve").then_some(())
    });
    moved
        .run(&["--once"])
        .expect(1)
        .says("another `pando migrate`");
    command.kill();
    moved.pando.serve();
    moved.run(&["--once"]).expect(0);
}

/// Parts of a tree are copied, each with a cookie of its own; other entries stay.
#[test]
fn parts_of_a_server_are_copied() {
    let mut moved = Move::new("", 20);
    let (people, groups) = (format!("ou=People,{SUFFIX}"), format!("ou=Groups,{SUFFIX}"));
    let bases = ["--once", "--base", &people, "--base", &groups];
    moved.run(&bases).expect(0).says("copying ou=People");
    moved.pando.serve();
    let mut admin = moved.old_admin();
    admin.add(&people::unit("Elsewhere")).expect_success();
    let mut entry = people::person("alan");
    entry.name = format!("uid=alan,{groups}");
    admin.add(&entry).expect_success();
    // An entry moves from one part into the other: deleted here, added there, with the same UUID.
    admin
        .rename(&person("grace"), "uid=grace", false, Some(&groups))
        .expect_success();
    admin.delete(&person("extra3")).expect_success();
    moved
        .pando
        .admin()
        .add(&people::unit("Own"))
        .expect_success();
    let other = moved.run(&["--once", "--base", SUFFIX]).expect(1);
    other.says("other bases need a node of their own");
    let answer = moved.run(&["--once", "--report", "-"]).expect(0);
    assert!(
        answer
            .out
            .contains(" 0 of them different; 0 only on the old server"),
        "{}",
        answer.out
    );
    let mut here = moved.pando.admin();
    assert!(here.read(&format!("ou=Own,{SUFFIX}")).is_some());
    assert!(here.read(&format!("ou=Elsewhere,{SUFFIX}")).is_none());
    assert!(here.read(&format!("uid=grace,{groups}")).is_some());
}
