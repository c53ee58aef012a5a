//! Connections bound as an account end when the account is deleted, renamed or locked, or its
//! password is changed by another subject.

use kit::client::{Entry, Event, Modification};
use kit::{Client, Pando, SUFFIX};
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
    // A bind on a connection whose account was deleted is an ordinary bind.
    admin.delete(ADA).expect_success();
    ada.bind("uid=edsger,ou=People,dc=example,dc=com", "none")
        .expect(ResultCode::INVALID_CREDENTIALS);
    is_served(&mut ada);
}
