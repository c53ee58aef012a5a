//! Connections bound as an account end when the account is deleted, renamed or locked, or its
//! password is changed by another subject.

use std::fs;
use std::process::Command;

use kit::client::{Entry, Event, Modification};
use kit::{ADMIN, Client, Pando, SUFFIX};
use protocol::control::PersistentSearch;
use protocol::{OwnedControl, ResultCode, Scope, oid};

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
const GRACE: &str = "uid=grace,ou=People,dc=example,dc=com";
const POLICY: &str = "cn=policy,dc=example,dc=com";

/// Serves a node with people, whose passwords are under a policy.
fn served() -> (Pando, Client) {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for entry in kit::people::sample() {
        admin.add(&entry).expect_success();
    }
    let policy = [
        ("objectClass", &["device", "pwdPolicy"][..]),
        ("pwdAttribute", &["userPassword"]),
    ];
    admin.add(&Entry::of(POLICY, &policy)).expect_success();
    let policy = [Modification::add("pandoPasswordPolicy", &[POLICY])];
    admin.modify("cn=config", &policy).expect_success();
    (pando, admin)
}

fn bound(pando: &Pando, name: &str, password: &str) -> Client {
    let mut client = pando.client();
    client.bind(name, password).expect_success();
    client
}

fn is_served(client: &mut Client) {
    let found = client.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &["1.1"]);
    assert_eq!(found.entries.len(), 1, "{found:?}");
}

/// Checks that the server gives the reason for ending the connection, and ends it.
#[track_caller]
fn is_ended(client: &mut Client, when: &str) {
    // The notice has come already, or comes at the next request.
    let next = Modification::replace("userPassword", &["taken"]);
    let _ = client.try_send_modify(ADA, &[next], &[]);
    match client.receive() {
        (0, Event::Done(notice)) => {
            assert_eq!(notice.code, ResultCode::STRONGER_AUTH_REQUIRED, "{when}");
        }
        other => panic!("{when}: expected a notice of disconnection, got {other:?}"),
    }
    assert!(client.is_closed_by_server(), "{when}");
}

/// Checks that the server ends an idle connection, with the reason.
#[track_caller]
fn is_ended_while_idle(client: &mut Client, when: &str) {
    match client.receive() {
        (0, Event::Done(notice)) => {
            assert_eq!(notice.code, ResultCode::STRONGER_AUTH_REQUIRED, "{when}");
        }
        other => panic!("{when}: expected a notice of disconnection, got {other:?}"),
    }
    assert!(client.is_closed_by_server(), "{when}");
}

/// The time in so many seconds, as attributes have it.
fn time_in(seconds: u64) -> String {
    let asked = Command::new("date")
        .args(["-u", "-d", &format!("{seconds} seconds"), "+%Y%m%d%H%M%SZ"])
        .output()
        .unwrap();
    String::from_utf8(asked.stdout).unwrap().trim().to_owned()
}

/// A callback that gets the administrator's connection.
type Change = fn(&mut Client);

const CHANGES: &[(&str, Change)] = &[
    ("deleted", |admin| {
        admin.delete(ADA).expect_success();
    }),
    ("deleted and added anew", |admin| {
        admin.delete(ADA).expect_success();
        let mut ada = kit::people::person("ada");
        ada.push("userPassword", b"ada".to_vec());
        admin.add(&ada).expect_success();
    }),
    ("renamed", |admin| {
        admin
            .rename(ADA, "uid=lovelace", true, None)
            .expect_success();
    }),
    ("its superior renamed", |admin| {
        let people = "ou=People,dc=example,dc=com";
        admin
            .rename(people, "ou=Staff", true, None)
            .expect_success();
    }),
    ("password changed", |admin| {
        let change = [Modification::replace("userPassword", &["new"])];
        admin.modify(ADA, &change).expect_success();
    }),
    ("password removed", |admin| {
        let change = [Modification::delete("userPassword", &[])];
        admin.modify(ADA, &change).expect_success();
    }),
    ("not begun", |admin| {
        let change = [Modification::add("pwdStartTime", &["20991231235959Z"])];
        admin.modify(ADA, &change).expect_success();
    }),
    ("over", |admin| {
        let change = [Modification::add("pwdEndTime", &["20201231235959Z"])];
        admin.modify(ADA, &change).expect_success();
    }),
    ("locked", |admin| {
        let change = [Modification::add(
            "pwdAccountLockedTime",
            &["000001010000Z"],
        )];
        admin.modify(ADA, &change).expect_success();
    }),
];

