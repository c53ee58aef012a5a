//! Referrals (RFC 3296), names nobody here holds, and entries that are not stored.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{Answer, Client};
use protocol::{
    ChangeOperation, DeleteRequest, DerefAliases, OwnedControl, Request, ResultCode, Scope, oid,
};

const BASE: &str = "dc=example,dc=com";
const PEOPLE: &str = "ou=People,dc=example,dc=com";

fn manage() -> [OwnedControl; 1] {
    [OwnedControl {
        oid: oid::MANAGE_DSA_IT.into(),
        critical: true,
        value: None,
    }]
}

fn refer(client: &mut Client, dn: &str, urls: &[&str]) {
    let classes: &[&str] = &["referral", "extensibleObject"];
    let done = client.add(dn, &[("objectClass", classes), ("ref", urls)]);
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
}

fn client() -> Client {
    let mut client = Client::admin();
    let urls = [
        "ldap://hostb/OU=People,DC=example,DC=net label",
        "ldap://hostc?cn?one?(cn=x)",
        "ldap://hostd",
        "https://somewhere/else",
    ];
    refer(&mut client, PEOPLE, &[urls[0], urls[2], urls[3]]);
    client
}

fn rename(client: &mut Client, entry: &str, new_rdn: &str, superior: Option<&str>) -> ResultCode {
    let answer = client.rename_with(entry, new_rdn, superior, &[]);
    answer.result.code
}

#[test]
fn searches_name_their_scope_and_other_operations_none() {
    let mut client = client();
    for (scope, word) in [
        (Scope::BaseObject, "base"),
        (Scope::SingleLevel, "one"),
        (Scope::WholeSubtree, "sub"),
    ] {
        let found = client.search(PEOPLE, scope, "(objectClass=*)", &[]).result;
        assert_eq!(found.code, ResultCode::REFERRAL);
        assert_eq!(
            found.referrals,
            [
                format!("ldap://hostb/OU=People,DC=example,DC=net??{word}"),
                format!("ldap://hostd/{PEOPLE}??{word}"),
                "https://somewhere/else".to_owned(),
            ]
        );
    }
    let below = format!("cn=a b,{PEOPLE}");
    let done = client.modify(&below, &[(ChangeOperation::Replace, "sn", &["x"])]);
    assert_eq!(
        done.referrals[..2],
        [
            "ldap://hostb/cn=a%20b,OU=People,DC=example,DC=net".to_owned(),
            format!("ldap://hostd/cn=a%20b,{PEOPLE}"),
        ]
    );
    let found = client.search(BASE, Scope::SingleLevel, "(cn=none)", &[]);
    assert_eq!(found.result.code, ResultCode::SUCCESS);
    assert_eq!(
        found.references,
        [[
            "ldap://hostb/OU=People,DC=example,DC=net??base",
            "ldap://hostd/ou=People,dc=example,dc=com??base",
            "https://somewhere/else",
        ]]
    );
}

