//! Names in which passwords have no place, and names that nobody has.

use super::{ADA, add_ada};
use crate::kit::{Client, success};
use policy::password::{Scheme, hash};
use protocol::{Authentication, BindRequest, Request, ResultCode, Scope};

#[test]
fn no_password_gets_into_a_name() {
    let mut admin = Client::admin();
    add_ada(&mut admin, "right");
    let refused = admin.rename_with(ADA, "userPassword=clear", None, &[]);
    assert_eq!(refused.result.code, ResultCode::NAMING_VIOLATION);
    let refused = admin.rename_with(ADA, "cn=ada+userPassword=clear", None, &[]);
    assert_eq!(refused.result.code, ResultCode::NAMING_VIOLATION);
    let entry = [
        ("objectClass", &["person"][..]),
        ("cn", &["eve"]),
        ("sn", &["eve"]),
    ];
    let refused = admin.add("userPassword=clear,dc=example,dc=com", &entry);
    assert_eq!(refused.code, ResultCode::NAMING_VIOLATION);
    let found = admin.search(ADA, Scope::BaseObject, "(objectClass=*)", &["userPassword"]);
    assert_eq!(found.values("userPassword").len(), 1);
}

/// The server's first SCRAM message for a user from the salt on.
fn challenge(client: &Client, user: &str) -> String {
    let first = format!("n,,n={user},r=nonce");
    let request = Request::Bind(BindRequest {
        version: 3,
        name: "",
        authentication: Authentication::Sasl {
            mechanism: "SCRAM-SHA-256",
            credentials: Some(first.as_bytes()),
        },
    });
    let answer = client.another().call(&request, &[]);
    assert_eq!(answer.result.code, ResultCode::SASL_BIND_IN_PROGRESS);
    let said = String::from_utf8(answer.value.unwrap()).unwrap();
    said.split_once(",s=").unwrap().1.to_owned()
}

#[test]
fn nobody_has_one_salt_however_it_is_spelled() {
    let client = Client::new();
    let zoe = challenge(&client, "zoe");
    for other in ["ZOE", "u:Zoe", " zoe "] {
        assert_eq!(challenge(&client, other), zoe, "{other}");
    }
    assert_ne!(challenge(&client, "yve"), zoe);
    let by_name = challenge(&client, "dn:cn=3Dzoe=2Cdc=3Dexample");
    assert_eq!(challenge(&client, "dn:CN=3DZoe=2C DC=3Dexample"), by_name);
}

#[test]
fn a_user_id_and_the_name_of_its_entry_have_one_salt() {
    let mut admin = Client::admin();
    let container = [("objectClass", &["pandoConfig"][..])];
    success(&admin.add("cn=identities,cn=config", &container));
    let rule = [
        ("objectClass", &["pandoIdentityRule"][..]),
        ("pandoIdentityOrder", &["10"]),
        (
            "pandoIdentityText",
            &["sasl name \"*\" in one \"dc=example,dc=com\" where (cn=$1)"],
        ),
    ];
    success(&admin.add("cn=names,cn=identities,cn=config", &rule));
    add_ada(&mut admin, &hash(Scheme::ScramSha256, b"right").unwrap());
    for name in ["ada", "zoe"] {
        let by_id = challenge(&admin, name);
        let by_name = challenge(&admin, &format!("dn:CN=3D{name}=2Cdc=3Dexample=2Cdc=3Dcom"));
        assert_eq!(by_id, by_name, "{name}");
        assert_eq!(
            by_id,
            challenge(&admin, &format!("u:{}", name.to_uppercase()))
        );
        let elsewhere = format!("dn:CN=3D{name}=2Cou=3Dx=2Cdc=3Dexample=2Cdc=3Dcom");
        assert_ne!(by_id, challenge(&admin, &elsewhere), "{name}");
    }
}
