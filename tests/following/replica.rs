//! Debian's slapd follows Pando, configured as in the guide.

use kit::client::{Client, Modification};
use kit::process::until;
use kit::{Entry, Pando, Replica, SUFFIX, people};
use protocol::extended::EndTransactionRequest;
use protocol::{DeleteRequest, ModifyDnRequest, OwnedControl, Request, Scope, oid};

/// Returns all entries with every attribute that a copy must have, sorted by name.
fn tree(client: &mut Client) -> Vec<Entry> {
    let found = client.search_with(
        SUFFIX,
        Scope::WholeSubtree,
        "(objectClass=*)",
        &[
            "*",
            "entryUUID",
            "entryCSN",
            "createTimestamp",
            "modifyTimestamp",
            "creatorsName",
        ],
        &[],
        |_| {},
    );
    kit::ldif::in_order(found.entries)
}

/// Waits until the copy equals the original.
#[track_caller]
fn converges(pando: &Pando, replica: &Replica) {
    let mut original = tree(&mut pando.admin());
    let mut last = Vec::new();
    let deadline = std::time::Instant::now() + kit::PATIENCE;
    until("the copy equals the original, or time is up", || {
        original = tree(&mut pando.admin());
        last = tree(&mut replica.client());
        (last == original || std::time::Instant::now() + PAUSE > deadline).then_some(())
    });
    assert_eq!(last, original, "slapd says:\n{}", replica.log());
}

/// Time reserved for reporting differences.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(5);

fn name(uid: &str) -> String {
    format!("uid={uid},ou=People,{SUFFIX}")
}

/// Returns the configuration of a slapd that polls every second and that other servers can follow.
fn in_between(config: String) -> String {
    config
        .replace(
            "type=refreshAndPersist",
            "type=refreshOnly interval=00:00:00:01",
        )
        .replace(
            "moduleload back_mdb",
            "moduleload back_mdb\nmoduleload syncprov",
        )
        .replace(
            "\nsyncrepl ",
            "\noverlay syncprov\nsyncprov-sessionlog 100\nsyncrepl ",
        )
}

#[test]
fn deletions_reach_a_slapd_behind_another() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    for uid in ["extra1", "extra2", "extra3"] {
        admin.add(&people::person(uid)).expect_success();
    }
    let first = Replica::start(pando.address(), in_between);
    converges(&pando, &first);
    let second = Replica::start(first.address(), |config| {
        // The first server lets everybody read everything, and has no account to bind as.
        in_between(config)
            .lines()
            .filter(|it| {
                !["bindmethod", "binddn", "credentials"]
                    .iter()
                    .any(|no| it.trim().starts_with(no))
            })
            .collect::<Vec<_>>()
            .join("\n")
            + "\n"
    });
    let reaches = |what: &str| {
        until(what, || {
            let there = tree(&mut pando.admin());
            (tree(&mut second.client()) == there).then_some(())
        });
    };
    reaches("the second has what there is");
    // One value is replaced alone, and several between other changes.
    admin.delete(&name("extra1")).expect_success();
    reaches("the first deletion");
    let change = Modification::replace("sn", &["Hopper"]);
    let ada = name("ada");
    admin.modify(&ada, &[change]).expect_success();
    admin.delete(&name("extra2")).expect_success();
    admin.delete(&name("extra3")).expect_success();
    admin.add(&people::person("margaret")).expect_success();
    reaches("deletions between other changes");
}

#[test]
fn slapd_follows_live_and_after_every_interruption() {
    let mut pando = Pando::start();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    let address = pando.address();
    let mut replica = Replica::start(address, |it| it);
    converges(&pando, &replica);
    live_changes(&mut admin);
    converges(&pando, &replica);

    // The replica is stopped while entries are added, changed and deleted.
    replica.stop();
    admin.delete(&name("extra3")).expect_success();
    admin
        .delete(&format!("uid=alan,ou=Team,ou=Groups,{SUFFIX}"))
        .expect_success();
    admin.add(&people::person("margaret")).expect_success();
    let change = Modification::replace("sn", &["Hopper"]);
    admin.modify(&name("extra4"), &[change]).expect_success();
    admin
        .rename(
            &format!("ou=Team,ou=Groups,{SUFFIX}"),
            "ou=Team",
            false,
            Some(SUFFIX),
        )
        .expect_success();
    replica.serve();
    converges(&pando, &replica);

    // The provider stops, and serves the same state again.
    let listen = format!("listen = [\"ldap://{address}\"]\n");
    assert!(pando.stop().success());
    std::fs::write(pando.node().join("pando.toml"), listen).expect("our own file");
    pando.serve_as_configured();
    let mut admin = pando.admin();
    admin.add(&people::person("frances")).expect_success();
    admin.delete(&name("margaret")).expect_success();
    converges(&pando, &replica);
}

