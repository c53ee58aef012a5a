//! Password policies migrate with the state of the accounts under them.

use super::{Move, person};
use kit::client::Modification;
use kit::process::until;
use kit::{ADMIN, Client, Entry, SUFFIX, people};
use protocol::{ResultCode, Scope};

/// Attributes with the password state of an account.
const STATE: [&str; 6] = [
    "pwdChangedTime",
    "pwdFailureTime",
    "pwdAccountLockedTime",
    "pwdHistory",
    "pwdReset",
    "pwdGraceUseTime",
];

fn policy() -> String {
    format!("cn=default,ou=Policies,{SUFFIX}")
}

/// Starts an old server with a default policy in its configuration, and two people under it: ada,
/// who changed her password and failed once, and grace, who is locked out.
fn moved() -> Move {
    let further = format!(
        "overlay ppolicy\nppolicy_default \"{}\"\n\
         database config\naccess to * by dn.exact=\"{ADMIN}\" read\n",
        policy()
    );
    let moved = Move::new(&further, 0);
    let mut admin = moved.old_admin();
    admin.add(&people::unit("Policies")).expect_success();
    let settings: &[(&str, &[&str])] = &[
        ("objectClass", &["device", "pwdPolicy"]),
        ("cn", &["default"]),
        ("pwdAttribute", &["userPassword"]),
        ("pwdLockout", &["TRUE"]),
        ("pwdMaxFailure", &["3"]),
        ("pwdInHistory", &["3"]),
        ("pwdMaxAge", &["100000000"]),
        ("pwdMustChange", &["TRUE"]),
    ];
    admin.add(&Entry::of(&policy(), settings)).expect_success();
    for (uid, password) in [("ada", "first"), ("grace", "grace")] {
        set(&mut admin, uid, password);
    }
    let mut own = old_client(&moved, "ada", "first").expect("it binds");
    set(&mut own, "ada", "second");
    assert!(old_client(&moved, "ada", "wrong").is_none());
    for guess in ["a", "b", "c"] {
        assert!(old_client(&moved, "grace", guess).is_none());
    }
    assert!(old_client(&moved, "grace", "grace").is_none(), "locked");
    moved
}

/// Within a second slapd may take the times of two former passwords for the same value.
fn set(client: &mut Client, uid: &str, password: &str) {
    let change = [Modification::replace("userPassword", &[password])];
    until("the password is changed", || {
        let outcome = client.modify(&person(uid), &change);
        match outcome.code {
            ResultCode::SUCCESS => Some(()),
            ResultCode::ATTRIBUTE_OR_VALUE_EXISTS => None,
            _ => panic!("{outcome}"),
        }
    });
}

fn old_client(moved: &Move, uid: &str, password: &str) -> Option<Client> {
    let mut client = moved.old.client();
    let outcome = client.bind(&person(uid), password);
    (outcome.code == ResultCode::SUCCESS).then_some(client)
}

/// Returns the state of an account: attributes and values.
fn state(client: &mut Client, uid: &str) -> Vec<(&'static str, Vec<String>)> {
    let found = client.search(&person(uid), Scope::BaseObject, "(objectClass=*)", &STATE);
    let entry = found.only();
    STATE.map(|it| (it, entry.texts(it))).to_vec()
}

#[test]
fn state_and_default_policy_move() {
    let mut moved = moved();
    let before = ["ada", "grace"].map(|uid| state(&mut moved.old_admin(), uid));
    assert_eq!(before[0][3].1.len(), 2, "former passwords: {before:?}");
    assert_eq!(before[1][1].1.len(), 3, "three failures: {before:?}");
    assert_eq!(before[1][2].1.len(), 1, "a lock: {before:?}");
    // slapd returns the name in lower case.
    let name = policy().to_lowercase();
    let said = moved.run(&["--once"]).expect(0).err.to_lowercase();
    assert!(
        said.contains(&format!("policies: {name} is the default")),
        "{said}"
    );
    moved.pando.serve();
    let mut admin = moved.pando.admin();
    let after = ["ada", "grace"].map(|uid| state(&mut admin, uid));
    assert_eq!(after, before);
    let config = admin.read("cn=config").expect("the administrator sees it");
    assert_eq!(config.text("pandoPasswordPolicy").to_lowercase(), name);
    // The policy is in force: locked accounts are locked, used passwords cannot return.
    let mut grace = moved.pando.client();
    let refused = grace.bind(&person("grace"), "grace");
    refused.expect(ResultCode::INVALID_CREDENTIALS);
    let mut ada = moved.pando.client();
    ada.bind(&person("ada"), "second").expect_success();
    let back = [Modification::replace("userPassword", &["first"])];
    let refused = ada.modify(&person("ada"), &back);
    refused.expect(ResultCode::CONSTRAINT_VIOLATION);
}

/// With the policy in force here, changes accepted by the old server are not judged again.
#[test]
fn what_changes_there_afterwards_comes_as_it_is() {
    let mut moved = moved();
    moved.run(&["--once"]).expect(0);
    moved.pando.serve();
    let mut own = old_client(&moved, "ada", "second").expect("it binds");
    set(&mut own, "ada", "third");
    set(&mut moved.old_admin(), "grace", "unlocked");
    moved.run(&["--once"]).expect(0);
    for uid in ["ada", "grace"] {
        let there = state(&mut moved.old_admin(), uid);
        assert_eq!(state(&mut moved.pando.admin(), uid), there, "{uid}");
    }
    let mut ada = moved.pando.client();
    ada.bind(&person("ada"), "third").expect_success();
    assert_eq!(
        ada.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &["1.1"])
            .entries
            .len(),
        1
    );
}

#[test]
fn a_configuration_that_is_not_shown_is_said() {
    let moved = Move::new("overlay ppolicy\n", 0);
    let answer = moved.run(&["--once"]).expect(0);
    answer.says("the old server's configuration cannot be read");
}
