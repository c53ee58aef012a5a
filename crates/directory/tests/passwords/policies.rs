//! A password policy holds for every form of a change.

use super::{ADA, add_ada, set};
use crate::kit::{Client, success};
use policy::password::{Scheme, hash};
use protocol::ChangeOperation::{Add, Delete, Replace};
use protocol::{OwnedControl, ResultCode, Scope, oid};

const POLICY: &str = "cn=policy,dc=example,dc=com";

/// An administrator, and a person whose password is `right`, under a policy of these settings.
fn world(settings: &[(&str, &str)]) -> (Client, Client) {
    let mut admin = Client::admin();
    with_policy(&mut admin, settings);
    add_ada(&mut admin, "right");
    let mut ada = admin.another();
    success(&ada.bind(ADA, "right"));
    (admin, ada)
}

/// Adds a policy of these settings for everybody.
pub fn with_policy(admin: &mut Client, settings: &[(&str, &str)]) {
    let mut policy = vec![
        ("objectClass", &["device", "pwdPolicy"][..]),
        ("pwdAttribute", &["userPassword"]),
    ];
    let values: Vec<[&str; 1]> = settings.iter().map(|it| [it.1]).collect();
    policy.extend(
        settings
            .iter()
            .zip(&values)
            .map(|(it, value)| (it.0, &value[..])),
    );
    success(&admin.add(POLICY, &policy));
    let all = [(Add, "pandoPasswordPolicy", &[POLICY][..])];
    success(&admin.modify("cn=config", &all));
}

fn permissive() -> [OwnedControl; 1] {
    [OwnedControl::new(oid::PERMISSIVE_MODIFY, true)]
}

