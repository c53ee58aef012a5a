//! RFC 4512: entries, classes, attribute options, operational attributes, subschema, root DSE.

use kit::client::Modification;
use kit::{ADMIN, Entry, SUFFIX, people};
use protocol::{ResultCode, Scope};

use crate::{ADA, uids, with_people};

/// §2.3: an RDN may have several values, in any order.
#[test]
fn s2_3_multi_valued_rdn() {
    let (_subject, mut client) = with_people();
    let entry = Entry::of(
        "cn=Two+sn=Fold,ou=People,dc=example,dc=com",
        &[
            ("objectClass", &["person"]),
            ("cn", &["Two"]),
            ("sn", &["Fold"]),
        ],
    );
    client.add(&entry).expect_success();
    assert!(
        client
            .read("sn=fold+cn=TWO,ou=People,dc=example,dc=com")
            .is_some()
    );
    assert!(client.read("cn=Two,ou=People,dc=example,dc=com").is_none());
    client.add(&entry).expect(ResultCode::ENTRY_ALREADY_EXISTS);
}

/// §2.4: an entry has what its classes demand, and nothing they do not allow.
#[test]
fn s2_4_required_and_allowed_attributes() {
    let (_subject, mut client) = with_people();
    let mut entry = people::person("incomplete");
    entry.attributes.retain(|(name, _)| name != "sn");
    client
        .add(&entry)
        .expect(ResultCode::OBJECT_CLASS_VIOLATION);
    let mut entry = people::person("excessive");
    entry.push("uidNumber", b"1".to_vec());
    client
        .add(&entry)
        .expect(ResultCode::OBJECT_CLASS_VIOLATION);
}

/// §2.4: one structural chain; abstract classes do not suffice, unrelated ones do not mix.
#[test]
fn s2_4_structural_chain() {
    let (_subject, mut client) = with_people();
    let name = "cn=x,dc=example,dc=com";
    let none = Entry::of(name, &[("objectClass", &["top"]), ("cn", &["x"])]);
    client.add(&none).expect(ResultCode::OBJECT_CLASS_VIOLATION);
    let two = Entry::of(
        name,
        &[
            ("objectClass", &["person", "device"]),
            ("cn", &["x"]),
            ("sn", &["x"]),
        ],
    );
    client.add(&two).expect(ResultCode::OBJECT_CLASS_VIOLATION);
    let auxiliary = Entry::of(
        name,
        &[
            ("objectClass", &["simpleSecurityObject"]),
            ("cn", &["x"]),
            ("userPassword", &["x"]),
        ],
    );
    client
        .add(&auxiliary)
        .expect(ResultCode::OBJECT_CLASS_VIOLATION);
}

/// §2.4.2: the structural class of an entry does not change.
#[test]
fn s2_4_2_structural_class_does_not_change() {
    let (_subject, mut client) = with_people();
    let entry = Entry::of(
        "cn=plain,dc=example,dc=com",
        &[
            ("objectClass", &["person"]),
            ("cn", &["plain"]),
            ("sn", &["x"]),
        ],
    );
    client.add(&entry).expect_success();
    let change = Modification::add("objectClass", &["inetOrgPerson"]);
    let outcome = client.modify(&entry.name, &[change]);
    outcome.expect(ResultCode::OBJECT_CLASS_MODS_PROHIBITED);
    let change = Modification::add("objectClass", &["uidObject"]);
    let uid = Modification::add("uid", &["plain"]);
    client.modify(&entry.name, &[change, uid]).expect_success();
}