#[test]
fn connections_end_with_their_account() {
    for (when, change) in CHANGES {
        let (pando, mut admin) = served();
        let (mut ada, mut following) = (bound(&pando, ADA, "ada"), bound(&pando, ADA, "ada"));
        let mut other = pando.client();
        let mut value = Vec::new();
        PersistentSearch {
            change_types: 15,
            changes_only: true,
            return_entry_changes: false,
        }
        .encode(&mut value);
        let stays = [OwnedControl {
            oid: oid::PERSISTENT_SEARCH.into(),
            critical: true,
            value: Some(value),
        }];
        let scope = Scope::WholeSubtree;
        following.send_search(SUFFIX, scope, "(objectClass=*)", &["1.1"], &stays, |_| ());
        is_served(&mut ada);
        change(&mut admin);
        is_ended(&mut ada, when);
        is_ended(&mut following, when);
        is_served(&mut other);
        is_served(&mut admin);
    }
}

#[test]
fn who_changes_the_own_password_stays() {
    let (pando, _admin) = served();
    let (mut ada, mut stolen) = (bound(&pando, ADA, "ada"), bound(&pando, ADA, "ada"));
    let mut grace = bound(&pando, GRACE, "grace");
    for password in ["second", "third"] {
        let change = [Modification::replace("userPassword", &[password])];
        ada.modify(ADA, &change).expect_success();
        is_served(&mut ada);
        is_served(&mut grace);
    }
    is_ended(&mut stolen, "changed on another connection");
    // A connection that binds again has the rights of the present state.
    let mut ada = bound(&pando, ADA, "third");
    is_served(&mut ada);
}

/// A wrong password must not end the connections of the account's owner.
#[test]
fn other_changes_end_no_connection() {
    let (pando, mut admin) = served();
    let mut ada = bound(&pando, ADA, "ada");
    pando
        .client()
        .bind(ADA, "guess")
        .expect(ResultCode::INVALID_CREDENTIALS);
    let change = [Modification::replace("description", &["other"])];
    admin.modify(ADA, &change).expect_success();
    admin.delete(GRACE).expect_success();
    is_served(&mut ada);
}

#[test]
fn idle_connections_end_at_once() {
    for (when, change) in CHANGES {
        let (pando, mut admin) = served();
        let (mut ada, mut again) = (bound(&pando, ADA, "ada"), bound(&pando, ADA, "ada"));
        let mut grace = bound(&pando, GRACE, "grace");
        change(&mut admin);
        is_ended_while_idle(&mut ada, when);
        is_ended_while_idle(&mut again, when);
        if *when != "its superior renamed" {
            is_served(&mut grace);
        }
        is_served(&mut admin);
    }
}

#[test]
fn connections_end_when_the_time_of_their_account_is_over() {
    let (pando, mut admin) = served();
    let (mut ada, mut grace) = (bound(&pando, ADA, "ada"), bound(&pando, GRACE, "grace"));
    let end = [Modification::add("pwdEndTime", &[&time_in(2)])];
    admin.modify(ADA, &end).expect_success();
    is_served(&mut ada);
    is_ended_while_idle(&mut ada, "its time is over");
    is_served(&mut grace);
}

