//! Authorization identities of SASL: who acts as whom, and until when.

use super::{ADA, add_ada, extended};
use crate::kit::{Client, success};
use protocol::{Authentication, BindRequest, ChangeOperation, LdapResult, Request};
use protocol::{ResultCode, Scope, oid};

const GRACE: &str = "cn=grace,dc=example,dc=com";

/// Binds ada by PLAIN, to act as an identity.
fn act(client: &mut Client, password: &str, identity: &str) -> LdapResult {
    let credentials = format!("{identity}\0dn:{ADA}\0{password}");
    let request = Request::Bind(BindRequest {
        version: 3,
        name: "",
        authentication: Authentication::Sasl {
            mechanism: "PLAIN",
            credentials: Some(credentials.as_bytes()),
        },
    });
    client.call(&request, &[]).result
}

fn who(client: &mut Client) -> String {
    let answer = extended(client, oid::WHO_AM_I, None, &[]);
    String::from_utf8(answer.value.unwrap_or_default()).unwrap()
}

/// Whether the next request ends the connection.
fn is_ended(client: &mut Client) -> bool {
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["cn"]);
    found.result.code == ResultCode::STRONGER_AUTH_REQUIRED
}

/// An administrator, after ada and grace were added and ada became a proxy.
fn world() -> Client {
    let mut admin = Client::admin();
    add_ada(&mut admin, "right");
    admin.add_person("grace");
    let proxy = [(ChangeOperation::Add, "pandoProxy", &[ADA][..])];
    success(&admin.modify("cn=config", &proxy));
    admin
}

#[test]
fn a_proxy_acts_as_others_and_as_itself() {
    let admin = world();
    let mut client = admin.secured();
    success(&act(&mut client, "right", &format!("dn:{GRACE}")));
    assert_eq!(who(&mut client), format!("dn:{GRACE}"));
    for own in [
        String::new(),
        format!("dn:{ADA}"),
        "dn:CN=Ada, dc=example,dc=com".to_owned(),
    ] {
        success(&act(&mut client, "right", &own));
        assert_eq!(who(&mut client), format!("dn:{ADA}"), "{own}");
    }
    let told = |it: LdapResult| (it.code, it.diagnostic.contains("may not act"));
    for other in [
        "dn:cn=nobody,dc=example,dc=com",
        "dn:cn=admin,dc=example,dc=com",
    ] {
        let refused = act(&mut client, "right", other);
        assert_eq!(told(refused), (ResultCode::INVALID_CREDENTIALS, true));
        assert_eq!(who(&mut client), "");
    }
    let refused = act(&mut client, "wrong", &format!("dn:{GRACE}"));
    assert_eq!(told(refused), (ResultCode::INVALID_CREDENTIALS, false));
}

#[test]
fn who_is_no_proxy_any_more_does_nothing_as_another() {
    let mut admin = world();
    let mut client = admin.secured();
    success(&act(&mut client, "right", &format!("dn:{GRACE}")));
    let proxy = [(ChangeOperation::Delete, "pandoProxy", &[ADA][..])];
    success(&admin.modify("cn=config", &proxy));
    let found = client.search(GRACE, Scope::BaseObject, "(objectClass=*)", &["cn"]);
    assert_eq!(found.result.code, ResultCode::AUTHORIZATION_DENIED);
    // After another bind it is itself.
    success(&act(&mut client, "right", ""));
    assert_eq!(who(&mut client), format!("dn:{ADA}"));
}

#[test]
fn the_connection_ends_with_either_account() {
    let mut admin = world();
    let mut by_password = admin.secured();
    success(&act(&mut by_password, "right", &format!("dn:{GRACE}")));
    success(&super::set(&mut admin, &["another"]));
    assert!(is_ended(&mut by_password), "the password was changed");
    let mut by_name = admin.secured();
    success(&act(&mut by_name, "another", &format!("dn:{GRACE}")));
    success(&admin.rename_with(GRACE, "cn=hopper", None, &[]).result);
    assert!(
        is_ended(&mut by_name),
        "the entry acted as has another name"
    );
}

#[test]
fn a_password_that_must_be_changed_is_changed_first() {
    let mut admin = world();
    super::policies::with_policy(&mut admin, &[("pwdMustChange", "TRUE")]);
    success(&super::set(&mut admin, &["another"]));
    let mut client = admin.secured();
    let refused = act(&mut client, "another", &format!("dn:{GRACE}"));
    assert_eq!(refused.code, ResultCode::INVALID_CREDENTIALS);
    assert!(refused.diagnostic.contains("must be changed first"));
    assert_eq!(who(&mut client), "");
}
