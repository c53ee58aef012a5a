//! Passwords over connections that others can read.

use super::{ADA, add_ada, change, extended};
use crate::kit::{self, Client, success};
use protocol::{ChangeOperation, OwnedControl, ResultCode, oid};

/// An administrator over a connection that others can read, and a person with a password.
fn world() -> (Client, Client) {
    let mut admin = Client::admin();
    add_ada(&mut admin, "right");
    // Bound with a password for brevity: stands for a bind that sends none.
    let mut exposed = admin.exposed();
    success(&exposed.bind(kit::ADMIN, kit::PASSWORD));
    (admin, exposed)
}

#[test]
fn no_operation_takes_a_password_that_others_can_read() {
    let (admin, mut exposed) = world();
    let refused = ResultCode::CONFIDENTIALITY_REQUIRED;
    assert_eq!(
        change(&mut exposed, None, Some("new"), &[]).result.code,
        refused
    );
    let generated = change(&mut exposed, Some("right"), None, &[]);
    assert_eq!((generated.result.code, generated.value), (refused, None));
    let compared = exposed.compare(ADA, "userPassword", "right").result.code;
    assert_eq!(compared, refused);
    let compared = exposed
        .compare(ADA, "userPassword;x-app", "right")
        .result
        .code;
    assert_eq!(compared, refused);
    let bob = [
        ("objectClass", &["person"][..]),
        ("sn", &["bob"]),
        ("userPassword", &["new"]),
    ];
    let code = exposed.add("cn=bob,dc=example,dc=com", &bob).code;
    assert_eq!(code, refused);
    for (operation, name) in [
        (ChangeOperation::Add, "userPassword"),
        (ChangeOperation::Add, "userPassword;x-app"),
        (ChangeOperation::Replace, "userPassword"),
        (ChangeOperation::Delete, "userPassword"),
    ] {
        let code = exposed.modify(ADA, &[(operation, name, &["right"])]).code;
        assert_eq!(code, refused, "{operation:?} {name}");
    }
    let mut ada = admin.another();
    success(&ada.bind(ADA, "right"));
    // A bind and a change without a password are not refused.
    success(&exposed.bind(ADA, "right"));
    success(&exposed.modify(ADA, &[(ChangeOperation::Delete, "userPassword", &[])]));
}

#[test]
fn nor_does_a_transaction() {
    let (_admin, mut exposed) = world();
    let begun = extended(&mut exposed, oid::START_TRANSACTION, None, &[]);
    success(&begun.result);
    let identifier = begun.value.unwrap_or_default();
    let inside = [OwnedControl::with_value(
        oid::TRANSACTION_SPECIFICATION,
        true,
        |out| out.extend_from_slice(&identifier),
    )];
    let new = [(ChangeOperation::Replace, "userPassword", &["new"][..])];
    let code = exposed.modify_with(ADA, &new, &inside).result.code;
    assert_eq!(code, ResultCode::CONFIDENTIALITY_REQUIRED);
}
