//! Reports of a migration: everything that it does not take over, and everything that becomes
//! public by it.

use super::Move;
use kit::{ADMIN, Client, SUFFIX, people};
use protocol::{ResultCode, Scope};

/// Rules that hide a badge's secret and a telephone number, a limit, an overlay.
fn guarded(shows_configuration: bool) -> Move {
    let mut further = String::from(
        "limits users size=50\nmoduleload memberof\noverlay memberof\n\
         access to attrs=badgePassword,telephoneNumber by self read by * none\n",
    );
    if shows_configuration {
        further.push_str(&format!(
            "database config\naccess to * by dn.exact=\"{ADMIN}\" read\n"
        ));
    }
    let moved = Move::new(&further, 0);
    let mut entry = people::person("keeper");
    for (name, value) in [
        ("objectClass", "badgeHolder"),
        ("badgePassword", "hidden there"),
        ("badgeNumber", "1"),
    ] {
        entry.push(name, value.as_bytes().to_vec());
    }
    moved.old_admin().add(&entry).expect_success();
    moved
}

#[track_caller]
fn says(log: &str, texts: &[&str]) {
    for text in texts {
        assert!(log.contains(text), "{text:?} in {log}");
    }
}

fn shows_secret(client: &mut Client) -> bool {
    let filter = "(uid=keeper)";
    let found = client.search(SUFFIX, Scope::WholeSubtree, filter, &["*"]);
    assert_eq!(found.outcome.code, ResultCode::SUCCESS);
    !found.only().values("badgePassword").is_empty()
}

#[test]
fn rules_limits_and_overlays_are_named() {
    let mut moved = guarded(true);
    let log = moved.run(&["--once"]).expect(0).err;
    says(
        &log,
        &[
            "olcAccess: {0}to attrs=userPassword by self write by anonymous auth by * none\n",
            "attrs=badgePassword,telephoneNumber by self read by * none\n",
            "olcLimits: {0}users size=50\n",
            "memberof (memberOf is computed here)\n",
            "syncprov (content synchronisation is built in)\n",
            "access rules, ",
            "name these attributes, and everybody can read and search them here: badgePassword, \
             telephoneNumber\n",
            "look like secrets, and everybody can read and search them here: badgePassword\n",
            "pando schema secret ",
        ],
    );
    assert!(!log.contains("here: userPassword"), "{log}");
    let secret = ["schema", "secret"];
    moved
        .pando
        .run_on_node(&secret, &["badgePassword"])
        .expect(0);
    moved.pando.serve();
    assert!(!shows_secret(&mut moved.pando.client()));
    assert!(shows_secret(&mut moved.pando.admin()));
    // Attributes with a decision are no longer named.
    let conf = "access to attrs=badgePassword,badgeNumber by * none\n";
    moved.pando.folder.write("slapd.conf", conf);
    let log = moved
        .run(&["--once", "--old-config", "slapd.conf"])
        .expect(0)
        .err;
    says(
        &log,
        &[
            "slapd.conf: olcAccess: to attrs=badge",
            "here: badgeNumber\n",
        ],
    );
}

#[test]
fn a_hidden_configuration_is_said_and_read_from_a_folder() {
    let moved = guarded(false);
    let log = moved.run(&["--once"]).expect(0).err;
    says(
        &log,
        &[
            "--old-config PATH",
            "limits and overlays are not taken over",
        ],
    );
    let folder = &moved.pando.folder;
    for (name, text) in [
        ("cn=config.ldif", "dn: cn=config\nolcSizeLimit: 7\n"),
        (
            "olcDatabase={1}mdb.ldif",
            "dn: olcDatabase={1}mdb\nolcAccess: {0}to attrs=badgeNumber\n  by * none\n",
        ),
    ] {
        std::fs::create_dir_all(folder.path().join("slapd.d")).expect("it is ours");
        folder.write(&format!("slapd.d/{name}"), text);
    }
    let log = moved
        .run(&["--once", "--old-config", "slapd.d"])
        .expect(0)
        .err;
    says(
        &log,
        &[
            "cn=config: olcSizeLimit: 7\n",
            "{1}mdb: olcAccess: {0}to attrs=badgeNumber by * none\n",
            "1 limit, 1 access rule",
            "here: badgeNumber\n",
        ],
    );
    let missing = moved.run(&["--once", "--old-config", "nowhere"]);
    missing.expect(1).says("nowhere");
}
