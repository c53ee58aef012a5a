//! Mistakes and faults of an old server, and the messages of the command about them.

use super::Move;
use kit::{ADMIN, Pando, SUFFIX, Slapd, people};

/// Runs the command against an old server, as its administrator by default.
fn migrate(pando: &Pando, old: &Slapd, args: &[&str]) -> kit::tools::Answer {
    let url = format!("ldap://{}", old.address());
    let mut all = vec!["--from", &url, "--once"];
    all.extend(args);
    pando.run_on_node(&["migrate"], &all)
}

#[test]
fn a_server_without_synchronisation_is_copied_plainly() {
    let old = Slapd::start();
    let mut pando = Pando::init();
    pando.folder.write("password", kit::PASSWORD);
    let bind = ["-D", ADMIN, "-y", "password"];
    let mut admin = old.client();
    admin.bind(ADMIN, kit::PASSWORD).expect_success();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    let answer = migrate(&pando, &old, &bind).expect(1);
    answer.says("overlay syncprov").says("--plain");
    let plain = ["-D", ADMIN, "-y", "password", "--plain"];
    migrate(&pando, &old, &plain)
        .expect(0)
        .says("6 entries imported");
    // The command runs again after changes: differing entries are changed, missing ones deleted.
    admin.delete(&super::person("grace")).expect_success();
    admin.add(&people::person("alan")).expect_success();
    pando.serve();
    let answer = migrate(&pando, &old, &plain).expect(0);
    answer.says("1 added, 0 changed, 1 deleted, 5 already identical");
    let (there, here) = (super::tree(&mut admin), super::tree(&mut pando.admin()));
    super::assert_same(&there, &here, "");
}

#[test]
fn wrong_passwords_and_limits_are_explained() {
    let further = format!(
        "limits dn.exact=\"uid=ada,ou=People,{SUFFIX}\" size=10\n\
         limits dn.exact=\"uid=grace,ou=People,{SUFFIX}\" size=unlimited\n"
    );
    let moved = Move::new(&further, 30);
    let pando = &moved.pando;
    pando.folder.write("wrong", "wrong\n");
    let answer = migrate(pando, &moved.old, &["-D", ADMIN, "-y", "wrong"]).expect(1);
    answer.says("invalidCredentials: check the name and the password");
    pando.folder.write("ada", "ada\n");
    let ada = super::person("ada");
    let answer = migrate(pando, &moved.old, &["-D", &ada, "-y", "ada"]).expect(1);
    answer.says("sizeLimitExceeded").says("olcLimits");
    pando.folder.write("grace", "grace\n");
    let grace = super::person("grace");
    let answer = migrate(pando, &moved.old, &["-D", &grace, "-y", "grace"]).expect(0);
    answer.says("no other entry came with userPassword: if there are any");
}

#[test]
fn nothing_is_mixed_by_mistake() {
    let mut moved = Move::new("", 5);
    moved.pando.serve();
    moved
        .pando
        .admin()
        .add(&people::unit("Own"))
        .expect_success();
    let answer = moved.run(&["--once"]).expect(1);
    answer.says("entries that are not from a migration");
    let pando = Pando::init();
    let unknown = ["--from", "ldap://127.0.0.1:1", "--once"];
    pando
        .run_on_node(&["migrate"], &unknown)
        .expect(1)
        .says("127.0.0.1:1");
    let wrong = ["--from", "ldaps://127.0.0.1", "--starttls"];
    pando
        .run_on_node(&["migrate"], &wrong)
        .expect(2)
        .says("--starttls");
    let answer = migrate(&pando, &moved.old, &["--base", "dc=nowhere,dc=com"]);
    answer.expect(1).says("dc=nowhere,dc=com: noSuchObject");
}
