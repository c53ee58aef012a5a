//! The steps of a migration: copy, serve, follow, cut over.

use super::{Move, assert_same, person, tree};
use kit::client::{Client, Modification};
use kit::process::until;
use kit::{ADMIN, PASSWORD, Pando, SUFFIX, people};

/// Number of people on the old server besides the sample.
const PEOPLE: usize = 2_000;

#[test]
fn a_server_moves_while_it_changes() {
    let mut moved = Move::new("syncprov-sessionlog 1000\n", PEOPLE);
    let answer = moved.run(&["--once"]).expect(0);
    let answer = answer.says("badgeNumber, badgeColour, badgeSecret, badgePassword\n");
    let answer = answer.says("badgeSecret: its syntax 1.3.6.1.4.1.4203.666.11.10.2.1 is not known");
    answer
        .says("OpenLDAPdisplayableObject, badgeHolder\n")
        .says("2,006 entries imported");
    let schema = moved.pando.run_on_node(&["schema", "show"], &["olc"]);
    schema.expect(1);
    moved.pando.assert_clean();

    moved.pando.serve();
    moved.assert_same();
    let mut command = moved.start();
    command.wait_for("in sync", |line| line.contains("in sync").then_some(()));
    every_kind_of_change(&mut moved.old_admin());
    moved.converges(&command);

    // The command is killed during changes, and more changes come before it runs again.
    let mut admin = moved.old_admin();
    for number in 500..1_000 {
        relabel(&mut admin, number, "during");
        if number == 750 {
            command.kill();
        }
    }
    away(&mut admin);
    command = moved.start();
    moved.converges(&command);

    // Each server stops and returns.
    moved.old.stop();
    command.wait_for("trying again", |line| {
        line.contains("trying again").then_some(())
    });
    moved.old.serve();
    relabel(&mut moved.old_admin(), 7, "after the old server's restart");
    moved.converges(&command);
    restart(&mut moved.pando);
    relabel(&mut moved.old_admin(), 8, "after the node's restart");
    moved.converges(&command);

    assert!(command.stop().success(), "{}", command.log());
    let log = command.log();
    assert!(!log.contains("refused"), "{log}");
    moved.run(&["--once", "--report", "differences"]).expect(0);
    let report = moved.pando.folder.read("differences");
    assert!(
        report.contains(" 0 of them different; 0 only on the old server, 0 only here"),
        "{report}"
    );
    moved.pando.stop();
    moved.pando.assert_clean();
}

/// Without a session log the provider cannot name deleted entries: it names the others.
#[test]
fn what_is_gone_is_found_by_what_is_there() {
    let mut moved = Move::new("", 300);
    let mut admin = moved.old_admin();
    every_kind_of_change(&mut admin);
    moved.run(&["--once"]).expect(0);
    away(&mut admin);
    // The copy goes into the folder: the node is not served yet.
    moved.run(&["--once"]).expect(0).says("caught up");
    moved.pando.assert_clean();
    moved.pando.serve();
    moved.assert_same();
}

/// Entries return below a new unit of an old name. A provider with its own identifiers reports them
/// before the unit, and they must not be deleted with the old unit of the name.
#[test]
fn a_name_goes_to_another_unit() {
    let old = Pando::start();
    let mut admin = old.admin();
    admin.add(&people::unit("People")).expect_success();
    for (unit, uid) in [("Desk", "ellen"), ("Lab", "rosalind")] {
        admin.add(&people::unit(unit)).expect_success();
        let mut entry = people::person(uid);
        entry.name = format!("uid={uid},ou={unit},{SUFFIX}");
        admin.add(&entry).expect_success();
    }
    let mut new = Pando::init();
    new.folder.write("password", PASSWORD);
    let url = old.url();
    let args = ["--from", &url, "-D", ADMIN, "-y", "password", "--once"];
    new.run_on_node(&["migrate"], &args).expect(0);
    take_over(&mut admin, "Desk", "ellen", |admin, unit| {
        admin.delete(unit).expect_success();
    });
    take_over(&mut admin, "Lab", "rosalind", |admin, unit| {
        admin
            .rename(unit, "ou=Workshop", true, None)
            .expect_success();
    });
    new.run_on_node(&["migrate"], &args).expect(0);
    new.serve();
    assert_same(&tree(&mut admin), &tree(&mut new.admin()), "");
}

#[test]
fn a_served_node_is_filled_over_ldap() {
    let mut moved = Move::new("", 50);
    moved.pando.serve();
    let answer = moved.run(&["--once", "--report", "differences"]).expect(0);
    answer.says("the node is served").says("caught up");
    // Cleartext passwords are hashed, as all passwords that come over LDAP.
    let all = [&mut moved.old_admin(), &mut moved.pando.admin()].map(|client| {
        let mut all = tree(client);
        for entry in &mut all {
            entry.attributes.retain(|(name, _)| name != "userPassword");
        }
        all
    });
    assert_same(&all[0], &all[1], "");
    let mut ada = moved.pando.client();
    ada.bind(&person("ada"), "ada").expect_success();
}

