//! The state of accounts is the administrator's, and in part the owner's.

use super::{ADA, add_ada};
use crate::kit::{Client, success};
use protocol::ChangeOperation::Add;
use protocol::{ResultCode, Scope};

const BASE: &str = "dc=example,dc=com";
const POLICY: &str = "cn=policy,dc=example,dc=com";
const HIDDEN: [&str; 2] = ["pwdAccountLockedTime", "pwdFailureTime"];
const OF_OWNER: [&str; 5] = [
    "pwdChangedTime",
    "pwdEndTime",
    "pwdPolicySubentry",
    "pwdReset",
    "pwdStartTime",
];

/// The administrator, and the owner of an account whose entry has all these attributes.
fn world() -> (Client, Client) {
    let mut admin = Client::admin();
    let policy = [
        ("objectClass", &["device", "pwdPolicy"][..]),
        ("pwdAttribute", &["userPassword"]),
        ("pwdLockout", &["TRUE"]),
        ("pwdMaxFailure", &["5"]),
        ("pwdLockoutDuration", &["1"]),
    ];
    success(&admin.add(POLICY, &policy));
    let all = [(Add, "pandoPasswordPolicy", &[POLICY][..])];
    success(&admin.modify("cn=config", &all));
    add_ada(&mut admin, "right");
    let mut ada = admin.another();
    success(&ada.bind(ADA, "right"));
    let state = [
        (Add, "pwdReset", &["TRUE"][..]),
        (Add, "pwdPolicySubentry", &[POLICY]),
        (Add, "pwdStartTime", &["20200101000000Z"]),
        (Add, "pwdEndTime", &["20990101000000Z"]),
        // Over long ago.
        (Add, "pwdAccountLockedTime", &["20200101000000Z"]),
    ];
    success(&admin.modify(ADA, &state));
    let guess = admin.another().bind(ADA, "guess");
    assert_eq!(guess.code, ResultCode::INVALID_CREDENTIALS);
    (admin, ada)
}

/// The attributes of the state that a client reads in the entry.
fn read(client: &mut Client) -> Vec<String> {
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["*", "+"]);
    let (_, attributes) = &found.entries[0];
    let names = attributes.iter().map(|it| it.0.clone());
    let mut names: Vec<String> = names.filter(|it| it.starts_with("pwd")).collect();
    names.sort();
    names
}

#[test]
fn others_do_not_read_the_state_of_accounts() {
    let (mut admin, mut ada) = world();
    assert!(read(&mut admin).len() >= 6, "{:?}", read(&mut admin));
    assert_eq!(read(&mut ada), OF_OWNER);
    admin.add_person("eve");
    let eve = "cn=eve,dc=example,dc=com";
    success(&admin.modify(eve, &[(Add, "userPassword", &["eve"])]));
    let mut other = admin.another();
    success(&other.bind(eve, "eve"));
    for client in [&mut other, &mut admin.another()] {
        assert_eq!(read(client), [""; 0]);
        for attribute in HIDDEN.iter().chain(&OF_OWNER) {
            let compared = client.compare(ADA, attribute, "20200101000000Z");
            let refused = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
            assert_eq!(compared.result.code, refused, "{attribute}");
        }
    }
}

#[test]
fn nobody_but_the_administrator_finds_accounts_by_their_state() {
    let (mut admin, mut ada) = world();
    let mut nobody = admin.another();
    let count = |client: &mut Client, filter: &str| {
        let found = client.search(BASE, Scope::WholeSubtree, filter, &["1.1"]);
        found.entries.len()
    };
    for attribute in HIDDEN[..1].iter().chain(&OF_OWNER) {
        let filter = format!("({attribute}=*)");
        assert!(count(&mut admin, &filter) > 0, "{filter}");
        for filter in [filter.clone(), format!("(!{filter})")] {
            assert_eq!(count(&mut nobody, &filter), 0, "{filter}");
            assert_eq!(count(&mut ada, &filter), 0, "{filter}");
        }
    }
    // Nor by what a dynamic group of the administrator finds.
    let group = [
        ("objectClass", &["groupOfURLs"][..]),
        (
            "memberURL",
            &["ldap:///dc=example,dc=com??sub?(pwdReset=TRUE)"],
        ),
    ];
    success(&admin.add("cn=reset,dc=example,dc=com", &group));
    let member = format!("(&(objectClass=groupOfURLs)(member={ADA}))");
    assert_eq!(count(&mut nobody, &member), 0);
}
