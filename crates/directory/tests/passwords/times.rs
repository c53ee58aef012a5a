//! Neither the time of an answer nor its controls tell anything of accounts.

use super::{ADA, add_ada, set};
use crate::kit::{ADMIN, Client, PASSWORD, options, success};
use directory::Options;
use policy::PasswordSettings;
use policy::password::{Scheme, hash};
use protocol::ChangeOperation::{Add, Replace};
use protocol::control::{PasswordPolicyError, PasswordPolicyResponse};
use protocol::{Authentication, BindRequest, OwnedControl, Request, ResultCode, oid};

const POLICY: &str = "cn=policy,dc=example,dc=com";

/// The administrator of a directory with an account, `ada`, of the password `right`, and one
/// without a password, `eve`.
fn world(options: &Options) -> Client {
    let mut admin = Client::admin().reopen_with(options);
    success(&admin.bind(ADMIN, PASSWORD));
    admin.add_person("eve");
    add_ada(&mut admin, &hash(Scheme::Ssha, b"right").unwrap());
    admin
}

fn slow() -> Options {
    Options {
        passwords: PasswordSettings {
            scheme: Scheme::Argon2id,
            ..PasswordSettings::default()
        },
        ..options()
    }
}

fn bind<'r>(name: &'r str, authentication: Authentication<'r>) -> Request<'r> {
    Request::Bind(BindRequest {
        version: 3,
        name,
        authentication,
    })
}

/// A bind that is refused with 49 and no word: whether it waited for a check.
fn refused_late(admin: &Client, request: &Request<'_>) -> bool {
    let mut client = admin.another();
    let begun = client.begin(request, &[OwnedControl::new(oid::PASSWORD_POLICY, false)]);
    let late = begun.waits();
    let answer = client.finish(begun);
    assert_eq!(answer.result.code, ResultCode::INVALID_CREDENTIALS);
    assert_eq!(answer.result.diagnostic, "");
    assert!(answer.controls.is_empty() && answer.value.is_none());
    late
}

/// Locks the account for good, under a policy.
fn lock(admin: &mut Client) {
    let policy = [
        ("objectClass", &["device", "pwdPolicy"][..]),
        ("pwdAttribute", &["userPassword"]),
    ];
    success(&admin.add(POLICY, &policy));
    let all = [(Add, "pandoPasswordPolicy", &[POLICY][..])];
    success(&admin.modify("cn=config", &all));
    let for_good = [(Replace, "pwdAccountLockedTime", &["000001010000Z"][..])];
    success(&admin.modify(ADA, &for_good));
}

#[test]
fn a_bind_that_cannot_succeed_takes_as_long_as_a_check() {
    let mut admin = world(&slow());
    let simple = |name| bind(name, Authentication::Simple(b"guess"));
    let nobody = "cn=nobody,dc=example,dc=com";
    for name in [ADA, nobody, "cn=eve,dc=example,dc=com", "cn=config"] {
        assert!(refused_late(&admin, &simple(name)), "{name}");
    }
    let begun = admin
        .another()
        .begin(&bind(ADA, Authentication::Simple(b"right")), &[]);
    assert!(!begun.waits(), "the right password is taken at once");
    lock(&mut admin);
    for password in ["guess", "right"] {
        let locked = bind(ADA, Authentication::Simple(password.as_bytes()));
        assert!(refused_late(&admin, &locked), "{password}");
    }
}

#[test]
fn plain_takes_as_long_for_everybody() {
    let admin = world(&slow());
    let mut client = admin.secured();
    for credentials in ["\0ada\0guess", "\0nobody\0guess", "zoe\0nobody\0guess"] {
        let plain = bind(
            "",
            Authentication::Sasl {
                mechanism: "PLAIN",
                credentials: Some(credentials.as_bytes()),
            },
        );
        let begun = client.begin(&plain, &[]);
        assert!(begun.waits(), "{credentials:?}");
        let answer = client.finish(begun);
        assert_eq!(answer.result.code, ResultCode::INVALID_CREDENTIALS);
        assert_eq!(answer.result.diagnostic, "");
    }
}

#[test]
fn under_a_fast_scheme_nobody_waits() {
    let admin = world(&options());
    for name in [ADA, "cn=nobody,dc=example,dc=com"] {
        let simple = bind(name, Authentication::Simple(b"guess"));
        assert!(!refused_late(&admin, &simple), "{name}");
    }
}

#[test]
fn locks_are_told_to_right_passwords_where_a_setting_says_so() {
    let asked = [OwnedControl::new(oid::PASSWORD_POLICY, false)];
    let told = |admin: &Client, password: &[u8]| {
        let request = bind(ADA, Authentication::Simple(password));
        let answer = admin.another().call(&request, &asked);
        assert_eq!(answer.result.code, ResultCode::INVALID_CREDENTIALS);
        let (name, value) = answer.controls.first()?;
        assert_eq!(name, oid::PASSWORD_POLICY);
        let said = PasswordPolicyResponse::decode(value.as_deref().unwrap());
        said.unwrap().error
    };
    for tells in [false, true] {
        let mut options = slow();
        options.passwords.tell_locked = tells;
        let mut admin = world(&options);
        lock(&mut admin);
        // Nobody has logged in from here lately.
        assert_eq!(told(&admin, b"right"), None);
        let unlock = [(Replace, "pwdAccountLockedTime", &[][..])];
        success(&admin.modify(ADA, &unlock));
        success(&admin.another().bind(ADA, "right"));
        let for_good = [(Replace, "pwdAccountLockedTime", &["000001010000Z"][..])];
        success(&admin.modify(ADA, &for_good));
        assert_eq!(told(&admin, b"guess"), None);
        let expected = tells.then_some(PasswordPolicyError::AccountLocked);
        assert_eq!(told(&admin, b"right"), expected);
        // Guesses under the lock end the knowledge.
        for number in 0..20 {
            let guess = format!("guess {number}");
            let request = bind(ADA, Authentication::Simple(guess.as_bytes()));
            assert!(admin.another().call(&request, &asked).controls.is_empty());
        }
        let request = bind(ADA, Authentication::Simple(b"right"));
        assert!(admin.another().call(&request, &asked).controls.is_empty());
    }
}

#[test]
fn a_password_that_is_too_long_is_refused_alike() {
    let mut admin = world(&slow());
    success(&set(&mut admin, &["right"]));
    let long = vec![b'x'; 2_000];
    for name in [ADA, "cn=nobody,dc=example,dc=com"] {
        let simple = bind(name, Authentication::Simple(&long));
        assert!(refused_late(&admin, &simple), "{name}");
    }
}