#[test]
fn an_entry_reaches_slapd_behind_the_new_name_of_its_superior() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    let mut replica = Replica::start(pando.address(), |it| it);
    converges(&pando, &replica);
    let people = format!("ou=People,{SUFFIX}");
    let persons = format!("ou=Persons,{SUFFIX}");
    // Both are in one commit: followers find the entry under the new name already.
    let begun = admin.extended(oid::START_TRANSACTION, None);
    let identifier = begun.expect_success().value.expect("an identifier");
    let mut part = OwnedControl::new(oid::TRANSACTION_SPECIFICATION, true);
    part.value = Some(identifier.clone());
    let part = [part];
    let change = Modification::replace("sn", &["Hopper"]);
    let changed = admin.modify_with(&name("grace"), &[change], &part);
    changed.expect_success();
    let added = admin.add_with(&people::person("margaret"), &part);
    added.expect_success();
    let request = Request::ModifyDn(ModifyDnRequest {
        entry: &people,
        new_rdn: "ou=Persons",
        delete_old_rdn: true,
        new_superior: None,
    });
    admin.call(&request, &part).outcome.expect_success();
    let mut value = Vec::new();
    let (commit, identifier) = (true, identifier.as_slice());
    EndTransactionRequest { commit, identifier }.encode(&mut value);
    let ended = admin.extended(oid::END_TRANSACTION, Some(&value));
    ended.expect_success();
    converges(&pando, &replica);
    // These changes come while the replica is stopped.
    replica.stop();
    let mut frances = people::person("frances");
    frances.name = format!("uid=frances,{persons}");
    admin.add(&frances).expect_success();
    admin
        .rename(&persons, "ou=Humans", true, None)
        .expect_success();
    replica.serve();
    converges(&pando, &replica);
}

#[test]
fn groups_of_slapd_get_the_new_names_of_members() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    let (ada, grace, edsger) = (name("ada"), name("grace"), name("edsger"));
    for (group, members) in [("both", &[ada.as_str(), &grace][..]), ("one", &[&edsger])] {
        admin.add(&people::group(group, members)).expect_success();
    }
    let mut replica = Replica::start(pando.address(), |it| it);
    converges(&pando, &replica);
    admin
        .rename(&ada, "uid=augusta", true, None)
        .expect_success();
    converges(&pando, &replica);
    // These come while the replica is stopped; then all at once.
    replica.stop();
    admin
        .rename(&grace, "uid=hopper", true, None)
        .expect_success();
    replica.serve();
    converges(&pando, &replica);
    let people = format!("ou=People,{SUFFIX}");
    admin
        .rename(&people, "ou=Persons", true, None)
        .expect_success();
    converges(&pando, &replica);
    let gone = format!("uid=hopper,ou=Persons,{SUFFIX}");
    admin.delete(&gone).expect_success();
    converges(&pando, &replica);
}

/// The subtree has more than 1,000 entries: it is detached at once, and reclaimed later.
const MANY: usize = 1_010;

#[test]
fn slapd_follows_a_subtree_that_goes_as_one() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    let people = format!("ou=People,{SUFFIX}");
    let add_people = |admin: &mut Client, count: usize| {
        admin.add(&people::unit("People")).expect_success();
        let mut ids = Vec::new();
        for number in 0..count {
            let entry = people::person(&format!("many{number}"));
            ids.push(admin.try_send_add(&entry, &[]).expect("taken"));
        }
        for id in ids {
            let found = admin.try_finish(id).expect("answered");
            found.outcome.expect_success();
        }
    };
    let delete_people = |admin: &mut Client| {
        let controls = [OwnedControl::new(oid::TREE_DELETE, true)];
        let request = Request::Delete(DeleteRequest { entry: &people });
        admin.call(&request, &controls).outcome.expect_success();
    };
    add_people(&mut admin, MANY);
    // Before the first database the limit is for all: without it the comparison ends at 500
    // entries.
    let unlimited = |it: String| it.replacen("database", "sizelimit unlimited\ndatabase", 1);
    let mut replica = Replica::start(pando.address(), unlimited);
    converges(&pando, &replica);
    // The names are used again at once.
    delete_people(&mut admin);
    add_people(&mut admin, 5);
    converges(&pando, &replica);
    // These changes come while the replica is stopped.
    replica.stop();
    delete_people(&mut admin);
    add_people(&mut admin, 3);
    replica.serve();
    converges(&pando, &replica);
}

/// Adds, changes, renames, moves and deletes while the replica follows.
fn live_changes(admin: &mut Client) {
    for number in 0..20 {
        let entry = people::person(&format!("extra{number}"));
        admin.add(&entry).expect_success();
    }
    for number in 0..20 {
        let change = Modification::add("description", &[&format!("number {number}")]);
        let name = name(&format!("extra{number}"));
        admin.modify(&name, &[change]).expect_success();
    }
    for number in 10..20 {
        let name = name(&format!("extra{number}"));
        admin.delete(&name).expect_success();
    }
    admin
        .rename(&name("ada"), "uid=augusta", true, None)
        .expect_success();
    // A unit with entries is renamed and moved; an entry moves alone, but not into the unit: slapd
    // 2.5.13 cannot rename an entry below which another was moved, for any client.
    admin.add(&people::unit("Staff")).expect_success();
    let staff = format!("ou=Staff,{SUFFIX}");
    for uid in ["alan", "barbara"] {
        let mut entry = people::person(uid);
        entry.name = format!("uid={uid},{staff}");
        admin.add(&entry).expect_success();
    }
    let groups = format!("ou=Groups,{SUFFIX}");
    admin
        .rename(&name("edsger"), "uid=edsger", false, Some(&groups))
        .expect_success();
    admin.rename(&staff, "ou=Team", true, None).expect_success();
    admin
        .rename(
            &format!("ou=Team,{SUFFIX}"),
            "ou=Team",
            false,
            Some(&groups),
        )
        .expect_success();
}

#[test]
fn slapd_asks_now_and_then() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    let replica = Replica::start(pando.address(), |config| {
        config.replace(
            "type=refreshAndPersist",
            "type=refreshOnly\n  interval=00:00:00:01",
        )
    });
    converges(&pando, &replica);
    admin.delete(&name("grace")).expect_success();
    admin
        .rename(&name("ada"), "uid=augusta", true, None)
        .expect_success();
    converges(&pando, &replica);
}
