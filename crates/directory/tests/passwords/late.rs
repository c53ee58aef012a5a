//! Checks of passwords that take their time are held against the directory as it is when they end.

use super::{ADA, add_ada, set};
use crate::kit::{Client, success};
use policy::password::{Prf, Scheme, hash, scram_keys};
use protocol::ChangeOperation::{Add, Replace};
use protocol::extended::PasswordModifyRequest;
use protocol::sasl::ClientFinal;
use protocol::{
    Authentication, BindRequest, CompareRequest, ExtendedRequest, Request, ResultCode, oid,
};

/// Changes the account while a check of its password goes on.
type Meanwhile = fn(&mut Client);

fn deletes(admin: &mut Client) {
    success(&admin.delete_with(ADA, &[]).result);
}

fn renames(admin: &mut Client) {
    success(&admin.rename_with(ADA, "cn=other", None, &[]).result);
}

fn replaces(admin: &mut Client) {
    success(&set(admin, &["new"]));
}

fn locks(admin: &mut Client) {
    let for_good = [(Replace, "pwdAccountLockedTime", &["000001010000Z"][..])];
    success(&admin.modify(ADA, &for_good));
}

/// The administrator of a new directory with an account whose password, `old`, is slow to check.
fn world() -> Client {
    let mut admin = Client::admin();
    add_ada(&mut admin, &hash(Scheme::Argon2id, b"old").unwrap());
    admin
}

#[test]
fn a_slow_compare_tells_what_is_true_when_it_ends() {
    let compared = |meanwhile: Meanwhile| {
        let mut admin = world();
        let mut other = admin.another();
        success(&other.bind(crate::kit::ADMIN, crate::kit::PASSWORD));
        let request = Request::Compare(CompareRequest {
            entry: ADA,
            attribute: "userPassword",
            value: b"old",
        });
        let answer = other.call_late(&request, || meanwhile(&mut admin));
        answer.result.code
    };
    assert_eq!(compared(|_| ()), ResultCode::COMPARE_TRUE);
    assert_eq!(compared(replaces), ResultCode::COMPARE_FALSE);
    assert_eq!(compared(renames), ResultCode::NO_SUCH_OBJECT);
    assert_eq!(compared(deletes), ResultCode::NO_SUCH_OBJECT);
}

/// Password Modify from `old` to `newer`.
fn change<T>(body: impl FnOnce(&Request<'_>) -> T) -> T {
    let mut value = Vec::new();
    let request = PasswordModifyRequest {
        user_identity: Some(ADA),
        old_password: Some(b"old"),
        new_password: Some(b"newer"),
    };
    request.encode(&mut value);
    body(&Request::Extended(ExtendedRequest {
        name: oid::PASSWORD_MODIFY,
        value: Some(&value),
    }))
}

#[test]
fn an_old_password_is_right_when_its_check_ends_or_not_at_all() {
    let changed = |meanwhile: Meanwhile| {
        let mut admin = world();
        let mut other = admin.another();
        success(&other.bind(crate::kit::ADMIN, crate::kit::PASSWORD));
        let answer = change(|it| other.call_late(it, || meanwhile(&mut admin)));
        let taken = [ADA, "cn=other,dc=example,dc=com"]
            .iter()
            .any(|name| admin.another().bind(name, "newer").code == ResultCode::SUCCESS);
        (answer.result.code, taken)
    };
    assert_eq!(changed(|_| ()), (ResultCode::SUCCESS, true));
    let refused = (ResultCode::INVALID_CREDENTIALS, false);
    for meanwhile in [replaces, renames, deletes] {
        assert_eq!(changed(meanwhile), refused);
    }
}

#[test]
fn a_connection_whose_account_is_locked_learns_nothing_of_a_check() {
    let compare = Request::Compare(CompareRequest {
        entry: ADA,
        attribute: "userPassword",
        value: b"guess",
    });
    let mut admin = world();
    let policy = "cn=policy,dc=example,dc=com";
    let entry = [
        ("objectClass", &["device", "pwdPolicy"][..]),
        ("pwdAttribute", &["userPassword"]),
    ];
    success(&admin.add(policy, &entry));
    let all = [(Add, "pandoPasswordPolicy", &[policy][..])];
    success(&admin.modify("cn=config", &all));
    let mut ada = admin.another();
    success(&ada.bind(ADA, "old"));
    let answer = ada.call_late(&compare, || locks(&mut admin));
    assert_eq!(answer.result.code, ResultCode::STRONGER_AUTH_REQUIRED);
}

/// SHA-256 of 32 zeros: the key of a client is zeros, and the proof of one is the signature.
const KEY: &str = "Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU=";

#[test]
fn a_proof_is_held_against_the_password_of_its_end() {
    let bound = |meanwhile: Meanwhile| {
        let mut admin = Client::admin();
        let stored = format!("{{SCRAM-SHA-256}}4096:c2FsdA==${KEY}:{KEY}");
        add_ada(&mut admin, &stored);
        let mut client = admin.another();
        let mut sasl = |credentials: &[u8]| {
            let authentication = Authentication::Sasl {
                mechanism: "SCRAM-SHA-256",
                credentials: Some(credentials),
            };
            let bind = Request::Bind(BindRequest {
                version: 3,
                name: "",
                authentication,
            });
            client.call(&bind, &[])
        };
        let bare = "n=dn:cn=3Dada=2Cdc=3Dexample=2Cdc=3Dcom,r=nonce";
        let begun = sasl(format!("n,,{bare}").as_bytes());
        assert_eq!(begun.result.code, ResultCode::SASL_BIND_IN_PROGRESS);
        let said = String::from_utf8(begun.value.unwrap()).unwrap();
        let nonce = said.split(',').next().unwrap().strip_prefix("r=").unwrap();
        let without_proof = format!("c=biws,r={nonce}");
        let exchange = format!("{bare},{said},{without_proof}");
        let keys = scram_keys(stored.as_bytes(), Prf::Sha256).unwrap();
        let mut last = Vec::new();
        let message = ClientFinal {
            without_proof: &without_proof,
            header: b"n,,".to_vec(),
            nonce,
            proof: keys.signature(exchange.as_bytes()),
        };
        message.encode(&mut last);
        meanwhile(&mut admin);
        sasl(&last).result.code
    };
    assert_eq!(bound(|_| ()), ResultCode::SUCCESS);
    for meanwhile in [replaces, renames, deletes] {
        assert_eq!(bound(meanwhile), ResultCode::INVALID_CREDENTIALS);
    }
}