#[test]
fn connections_end_when_their_password_expires() {
    let (pando, mut admin) = served();
    let change = [Modification::replace("userPassword", &["new"])];
    admin.modify(ADA, &change).expect_success();
    let (mut ada, mut grace) = (bound(&pando, ADA, "new"), bound(&pando, GRACE, "grace"));
    let limits = [
        Modification::add("pwdMaxAge", &["2"]),
        Modification::add("pwdGraceAuthNLimit", &["1"]),
    ];
    admin.modify(POLICY, &limits).expect_success();
    is_ended_while_idle(&mut ada, "its password has expired");
    // One that came in by grace stays, to change the password.
    let mut late = bound(&pando, ADA, "new");
    let change = [Modification::replace("description", &["other"])];
    admin.modify(POLICY, &change).expect_success();
    is_served(&mut late);
    // The password of another account has no time.
    is_served(&mut grace);
}

#[test]
fn limits_follow_the_group() {
    const GROUP: &str = "cn=many,dc=example,dc=com";
    let mut pando = Pando::init();
    let settings = format!("[[subject_limits]]\ngroup = \"{GROUP}\"\nsize_entries_max = 1\n");
    fs::write(pando.node().join("pando.toml"), settings).unwrap();
    pando.serve();
    let mut admin = pando.admin();
    for entry in kit::people::sample() {
        admin.add(&entry).expect_success();
    }
    let mut ada = bound(&pando, ADA, "ada");
    let search = |ada: &mut Client| {
        let found = ada.search(SUFFIX, Scope::WholeSubtree, "(objectClass=*)", &["1.1"]);
        found.outcome.code
    };
    assert_eq!(search(&mut ada), ResultCode::SUCCESS);
    let group = [
        ("objectClass", &["groupOfNames"][..]),
        ("member", &[ADA, ADMIN]),
    ];
    admin.add(&Entry::of(GROUP, &group)).expect_success();
    assert_eq!(search(&mut ada), ResultCode::SIZE_LIMIT_EXCEEDED);
    let leaves = [Modification::delete("member", &[ADA])];
    admin.modify(GROUP, &leaves).expect_success();
    assert_eq!(search(&mut ada), ResultCode::SUCCESS);
    let joins = [Modification::add("member", &[ADA])];
    admin.modify(GROUP, &joins).expect_success();
    assert_eq!(search(&mut ada), ResultCode::SIZE_LIMIT_EXCEEDED);
    admin.delete(GROUP).expect_success();
    assert_eq!(search(&mut ada), ResultCode::SUCCESS);
}

/// A search that follows as another identity ends when that identity is gone, whoever has its name
/// then.
#[test]
fn what_is_done_as_another_ends_with_the_identity() {
    for anew in [false, true] {
        let (pando, mut admin) = served();
        let mut value = Vec::new();
        PersistentSearch {
            change_types: 15,
            changes_only: true,
            return_entry_changes: false,
        }
        .encode(&mut value);
        let controls = [
            OwnedControl {
                oid: oid::PERSISTENT_SEARCH.into(),
                critical: true,
                value: Some(value),
            },
            OwnedControl {
                oid: oid::PROXIED_AUTHORIZATION.into(),
                critical: true,
                value: Some(format!("dn:{ADA}").into_bytes()),
            },
        ];
        let mut client = pando.admin();
        let scope = Scope::WholeSubtree;
        let stays = client.send_search(SUFFIX, scope, "(uid=none)", &["1.1"], &controls, |_| ());
        assert_eq!(client.who_am_i(), format!("dn:{ADMIN}"));
        admin.delete(ADA).expect_success();
        if anew {
            admin.add(&kit::people::person("ada")).expect_success();
        }
        match client.receive() {
            (id, Event::Done(end)) if id == stays => {
                assert_eq!(end.code, ResultCode::AUTHORIZATION_DENIED);
            }
            other => panic!("expected the end of the search, got {other:?}"),
        }
        is_served(&mut client);
    }
}
