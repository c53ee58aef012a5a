//! SSSD finds accounts and groups after the node that it talked to died.

use super::served;
use kit::process::until;
use kit::{Entry, Pando, SUFFIX, Sssd};

fn account(number: usize) -> Entry {
    let (name, id) = (format!("user{number}"), (20_000 + number).to_string());
    Entry::of(
        &format!("uid={name},ou=People,{SUFFIX}"),
        &[
            ("objectClass", &["inetOrgPerson", "posixAccount"]),
            ("uid", &[&name]),
            ("cn", &[&name]),
            ("sn", &["User"]),
            ("uidNumber", &[&id]),
            ("gidNumber", &["20000"]),
            ("homeDirectory", &[&format!("/home/{name}")]),
        ],
    )
}

fn group(number: usize) -> Entry {
    let (name, member) = (format!("group{number}"), format!("user{number}"));
    Entry::of(
        &format!("cn={name},ou=People,{SUFFIX}"),
        &[
            ("objectClass", &["posixGroup"]),
            ("cn", &[&name]),
            ("gidNumber", &[&(30_000 + number).to_string()]),
            ("memberUid", &[&member]),
        ],
    )
}

/// Line of a database for a name; `None` while there is none.
fn answer(sssd: &Sssd, database: &str, name: &str) -> Option<String> {
    let answer = sssd.getent(database, name);
    (answer.status == 0).then_some(answer.out)
}

/// Looks up an account and a group that SSSD has not been asked for before, and nobody.
fn finds(sssd: &Sssd, number: usize) {
    let (name, id) = (format!("user{number}"), 20_000 + number);
    // SSSD is offline for a moment when it begins, and when its server has gone.
    let found = until("an account", || answer(sssd, "passwd", &name));
    let expected = format!("{name}:*:{id}:20000:{name}:/home/{name}:\n");
    assert_eq!(found, expected);
    let group = format!("group{number}");
    let found = until("a group", || answer(sssd, "group", &group));
    assert_eq!(found, format!("{group}:*:{}:{name}\n", 30_000 + number));
    sssd.getent("passwd", &format!("nobody{number}")).expect(2);
}

#[test]
fn sssd_finds_accounts_after_its_node_died() {
    let mut nodes = served(0);
    let mut admin = nodes[2].admin();
    for number in 0..3 {
        admin.add(&account(number)).expect_success();
        admin.add(&group(number)).expect_success();
    }
    crate::nodes::require_equal(&nodes);
    let servers: Vec<String> = nodes.iter().map(Pando::url).collect();
    let sssd = Sssd::start(&servers.join(", "));
    finds(&sssd, 0);
    nodes[0].kill_with_etcd();
    finds(&sssd, 1);
    // Without a quorum reads go on.
    nodes[1].kill_with_etcd();
    finds(&sssd, 2);
}
