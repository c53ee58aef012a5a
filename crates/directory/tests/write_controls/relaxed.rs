//! Relax rules (draft-zeilenga-ldap-relax): for administrators, and only as far as it makes sense.

use crate::kit::Client;
use crate::{ADA, BASE, ada, with_ada};
use protocol::ChangeOperation::{Add, Delete, Replace};
use protocol::{OwnedControl, ResultCode, oid};

const UUID: &str = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
const REFUSED: ResultCode = ResultCode::CONSTRAINT_VIOLATION;

fn relax() -> [OwnedControl; 1] {
    [OwnedControl::new(oid::RELAX_RULES, true)]
}

fn add(client: &mut Client, name: &str, more: &[(&str, &[&str])]) -> ResultCode {
    let mut attributes: Vec<(&str, &[&str])> = vec![("objectClass", &["person"]), ("sn", &["x"])];
    attributes.extend(more);
    let dn = format!("cn={name},{BASE}");
    client.add_with(&dn, &attributes, &relax()).result.code
}

#[test]
fn an_add_brings_what_the_server_would_make() {
    let mut client = with_ada();
    let kept: [(&str, &[&str]); 5] = [
        ("entryUUID", &[UUID]),
        ("creatorsName", &["cn=old,o=where"]),
        ("createTimestamp", &["20060101000000Z"]),
        ("modifyTimestamp", &["20070101000000Z"]),
        ("modifiersName", &["cn=other,o=where"]),
    ];
    assert_eq!(add(&mut client, "Moved", &kept), ResultCode::SUCCESS);
    let dn = format!("cn=Moved,{BASE}");
    let found = client.search(&dn, protocol::Scope::BaseObject, "(cn=*)", &["+"]);
    for (name, value) in kept {
        assert_eq!(found.values(name), value, "{name}");
    }
    assert_eq!(found.values("entryCSN").len(), 1);
    assert_eq!(add(&mut client, "Twin", &kept[..1]), REFUSED);
    assert_eq!(
        add(&mut client, "Two", &[("entryUUID", &["x"])]),
        ResultCode::INVALID_ATTRIBUTE_SYNTAX
    );
    let future: (&str, &[&str]) = ("createTimestamp", &["29990101000000Z"]);
    assert_eq!(add(&mut client, "Future", &[future]), REFUSED);
    assert_eq!(
        add(
            &mut client,
            "Order",
            &[kept[3], ("createTimestamp", &["20080101000000Z"])]
        ),
        REFUSED
    );
    assert_eq!(
        add(
            &mut client,
            "Derived",
            &[("structuralObjectClass", &["person"])]
        ),
        REFUSED
    );
    assert_eq!(add(&mut client, "Csn", &[("entryCSN", &["x"])]), REFUSED);
}

#[test]
fn a_modify_replaces_it() {
    let mut client = with_ada();
    let mut modify = |changes: &[(_, &str, &[&str])]| {
        let answer = client.modify_with(ADA, changes, &relax());
        answer.result.code
    };
    let uuid = (Replace, "entryUUID", &[UUID][..]);
    let created = (Replace, "createTimestamp", &["20060101000000Z"][..]);
    assert_eq!(modify(&[uuid, created]), ResultCode::SUCCESS);
    assert_eq!(modify(&[uuid]), ResultCode::SUCCESS);
    assert_eq!(modify(&[(Delete, "entryUUID", &[])]), REFUSED);
    assert_eq!(
        modify(&[(Add, "entryUUID", &["597ae2f6-16a6-1027-98f4-d28b5365dc15"])]),
        REFUSED
    );
    assert_eq!(
        modify(&[(Replace, "modifyTimestamp", &["20050101000000Z"])]),
        REFUSED
    );
    assert_eq!(
        modify(&[(Replace, "modifyTimestamp", &["20060101000001Z"])]),
        ResultCode::SUCCESS
    );
    assert_eq!(ada(&mut client, "modifyTimestamp"), ["20060101000001Z"]);
    assert_eq!(ada(&mut client, "entryUUID"), [UUID]);
    assert_eq!(client.modify(ADA, &[created]).code, REFUSED);
}

#[test]
fn an_entry_changes_what_it_is() {
    let mut client = with_ada();
    let unit: [(&str, &[&str]); 2] = [("objectClass", &["organization"]), ("o", &["Unit"])];
    let dn = format!("o=Unit,{BASE}");
    assert_eq!(client.add(&dn, &unit).code, ResultCode::SUCCESS);
    let change = [
        (Delete, "objectClass", &["organization"][..]),
        (Add, "objectClass", &["organizationalUnit"][..]),
        (Add, "ou", &["Unit"][..]),
    ];
    let strict = client.modify(&dn, &change).code;
    assert_ne!(strict, ResultCode::SUCCESS);
    // The name must still be made of what the entry may have.
    let halfway = client.modify_with(&dn, &change, &relax()).result.code;
    assert_eq!(halfway, ResultCode::OBJECT_CLASS_VIOLATION);
    let dn = ADA;
    let change = [
        (Delete, "objectClass", &["person"][..]),
        (Add, "objectClass", &["inetOrgPerson"][..]),
        (Add, "mail", &["ada@example.com"][..]),
    ];
    let refused = client.modify(dn, &change).code;
    assert_eq!(refused, ResultCode::OBJECT_CLASS_MODS_PROHIBITED);
    let done = client.modify_with(dn, &change, &relax()).result;
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    assert_eq!(ada(&mut client, "structuralObjectClass"), ["inetOrgPerson"]);
}

#[test]
fn it_is_for_administrators() {
    let mut client = with_ada();
    let mut own = client.another();
    assert_eq!(own.bind(ADA, "ada").code, ResultCode::SUCCESS);
    let password = (Replace, "userPassword", &["new"][..]);
    let refused = own.modify_with(ADA, &[password], &relax()).result.code;
    assert_eq!(refused, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let allowed = client.delete_with(ADA, &relax()).result.code;
    assert_eq!(allowed, ResultCode::SUCCESS);
}