fn values(admin: &mut Client, attribute: &str) -> Vec<String> {
    let found = admin.search(ADA, Scope::BaseObject, "(objectClass=*)", &[attribute]);
    found
        .values(attribute)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

#[test]
fn safe_modify_wants_the_password_whatever_control_comes() {
    let (mut admin, mut ada) = world(&[("pwdSafeModify", "TRUE")]);
    let stored = values(&mut admin, "userPassword").remove(0);
    for old in ["wrong", &stored] {
        for controls in [&[][..], &permissive()] {
            let changes = [
                (Delete, "userPassword", &[old][..]),
                (Replace, "userPassword", &["stolen"]),
            ];
            let refused = ada.modify_with(ADA, &changes, controls).result;
            assert_eq!(
                refused.code,
                ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
                "{old}"
            );
        }
    }
    // Nor is an option's value a password.
    let changes = [
        (Delete, "userPassword;x-app", &["wrong"][..]),
        (Replace, "userPassword", &["stolen"]),
    ];
    let refused = ada.modify_with(ADA, &changes, &permissive()).result;
    assert_eq!(refused.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let changes = [
        (Delete, "userPassword", &["right"][..]),
        (Add, "userPassword", &["new"]),
    ];
    success(&ada.modify_with(ADA, &changes, &permissive()).result);
    success(&ada.bind(ADA, "new"));
}

#[test]
fn there_is_one_password_under_a_policy() {
    let (mut admin, mut ada) = world(&[("pwdMaxAge", "1000")]);
    for client in [&mut ada, &mut admin] {
        let refused = client.modify(ADA, &[(Add, "userPassword", &["second"])]);
        assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
        let expected = "userPassword: expected one value under a policy, got 2";
        assert_eq!(refused.diagnostic, expected);
    }
    let refused = set(&mut ada, &["one", "two"]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    let bob = [
        ("objectClass", &["person"][..]),
        ("sn", &["bob"]),
        ("userPassword", &["one", "two"]),
    ];
    let refused = admin.add("cn=bob,dc=example,dc=com", &bob);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    success(&ada.bind(ADA, "right"));
    success(&set(&mut ada, &["one"]));
    success(&ada.bind(ADA, "one"));
}

#[test]
fn taking_a_password_away_makes_none_newer() {
    // From before the policy.
    let mut admin = Client::admin();
    add_ada(&mut admin, "right");
    success(&admin.modify(ADA, &[(Add, "userPassword", &["other"])]));
    let policy = [
        ("objectClass", &["device", "pwdPolicy"][..]),
        ("pwdAttribute", &["userPassword"]),
        ("pwdMustChange", &["TRUE"]),
    ];
    success(&admin.add(POLICY, &policy));
    let all = [(Add, "pandoPasswordPolicy", &[POLICY][..])];
    success(&admin.modify("cn=config", &all));
    success(&admin.modify(ADA, &[(Add, "pwdReset", &["TRUE"])]));
    let mut ada = admin.another();
    success(&ada.bind(ADA, "right"));
    success(&ada.modify(ADA, &[(Delete, "userPassword", &["other"])]));
    assert_eq!(values(&mut admin, "pwdReset"), ["TRUE"]);
    assert_eq!(values(&mut admin, "pwdChangedTime"), [""; 0]);
    success(&ada.bind(ADA, "right"));
    success(&set(&mut ada, &["new"]));
    assert_eq!(values(&mut admin, "pwdReset"), [""; 0]);
    assert_eq!(values(&mut admin, "pwdChangedTime").len(), 1);
}

#[test]
fn a_former_password_does_not_come_again_as_a_hash() {
    let (mut admin, mut ada) = world(&[("pwdInHistory", "3")]);
    let again = hash(Scheme::Ssha, b"right").unwrap();
    let refused = set(&mut ada, &[&again]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    let refused = set(&mut ada, &["right"]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    success(&set(&mut ada, &["new"]));
    // The administrator may set any.
    success(&set(&mut admin, &[&again]));
}

#[test]
fn a_stolen_hash_is_no_password_to_compare() {
    let (mut admin, _ada) = world(&[]);
    for scheme in [Scheme::Ssha, Scheme::Sha512Crypt] {
        let stored = hash(scheme, b"other").unwrap();
        success(&set(&mut admin, &[&stored]));
        for (given, code) in [
            (stored.as_str(), ResultCode::COMPARE_FALSE),
            ("other", ResultCode::COMPARE_TRUE),
        ] {
            assert_eq!(admin.compare(ADA, "userPassword", given).result.code, code);
        }
    }
}

#[test]
fn a_slow_bind_is_held_against_the_password_as_it_is_when_it_ends() {
    let (mut admin, mut ada) = world(&[]);
    let slow = hash(Scheme::Argon2id, b"old").unwrap();
    success(&set(&mut admin, &[&slow]));
    success(&ada.bind_late(ADA, "old", || ()));
    // Each time another hash, so that no check is remembered.
    let again = |admin: &mut Client| {
        let slow = hash(Scheme::Argon2id, b"old").unwrap();
        success(&set(admin, &[&slow]));
    };
    again(&mut admin);
    let late = ada.bind_late(ADA, "old", || success(&set(&mut admin, &["new"])));
    assert_eq!(late.code, ResultCode::INVALID_CREDENTIALS);
    again(&mut admin);
    let late = ada.bind_late(ADA, "old", || {
        success(&admin.rename_with(ADA, "cn=other", None, &[]).result);
    });
    assert_eq!(late.code, ResultCode::INVALID_CREDENTIALS);
    success(
        &admin
            .rename_with("cn=other,dc=example,dc=com", "cn=ada", None, &[])
            .result,
    );
    again(&mut admin);
    let late = ada.bind_late(ADA, "old", || success(&admin.delete_with(ADA, &[]).result));
    assert_eq!(late.code, ResultCode::INVALID_CREDENTIALS);
}

#[test]
fn a_subtree_has_the_policy_that_is_named_for_it() {
    let mut admin = Client::admin();
    let tree = [
        "ou=staff,dc=example,dc=com",
        "ou=boss,ou=staff,dc=example,dc=com",
    ];
    for (at, name) in tree.iter().enumerate() {
        let ou = [
            ("objectClass", &["organizationalUnit"][..]),
            ("ou", &["unit"]),
        ];
        success(&admin.add(name, &ou));
        let policy = format!("cn=p{at},dc=example,dc=com");
        let length = format!("{}", 10 + 5 * at);
        let entry = [
            ("objectClass", &["device", "pwdPolicy"][..]),
            ("pwdAttribute", &["userPassword"]),
            ("pwdCheckQuality", &["1"]),
            ("pwdMinLength", &[length.as_str()]),
        ];
        success(&admin.add(&policy, &entry));
        let subtree = [
            ("objectClass", &["pandoPolicedSubtree"][..]),
            ("pandoPasswordPolicy", &[policy.as_str()]),
            ("pandoBase", &[*name]),
        ];
        success(&admin.add(&format!("cn=s{at},cn=rules,cn=config"), &subtree));
    }
    let least = |admin: &mut Client, name: &str| {
        let person = [
            ("objectClass", &["person"][..]),
            ("sn", &["x"]),
            ("userPassword", &["first"]),
        ];
        success(&admin.add(name, &person));
        let mut user = admin.another();
        success(&user.bind(name, "first"));
        let to = |user: &mut Client, password: &str| {
            let change = [(Replace, "userPassword", &[password][..])];
            user.modify(name, &change).code == ResultCode::SUCCESS
        };
        // Refused ones first: a change that is made begins the age of the password.
        (1..20)
            .find(|length| to(&mut user, &"p".repeat(*length)))
            .unwrap()
    };
    assert_eq!(least(&mut admin, "cn=out,dc=example,dc=com"), 1);
    assert_eq!(least(&mut admin, &format!("cn=in,{}", tree[0])), 10);
    assert_eq!(least(&mut admin, &format!("cn=in,{}", tree[1])), 15);
    // The entry's own policy comes first, and a subtree ends to have one with its rule.
    let inner = format!("cn=own,{}", tree[1]);
    let person = [
        ("objectClass", &["person"][..]),
        ("sn", &["x"]),
        ("userPassword", &["first"]),
        ("pwdPolicySubentry", &["cn=p0,dc=example,dc=com"]),
    ];
    success(&admin.add(&inner, &person));
    let mut user = admin.another();
    success(&user.bind(&inner, "first"));
    let to = [(Replace, "userPassword", &["pppppppppp"][..])];
    success(&user.modify(&inner, &to));
    for at in 0..2 {
        let rule = format!("cn=s{at},cn=rules,cn=config");
        success(&admin.delete_with(&rule, &[]).result);
    }
    assert_eq!(least(&mut admin, &format!("cn=late,{}", tree[1])), 1);
}