#[test]
fn a_node_that_is_not_served_is_waited_for() {
    let mut moved = Move::new("", 50);
    let mut command = moved.start();
    command.wait_for("pando serve", |line| {
        line.contains("pando serve").then_some(())
    });
    relabel(&mut moved.old_admin(), 1, "meanwhile");
    moved.pando.serve();
    moved.converges(&command);
    assert!(command.stop().success());
}

/// The node starts again after a crash.
fn restart(pando: &mut Pando) {
    pando.kill();
    pando.serve();
}

fn relabel(admin: &mut Client, number: usize, text: &str) {
    let change = Modification::replace("description", &[text]);
    let name = person(&format!("extra{number}"));
    admin.modify(&name, &[change]).expect_success();
}

/// Adds, changes, renames, moves and deletes single entries and a unit with entries.
fn every_kind_of_change(admin: &mut Client) {
    for entry in ["alan", "barbara", "donald"].map(people::person) {
        admin.add(&entry).expect_success();
    }
    let changes = [
        Modification::replace("badgeNumber", &["1000000"]),
        Modification::add("badgeColour", &["blue", "green"]),
        Modification::delete("mail", &[]),
    ];
    admin.modify(&person("extra3"), &changes).expect_success();
    let password = Modification::replace("userPassword", &["{SSHA}c2VjcmV0IHNlY3JldCBzZWNyZXQ="]);
    admin
        .modify(&person("extra4"), &[password])
        .expect_success();
    for number in 10..20 {
        admin
            .delete(&person(&format!("extra{number}")))
            .expect_success();
    }
    let rename = |admin: &mut Client, old: &str, rdn: &str, superior: Option<&str>| {
        admin.rename(old, rdn, true, superior).expect_success();
    };
    rename(admin, &person("ada"), "uid=augusta", None);
    // Two entries exchange their names.
    rename(admin, &person("extra5"), "uid=between", None);
    rename(admin, &person("extra6"), "uid=extra5", None);
    rename(admin, &person("between"), "uid=extra6", None);
    // A unit with an entry is renamed, then moved. No entry is moved into it: slapd 2.5.13 could
    // not rename it any more.
    admin.add(&people::unit("Staff")).expect_success();
    let mut entry = people::person("frances");
    entry.name = format!("uid=frances,ou=Staff,{SUFFIX}");
    admin.add(&entry).expect_success();
    let groups = format!("ou=Groups,{SUFFIX}");
    rename(admin, &format!("ou=Staff,{SUFFIX}"), "ou=Team", None);
    rename(
        admin,
        &format!("ou=Team,{SUFFIX}"),
        "ou=Team",
        Some(&groups),
    );
}

/// Deletes a unit, adds another one of its name, and gives it the entry.
fn take_over(admin: &mut Client, name: &str, uid: &str, go: impl Fn(&mut Client, &str)) {
    let unit = format!("ou={name},{SUFFIX}");
    let people = format!("ou=People,{SUFFIX}");
    let (rdn, below) = (format!("uid={uid}"), format!("uid={uid},{unit}"));
    admin
        .rename(&below, &rdn, false, Some(&people))
        .expect_success();
    go(admin, &unit);
    admin.add(&people::unit(name)).expect_success();
    admin
        .rename(&person(uid), &rdn, false, Some(&unit))
        .expect_success();
}

/// Makes changes while no client follows, in an order that a refresh does not keep.
fn away(admin: &mut Client) {
    // An old entry moves below a new one, and is reported first.
    admin.add(&people::unit("New")).expect_success();
    let new = format!("ou=New,{SUFFIX}");
    admin
        .rename(&person("grace"), "uid=grace", false, Some(&new))
        .expect_success();
    // One entry takes the name of another, which is deleted.
    admin.delete(&person("alan")).expect_success();
    admin
        .rename(&person("barbara"), "uid=alan", true, None)
        .expect_success();
    // Another entry takes the name of a deleted unit with entries.
    admin
        .delete(&format!("uid=frances,ou=Team,ou=Groups,{SUFFIX}"))
        .expect_success();
    let team = format!("ou=Team,ou=Groups,{SUFFIX}");
    admin.delete(&team).expect_success();
    let mut entry = people::unit("Team");
    entry.name = team;
    admin.add(&entry).expect_success();
    for number in 20..30 {
        admin
            .delete(&person(&format!("extra{number}")))
            .expect_success();
    }
    until("the old server has them all", || {
        admin.read(&format!("ou=Team,ou=Groups,{SUFFIX}"))
    });
}
