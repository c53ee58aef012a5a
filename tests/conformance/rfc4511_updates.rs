//! RFC 4511 §4.6 to §4.10 and §4.12: modify, add, delete, modify DN, compare, extended.

use kit::client::Modification;
use kit::{SUFFIX, people};
use protocol::{ResultCode, Scope};

use crate::{ADA, EDSGER, GRACE, PEOPLE, with_people};

/// §4.6: changes are made in order, as one atomic operation.
#[test]
fn s4_6_changes_are_ordered_and_atomic() {
    let (_subject, mut client) = with_people();
    let changes = [
        Modification::add("title", &["one"]),
        Modification::replace("title", &["two"]),
        Modification::add("title", &["three"]),
        Modification::delete("title", &["two"]),
    ];
    client.modify(ADA, &changes).expect_success();
    assert_eq!(client.read(ADA).expect("ada").texts("title"), ["three"]);
    let changes = [
        Modification::add("title", &["four"]),
        Modification::delete("pager", &[]),
    ];
    client
        .modify(ADA, &changes)
        .expect(ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(client.read(ADA).expect("ada").texts("title"), ["three"]);
}

/// §4.6: only the entry as it stands at the end must obey the schema.
#[test]
fn s4_6_entry_may_be_wrong_in_between() {
    let (_subject, mut client) = with_people();
    let changes = [
        Modification::delete("sn", &[]),
        Modification::add("sn", &["King"]),
    ];
    client.modify(ADA, &changes).expect_success();
    assert_eq!(client.read(ADA).expect("ada").text("sn"), "King");
    client
        .modify(ADA, &[Modification::delete("sn", &[])])
        .expect(ResultCode::OBJECT_CLASS_VIOLATION);
}

/// §4.6 add: values must be new.
#[test]
fn s4_6_add_of_an_existing_value() {
    let (_subject, mut client) = with_people();
    let change = Modification::add("mail", &["ADA@example.com"]);
    client
        .modify(ADA, &[change])
        .expect(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
}

/// §4.6 delete: listed values, or all of them; removing the last removes the attribute.
#[test]
fn s4_6_delete() {
    let (_subject, mut client) = with_people();
    let change = Modification::delete("description", &["the humble  programmer"]);
    client.modify(EDSGER, &[change]).expect_success();
    assert_eq!(
        client.read(EDSGER).expect("edsger").texts("description"),
        ["Goto considered"]
    );
    let change = Modification::delete("description", &["Goto considered"]);
    client.modify(EDSGER, &[change]).expect_success();
    assert!(!client.read(EDSGER).expect("edsger").has("description"));
    let change = Modification::delete("description", &["x"]);
    client
        .modify(EDSGER, &[change])
        .expect(ResultCode::NO_SUCH_ATTRIBUTE);
    let change = Modification::delete("mail", &["x@example.com"]);
    client
        .modify(EDSGER, &[change])
        .expect(ResultCode::NO_SUCH_ATTRIBUTE);
}

/// §4.6 replace: creates, replaces, deletes; without values on nothing it does nothing.
#[test]
fn s4_6_replace() {
    let (_subject, mut client) = with_people();
    client
        .modify(ADA, &[Modification::replace("title", &["x", "y"])])
        .expect_success();
    assert_eq!(client.read(ADA).expect("ada").texts("title"), ["x", "y"]);
    client
        .modify(ADA, &[Modification::replace("title", &[])])
        .expect_success();
    assert!(!client.read(ADA).expect("ada").has("title"));
    client
        .modify(ADA, &[Modification::replace("title", &[])])
        .expect_success();
}

/// §4.6: values of the RDN cannot be removed by modify.
#[test]
fn s4_6_rdn_values_stay() {
    let (subject, mut client) = with_people();
    for change in [
        Modification::delete("uid", &["ada"]),
        Modification::delete("uid", &[]),
        Modification::replace("uid", &["countess"]),
    ] {
        let outcome = client.modify(ADA, &[change]);
        // slapd 2.5 says namingViolation where the text says notAllowedOnRDN.
        let slapd_differs = !subject.is_pando() && outcome.code == ResultCode::NAMING_VIOLATION;
        assert!(
            slapd_differs || outcome.code == ResultCode::NOT_ALLOWED_ON_RDN,
            "{outcome:?}"
        );
    }
    client
        .modify(ADA, &[Modification::replace("uid", &["countess", "ada"])])
        .expect_success();
}

/// §4.6: the entry must exist, and aliases are not followed.
#[test]
fn s4_6_entry_must_exist() {
    let (_subject, mut client) = with_people();
    let nobody = "uid=nobody,ou=People,dc=example,dc=com";
    let change = Modification::add("title", &["x"]);
    client
        .modify(nobody, &[change])
        .expect(ResultCode::NO_SUCH_OBJECT);
}

/// §4.7: the new entry must not exist, its parent must.
#[test]
fn s4_7_add() {
    let (_subject, mut client) = with_people();
    client
        .add(&people::person("ada"))
        .expect(ResultCode::ENTRY_ALREADY_EXISTS);
    let mut orphan = people::person("orphan");
    orphan.name = "uid=orphan,ou=Nowhere,dc=example,dc=com".to_owned();
    let outcome = client.add(&orphan).expect(ResultCode::NO_SUCH_OBJECT);
    assert_eq!(outcome.matched.to_lowercase(), SUFFIX);
}

/// §4.8: only leaves can be deleted.
#[test]
fn s4_8_delete() {
    let (_subject, mut client) = with_people();
    client
        .delete(PEOPLE)
        .expect(ResultCode::NOT_ALLOWED_ON_NON_LEAF);
    client.delete(ADA).expect_success();
    client.delete(ADA).expect(ResultCode::NO_SUCH_OBJECT);
    assert!(client.read(ADA).is_none());
}

/// §4.9: the new RDN's values are added; the old ones go when asked.
#[test]
fn s4_9_rename() {
    let (_subject, mut client) = with_people();
    client
        .rename(ADA, "uid=countess", false, None)
        .expect_success();
    let name = "uid=countess,ou=People,dc=example,dc=com";
    assert_eq!(
        client.read(name).expect("renamed").texts("uid"),
        ["ada", "countess"]
    );
    client.rename(name, "cn=Lady", true, None).expect_success();
    let name = "cn=Lady,ou=People,dc=example,dc=com";
    let entry = client.read(name).expect("renamed");
    assert_eq!(entry.texts("uid"), ["ada"]);
    assert_eq!(entry.texts("cn"), ["Lady", "ada"]);
    assert!(client.read(ADA).is_none());
}

/// §4.9: an entry moves with everything below it.
#[test]
fn s4_9_subtrees_move() {
    let (_subject, mut client) = with_people();
    let groups = "ou=Groups,dc=example,dc=com";
    client
        .rename(PEOPLE, "ou=People", true, Some(groups))
        .expect_success();
    assert!(
        client
            .read("uid=ada,ou=People,ou=Groups,dc=example,dc=com")
            .is_some()
    );
    assert!(client.read(ADA).is_none());
    let found = client.search(groups, Scope::WholeSubtree, "(uid=*)", &["uid"]);
    assert_eq!(found.entries.len(), 3);
    let found = client.search(SUFFIX, Scope::SingleLevel, "(objectClass=*)", &["1.1"]);
    assert_eq!(found.names(), [groups.to_lowercase()]);
}

/// §4.9: the new name must be free, the new superior must exist.
#[test]
fn s4_9_refusals() {
    let (_subject, mut client) = with_people();
    client
        .rename(ADA, "uid=grace", true, None)
        .expect(ResultCode::ENTRY_ALREADY_EXISTS);
    let nowhere = "ou=Nowhere,dc=example,dc=com";
    client
        .rename(ADA, "uid=ada", true, Some(nowhere))
        .expect(ResultCode::NO_SUCH_OBJECT);
    let nobody = "uid=nobody,ou=People,dc=example,dc=com";
    client
        .rename(nobody, "uid=x", true, None)
        .expect(ResultCode::NO_SUCH_OBJECT);
    client
        .rename(ADA, "no rdn", true, None)
        .expect(ResultCode::INVALID_DN_SYNTAX);
    assert!(client.read(ADA).is_some());
}

/// §4.10: compareTrue and compareFalse; the assertion is matched by the equality rule.
#[test]
fn s4_10_compare() {
    let (_subject, mut client) = with_people();
    client
        .compare(ADA, "cn", "ADA")
        .expect(ResultCode::COMPARE_TRUE);
    client
        .compare(ADA, "CN", "grace")
        .expect(ResultCode::COMPARE_FALSE);
    client
        .compare(GRACE, "description", "x")
        .expect(ResultCode::NO_SUCH_ATTRIBUTE);
    client
        .compare(GRACE, "noSuchType", "x")
        .expect(ResultCode::UNDEFINED_ATTRIBUTE_TYPE);
    let nobody = "uid=nobody,ou=People,dc=example,dc=com";
    client
        .compare(nobody, "cn", "x")
        .expect(ResultCode::NO_SUCH_OBJECT);
    // A supertype stands for its subtypes.
    client
        .compare(ADA, "name", "Ada")
        .expect(ResultCode::COMPARE_TRUE);
}

/// §4.12: an unknown extended operation is a protocol error, and the session goes on.
#[test]
fn s4_12_unknown_extended_operation() {
    let (_subject, mut client) = with_people();
    client
        .extended("1.2.3.4.5.6.7", Some(b"x"))
        .expect(ResultCode::PROTOCOL_ERROR);
    assert!(client.read(ADA).is_some());
}

/// §4.2.1 and RFC 4512 §3.4: changes are refused to those without the right.
#[test]
fn updates_need_the_right() {
    let (subject, _) = with_people();
    let mut ada = subject.client();
    ada.bind(ADA, "ada").expect_success();
    let change = Modification::add("title", &["x"]);
    ada.modify(GRACE, &[change])
        .expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    ada.delete(GRACE)
        .expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    ada.rename(GRACE, "uid=x", true, None)
        .expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    ada.add(&people::person("x"))
        .expect(ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    ada.modify(ADA, &[Modification::replace("userPassword", &["new"])])
        .expect_success();
}