#[test]
fn every_operation_is_referred_and_none_that_manages() {
    let mut client = client();
    let below = format!("cn=x,{PEOPLE}");
    let person: &[(&str, &[&str])] = &[("objectClass", &["person"]), ("sn", &["x"])];
    assert_eq!(client.add(&below, person).code, ResultCode::REFERRAL);
    assert_eq!(
        rename(&mut client, &below, "cn=y", None),
        ResultCode::REFERRAL
    );
    assert_eq!(
        client.compare(&below, "cn", "x").result.code,
        ResultCode::REFERRAL
    );
    let request = Request::Delete(DeleteRequest { entry: PEOPLE });
    assert_eq!(client.call(&request, &[]).result.code, ResultCode::REFERRAL);
    let bound = client.bind(&below, "secret");
    assert_eq!(bound.code, ResultCode::INVALID_CREDENTIALS);
    let mut client = client.another();
    let missing = client.search_with(
        &below,
        Scope::BaseObject,
        "(objectClass=*)",
        &[],
        |_| (),
        &manage(),
    );
    assert_eq!(missing.result.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(missing.result.matched, PEOPLE);
}

#[test]
fn renames_into_what_others_hold_affect_several_servers() {
    let mut client = client();
    client.add_person("ada");
    let ada = "cn=ada,dc=example,dc=com";
    let below = format!("ou=x,{PEOPLE}");
    for superior in [PEOPLE, &below] {
        assert_eq!(
            rename(&mut client, ada, "cn=ada", Some(superior)),
            ResultCode::AFFECTS_MULTIPLE_DSAS
        );
    }
    refer(&mut client, "cn=far,dc=example,dc=com", &["ldap://far"]);
    assert_eq!(
        rename(&mut client, ada, "cn=far", None),
        ResultCode::AFFECTS_MULTIPLE_DSAS
    );
}

#[test]
fn names_nobody_here_holds_go_to_the_superior() {
    let mut client = Client::admin();
    let elsewhere = "cn=x,o=elsewhere";
    let found = client.search(elsewhere, Scope::BaseObject, "(cn=*)", &[]);
    assert_eq!(found.result.code, ResultCode::NO_SUCH_OBJECT);
    let wrong = [(
        ChangeOperation::Add,
        "pandoSuperiorReferral",
        &["no url"][..],
    )];
    let refused = client.modify("cn=config", &wrong);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    assert!(
        refused.diagnostic.contains("expected an LDAP URL"),
        "{}",
        refused.diagnostic
    );
    let urls = &["ldap://top.example/"][..];
    let change = (ChangeOperation::Add, "pandoSuperiorReferral", urls);
    assert_eq!(
        client.modify("cn=config", &[change]).code,
        ResultCode::SUCCESS
    );
    let found = client.search(elsewhere, Scope::WholeSubtree, "(cn=*)", &[]);
    assert_eq!(found.result.code, ResultCode::REFERRAL);
    assert_eq!(
        found.result.referrals,
        ["ldap://top.example/cn=x,o=elsewhere??sub"]
    );
    let compared = client.compare(elsewhere, "cn", "x").result;
    assert_eq!(compared.referrals, ["ldap://top.example/cn=x,o=elsewhere"]);
    let person: &[(&str, &[&str])] = &[("objectClass", &["person"]), ("sn", &["x"])];
    let added = client.add(elsewhere, person);
    assert_eq!(added.referrals, ["ldap://top.example/cn=x,o=elsewhere"]);
    let inside = client.search("cn=x,dc=example,dc=com", Scope::BaseObject, "(cn=*)", &[]);
    assert_eq!(inside.result.code, ResultCode::NO_SUCH_OBJECT);
    let mut anonymous = client.another();
    let hidden = anonymous.search("cn=config", Scope::BaseObject, "(cn=*)", &[]);
    assert_eq!(hidden.result.code, ResultCode::NO_SUCH_OBJECT);
    let root = client.search("", Scope::BaseObject, "(ref=*)", &["ref"]);
    assert_eq!(root.values("ref"), ["ldap://top.example/"]);
}

#[test]
fn what_aliases_lead_to_is_referred_by_its_own_name() {
    let mut client = client();
    let classes: &[&str] = &["alias", "extensibleObject"];
    let alias = [("objectClass", classes), ("aliasedObjectName", &[PEOPLE])];
    let done = client.add("ou=folk,dc=example,dc=com", &alias);
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let found = client.search_with(
        "cn=a,ou=folk,dc=example,dc=com",
        Scope::BaseObject,
        "(cn=*)",
        &[],
        |it| it.deref_aliases = DerefAliases::Always,
        &[],
    );
    assert_eq!(
        found.result.referrals[1],
        "ldap://hostd/cn=a,ou=People,dc=example,dc=com??base"
    );
}

#[test]
fn the_root_dse_and_the_subschema_are_compared() {
    let mut client = client();
    let code = |answer: Answer| answer.result.code;
    for (entry, attribute, value, expected) in [
        ("", "configContext", "CN=Config", ResultCode::COMPARE_TRUE),
        ("", "vendorName", "other", ResultCode::COMPARE_FALSE),
        (
            "",
            "namingContexts",
            "o=x",
            ResultCode::INAPPROPRIATE_MATCHING,
        ),
        ("", "sn", "x", ResultCode::NO_SUCH_ATTRIBUTE),
        ("cn=subschema", "cn", "SUBSCHEMA", ResultCode::COMPARE_TRUE),
        (
            "cn=subschema",
            "attributeTypes",
            "cn",
            ResultCode::COMPARE_TRUE,
        ),
        (
            "2.5.4.3=sub\\73chema",
            "objectClasses",
            "person",
            ResultCode::COMPARE_TRUE,
        ),
        (
            "cn=subschema",
            "objectClasses",
            "3.3.3",
            ResultCode::COMPARE_FALSE,
        ),
    ] {
        let answer = client.compare(entry, attribute, value);
        assert_eq!(code(answer), expected, "{entry} {attribute}");
    }
    let delete = Request::Delete(DeleteRequest {
        entry: "cn=subschema",
    });
    assert_eq!(
        code(client.call(&delete, &[])),
        ResultCode::UNWILLING_TO_PERFORM
    );
}

#[test]
fn the_root_dse_and_the_subschema_are_found_like_entries() {
    let mut client = client();
    for (base, scope, filter, count) in [
        ("", Scope::BaseObject, "(vendorName=Pando)", 1),
        ("", Scope::BaseObject, "(vendorName=other)", 0),
        ("", Scope::SingleLevel, "(objectClass=domain)", 1),
        ("", Scope::WholeSubtree, "(objectClass=domain)", 1),
        ("cn=subschema", Scope::BaseObject, "(name=subschema)", 1),
        (
            " CN = SubSchema ",
            Scope::WholeSubtree,
            "(objectClass=subschema)",
            1,
        ),
        ("cn=subschema", Scope::SingleLevel, "(objectClass=*)", 0),
        (
            "cn=subschema",
            Scope::BaseObject,
            "(attributeTypes=2.5.4.3)",
            1,
        ),
        ("cn=subschema", Scope::BaseObject, "(!(cn=subschema))", 0),
    ] {
        let found = client.search(base, scope, filter, &["1.1"]);
        assert_eq!(found.result.code, ResultCode::SUCCESS, "{base} {filter}");
        assert_eq!(found.entries.len(), count, "{base} {filter}");
    }
    let found = client.search("cn=subschema", Scope::BaseObject, "(cn=*)", &["name"]);
    assert_eq!(found.values("cn"), ["Subschema"]);
}
