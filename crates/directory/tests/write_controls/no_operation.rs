//! No-op (draft-zeilenga-ldap-noop): everything is checked, nothing is changed.

use crate::kit::Client;
use crate::{ADA, BASE, ada, read_entry, with_ada};
use protocol::extended::PasswordModifyRequest;
use protocol::{ChangeOperation, ExtendedRequest, OwnedControl, Request, ResultCode, Scope, oid};

const REPLACE: ChangeOperation = ChangeOperation::Replace;
const NO_OPERATION: ResultCode = ResultCode::NO_OPERATION;

fn no_op() -> OwnedControl {
    OwnedControl::new(oid::NO_OPERATION, true)
}

/// Everything that a write could have changed.
fn state(client: &mut Client) -> (String, u64) {
    let found = client.search("", Scope::WholeSubtree, "(objectClass=*)", &["*", "+"]);
    let status = client.directory.status().unwrap();
    (
        format!("{:?} {}", found.entries, status.digest),
        status.position,
    )
}

#[test]
fn every_update_can_be_tried() {
    let mut client = with_ada();
    let before = state(&mut client);
    let person: [(&str, &[&str]); 3] = [
        ("objectClass", &["person"]),
        ("sn", &["Bob"]),
        // A description nobody used before: not even its number stays.
        ("description;lang-x-never", &["new"]),
    ];
    let dn = "cn=Bob,dc=example,dc=com";
    let asked = [no_op(), read_entry(oid::POST_READ, &["*"])];
    let answer = client.add_with(dn, &person, &asked);
    assert_eq!(answer.result.code, NO_OPERATION, "{:?}", answer.result);
    // RFC 4527 §3.2: copies come with success only.
    assert_eq!(answer.controls, []);
    let change = (REPLACE, "sn", &["King"][..]);
    let answer = client.modify_with(ADA, &[change], &[no_op()]);
    assert_eq!(answer.result.code, NO_OPERATION);
    let answer = client.rename_with(ADA, "cn=Augusta", None, &[no_op()]);
    assert_eq!(answer.result.code, NO_OPERATION);
    for oid in [oid::NO_OPERATION, oid::NO_OPERATION_OPENDJ] {
        let answer = client.delete_with(ADA, &[OwnedControl::new(oid, true)]);
        assert_eq!(answer.result.code, NO_OPERATION, "{oid}");
    }
    assert_eq!(state(&mut client), before);
    assert_eq!(client.modify(ADA, &[change]).code, ResultCode::SUCCESS);
    assert_eq!(ada(&mut client, "sn"), ["King"]);
}

#[test]
fn a_password_change_can_be_tried() {
    let mut client = with_ada();
    let before = state(&mut client);
    let mut value = Vec::new();
    let request = PasswordModifyRequest {
        user_identity: Some(ADA),
        ..PasswordModifyRequest::default()
    };
    request.encode(&mut value);
    let request = ExtendedRequest {
        name: oid::PASSWORD_MODIFY,
        value: Some(&value),
    };
    let answer = client.call(&Request::Extended(request), &[no_op()]);
    assert_eq!((answer.result.code, answer.value), (NO_OPERATION, None));
    assert_eq!(state(&mut client), before);
    assert_eq!(client.bind(ADA, "ada").code, ResultCode::SUCCESS);
}

#[test]
fn what_would_fail_fails() {
    let mut client = with_ada();
    let mut codes = Vec::new();
    let person: [(&str, &[&str]); 2] = [("objectClass", &["person"]), ("sn", &["x"])];
    codes.push(client.add_with(ADA, &person, &[no_op()]).result.code);
    let change = (ChangeOperation::Delete, "sn", &[][..]);
    codes.push(client.modify_with(ADA, &[change], &[no_op()]).result.code);
    codes.push(client.delete_with(BASE, &[no_op()]).result.code);
    let junk = (REPLACE, "pandoNamingContext", &["cn=a"][..]);
    let index = "cn=uid,cn=indexes,cn=config";
    codes.push(client.modify_with(index, &[junk], &[no_op()]).result.code);
    let kind = (REPLACE, "pandoIndexKind", &["sideways"][..]);
    codes.push(client.modify_with(index, &[kind], &[no_op()]).result.code);
    assert_eq!(
        codes,
        [
            ResultCode::ENTRY_ALREADY_EXISTS,
            ResultCode::OBJECT_CLASS_VIOLATION,
            ResultCode::NOT_ALLOWED_ON_NON_LEAF,
            ResultCode::OBJECT_CLASS_VIOLATION,
            ResultCode::CONSTRAINT_VIOLATION,
        ]
    );
    let kind = (REPLACE, "pandoIndexKind", &["presence"][..]);
    let tried = client.modify_with(index, &[kind], &[no_op()]);
    assert_eq!(tried.result.code, NO_OPERATION);
    let found = client.search(index, Scope::BaseObject, "(cn=*)", &["pandoIndexKind"]);
    assert_eq!(found.values("pandoIndexKind"), ["equality"]);
    let search = client.search_with(ADA, Scope::BaseObject, "(cn=*)", &[], |_| (), &[no_op()]);
    let unfit = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION;
    assert_eq!(search.result.code, unfit);
}