/// §2.5: values of an attribute are a set under its equality rule.
#[test]
fn s2_5_values_are_a_set() {
    let (_subject, mut client) = with_people();
    let mut entry = people::person("twice");
    entry.push("description", b"same".to_vec());
    entry.push("description", b"SAME".to_vec());
    client
        .add(&entry)
        .expect(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
}

/// §2.5.1: single-valued attributes have one value.
#[test]
fn s2_5_1_single_valued() {
    let (_subject, mut client) = with_people();
    let change = Modification::add("employeeNumber", &["2"]);
    client
        .modify(ADA, &[change])
        .expect(ResultCode::CONSTRAINT_VIOLATION);
    client
        .modify(ADA, &[Modification::replace("employeeNumber", &["2"])])
        .expect_success();
}

/// §2.5.2.1 with RFC 3866: options make subtypes of an attribute description.
#[test]
fn s2_5_2_1_options() {
    let (_subject, mut client) = with_people();
    let change = Modification::add("description;lang-de", &["Schrieb das erste Programm"]);
    client.modify(ADA, &[change]).expect_success();
    let scope = Scope::BaseObject;
    let found = client.search(ADA, scope, "(objectClass=*)", &["description"]);
    let entry = found.only();
    assert!(entry.has("description") && entry.has("description;lang-de"));
    let found = client.search(ADA, scope, "(objectClass=*)", &["description;lang-de"]);
    assert_eq!(found.only().attributes.len(), 1);
    assert_eq!(uids(&mut client, "(description=schrieb das*)"), ["ada"]);
    assert_eq!(
        uids(&mut client, "(description;LANG-DE=schrieb das*)"),
        ["ada"]
    );
    assert_eq!(uids(&mut client, "(description;lang-de=wrote*)"), [""; 0]);
}

/// §3.4: who and when, kept by the server, closed to the client.
#[test]
fn s3_4_operational_attributes() {
    let (_subject, mut client) = with_people();
    let before = client.read(ADA).expect("ada");
    assert_eq!(before.text("creatorsName").to_lowercase(), ADMIN);
    assert_eq!(before.text("modifiersName").to_lowercase(), ADMIN);
    assert!(before.text("createTimestamp").ends_with('Z'));
    let change = Modification::replace("creatorsName", &[ADA]);
    client
        .modify(ADA, &[change])
        .expect(ResultCode::CONSTRAINT_VIOLATION);
    let mut entry = people::person("liar");
    entry.push("createTimestamp", b"20000101000000Z".to_vec());
    client.add(&entry).expect(ResultCode::CONSTRAINT_VIOLATION);
}

/// §3.4.4, RFC 4530: structuralObjectClass and entryUUID.
#[test]
fn s3_4_4_structural_object_class() {
    let (_subject, mut client) = with_people();
    let entry = client.read(ADA).expect("ada");
    assert_eq!(
        entry.text("structuralObjectClass").to_lowercase(),
        "inetorgperson"
    );
    let id = entry.text("entryUUID");
    assert_eq!(id.len(), 36, "{id}");
    assert_eq!(uids(&mut client, &format!("(entryUUID={id})")), ["ada"]);
    client
        .rename(ADA, "uid=countess", true, None)
        .expect_success();
    let moved = client
        .read("uid=countess,ou=People,dc=example,dc=com")
        .expect("renamed");
    assert_eq!(moved.text("entryUUID"), id);
}

/// §4.2: the subschema is found through subschemaSubentry and read with (objectClass=subschema).
#[test]
fn s4_2_subschema() {
    let (_subject, mut client) = with_people();
    let scope = Scope::BaseObject;
    let found = client.search(ADA, scope, "(objectClass=*)", &["subschemaSubentry"]);
    let name = found.only().text("subschemaSubentry");
    let select = [
        "objectClasses",
        "attributeTypes",
        "ldapSyntaxes",
        "matchingRules",
    ];
    let found = client.search(&name, scope, "(objectClass=subschema)", &select);
    let subschema = found.only();
    for (attribute, part) in [
        ("objectClasses", "2.5.6.6 NAME 'person'"),
        ("attributeTypes", "2.5.4.3"),
        ("ldapSyntaxes", "1.3.6.1.4.1.1466.115.121.1.15"),
        ("matchingRules", "caseIgnoreMatch"),
    ] {
        let texts = subschema.texts(attribute);
        assert!(
            texts.iter().any(|text| text.contains(part)),
            "{part} in {attribute}"
        );
    }
}

/// §5.1: the root DSE is read with an empty base, by anyone, and is no part of any subtree.
#[test]
fn s5_1_root_dse() {
    let (subject, _) = with_people();
    let mut client = subject.client();
    let found = client.search("", Scope::BaseObject, "(objectClass=*)", &["*", "+"]);
    let root = found.only();
    assert_eq!(root.name, "");
    assert!(root.texts("namingContexts").contains(&SUFFIX.to_owned()));
    assert!(root.texts("supportedLDAPVersion").contains(&"3".to_owned()));
    for oid in ["1.3.6.1.4.1.4203.1.11.1", "1.3.6.1.4.1.4203.1.11.3"] {
        assert!(
            root.texts("supportedExtension").contains(&oid.to_owned()),
            "{oid}"
        );
    }
    for oid in ["1.2.840.113556.1.4.319", "2.16.840.1.113730.3.4.2"] {
        assert!(
            root.texts("supportedControl").contains(&oid.to_owned()),
            "{oid}"
        );
    }
    let found = client.search("", Scope::BaseObject, "(uid=ada)", &[]);
    assert!(found.entries.is_empty());
}
