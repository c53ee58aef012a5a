//! Keys of SCRAM beside the hash of a password: they come, are compared and go together.

use super::policies::with_policy;
use super::{ADA, add_ada, change, set};
use crate::kit::{ADMIN, Client, PASSWORD, options, success};
use directory::Options;
use policy::password::{Prf, Scheme, hash, scram_keys, verify};
use policy::{PasswordSettings, Verifiers};
use protocol::ChangeOperation::{Add, Delete};
use protocol::{Authentication, BindRequest, Request, ResultCode, Scope};

/// New passwords get a fast hash, and keys beside it.
fn with_keys() -> Options {
    Options {
        passwords: PasswordSettings {
            scheme: Scheme::Ssha512,
            verifiers: Verifiers::Sha256,
            ..PasswordSettings::default()
        },
        ..options()
    }
}

/// An administrator, and a person whose password is `right`.
fn world() -> Client {
    let mut admin = Client::admin().reopen_with(&with_keys());
    success(&admin.bind(ADMIN, PASSWORD));
    add_ada(&mut admin, "right");
    admin
}

fn values(admin: &mut Client, attribute: &str) -> Vec<String> {
    let found = admin.search(ADA, Scope::BaseObject, "(objectClass=*)", &[attribute]);
    let values = found.values(attribute).into_iter();
    values.map(str::to_owned).collect()
}

/// Panics unless the hash and the keys of one password are stored.
#[track_caller]
fn has_pair_of(admin: &mut Client, password: &str) {
    let stored = values(admin, "userPassword");
    let starts = |scheme: &str| stored.iter().filter(|it| it.starts_with(scheme)).count();
    let found = (stored.len(), starts("{SSHA512}"), starts("{SCRAM-SHA-256}"));
    assert_eq!(found, (2, 1, 1), "{stored:?}");
    for value in &stored {
        assert!(verify(value.as_bytes(), password.as_bytes()), "{value}");
    }
}

#[test]
fn they_come_and_go_with_the_hash() {
    let mut admin = world();
    has_pair_of(&mut admin, "right");
    let mut ada = admin.another();
    success(&ada.bind(ADA, "right"));
    success(&change(&mut ada, Some("right"), Some("second"), &[]).result);
    has_pair_of(&mut admin, "second");
    assert_eq!(ada.bind(ADA, "right").code, ResultCode::INVALID_CREDENTIALS);
    success(&ada.bind(ADA, "second"));
    let compared = ada.compare(ADA, "userPassword", "second").result.code;
    assert_eq!(compared, ResultCode::COMPARE_TRUE);
    let compared = ada.compare(ADA, "userPassword", "right").result.code;
    assert_eq!(compared, ResultCode::COMPARE_FALSE);
    success(&admin.modify(ADA, &[(Delete, "userPassword", &[])]));
    assert!(values(&mut admin, "userPassword").is_empty());
    // A hash of the client's own gets none, nor does a value that binds do not know.
    let own = hash(Scheme::Ssha, b"third").unwrap();
    success(&set(&mut admin, &[&own]));
    assert_eq!(values(&mut admin, "userPassword"), [own]);
    success(&admin.modify(ADA, &[(Add, "userPassword;x-app", &["fourth"])]));
    assert_eq!(values(&mut admin, "userPassword;x-app").len(), 1);
}

#[test]
fn several_passwords_of_one_change_get_theirs() {
    let mut admin = world();
    success(&set(&mut admin, &["one", "two"]));
    let stored = values(&mut admin, "userPassword");
    assert_eq!(stored.len(), 4, "{stored:?}");
    for password in ["one", "two"] {
        let own = stored.iter();
        let own = own.filter(|it| verify(it.as_bytes(), password.as_bytes()));
        assert_eq!(own.count(), 2, "{password}");
    }
}

#[test]
fn a_policy_counts_both_as_one_password() {
    let mut admin = world();
    let settings = [("pwdInHistory", "2"), ("pwdSafeModify", "TRUE")];
    with_policy(&mut admin, &settings);
    let mut ada = admin.another();
    success(&ada.bind(ADA, "right"));
    // The old password by value takes the keys with it.
    let changes = [
        (Delete, "userPassword", &["right"][..]),
        (Add, "userPassword", &["second"]),
    ];
    success(&ada.modify_with(ADA, &changes, &[]).result);
    has_pair_of(&mut admin, "second");
    success(&change(&mut ada, Some("second"), Some("third"), &[]).result);
    has_pair_of(&mut admin, "third");
    let history = values(&mut admin, "pwdHistory");
    assert_eq!(history.len(), 2, "one value for each password: {history:?}");
    assert!(history.iter().all(|it| !it.contains("{SCRAM")));
    for former in ["right", "second", "third"] {
        let refused = change(&mut ada, Some("third"), Some(former), &[]).result;
        assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION, "{former}");
    }
    // A second password is refused as before.
    let refused = admin.modify(ADA, &[(Add, "userPassword", &["another"])]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    let pair = [
        hash(Scheme::Ssha, b"a").unwrap(),
        hash(Scheme::Ssha, b"b").unwrap(),
    ];
    let refused = set(&mut admin, &[&pair[0], &pair[1]]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    has_pair_of(&mut admin, "third");
}

#[test]
fn the_first_response_has_their_salt() {
    let mut admin = world();
    let stored = values(&mut admin, "userPassword");
    let keys = stored
        .iter()
        .find_map(|it| scram_keys(it.as_bytes(), Prf::Sha256));
    let first = format!(
        "n,,n=dn:{},r=nonce",
        ADA.replace('=', "=3D").replace(',', "=2C")
    );
    let request = Request::Bind(BindRequest {
        version: 3,
        name: "",
        authentication: Authentication::Sasl {
            mechanism: "SCRAM-SHA-256",
            credentials: Some(first.as_bytes()),
        },
    });
    let answer = admin.another().call(&request, &[]);
    let said = String::from_utf8(answer.value.unwrap()).unwrap();
    let mut salt = Vec::new();
    protocol::base64::encode_into(&mut salt, &keys.unwrap().salt);
    let salt = String::from_utf8(salt).unwrap();
    assert!(said.contains(&format!(",s={salt},i=20000")), "{said}");
}

#[test]
fn nobody_is_refused_as_late_as_somebody() {
    let admin = world();
    for (name, password) in [(ADA, "wrong"), ("cn=nobody,dc=example,dc=com", "wrong")] {
        let mut client = admin.another();
        let request = Request::Bind(BindRequest {
            version: 3,
            name,
            authentication: Authentication::Simple(password.as_bytes()),
        });
        let begun = client.begin(&request, &[]);
        assert!(begun.waits(), "{name}");
        let refused = client.finish(begun).result;
        assert_eq!(refused.code, ResultCode::INVALID_CREDENTIALS);
    }
}
