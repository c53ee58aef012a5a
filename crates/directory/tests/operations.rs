//! The operations of RFC 4511 on a directory in one process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{ADMIN, Client, PASSWORD};
use protocol::{
    ChangeOperation, DeleteRequest, DerefAliases, ExtendedRequest, OwnedControl, Request,
    ResultCode, Scope, oid,
};

const SHOE_SIZE: &str = "( 1.2.3.4.5 NAME 'shoeSize' EQUALITY integerMatch \
    SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )";
const BASE: &str = "dc=example,dc=com";

fn rename(client: &mut Client, entry: &str, new_rdn: &str, superior: Option<&str>) -> ResultCode {
    let answer = client.rename_with(entry, new_rdn, superior, &[]);
    answer.result.code
}

fn delete(client: &mut Client, entry: &str) -> ResultCode {
    client.delete_with(entry, &[]).result.code
}

fn compare(client: &mut Client, entry: &str, attribute: &str, value: &str) -> ResultCode {
    client.compare(entry, attribute, value).result.code
}

#[test]
fn the_life_of_an_entry() {
    let mut client = Client::admin();
    client.add_person("Ada");
    let found = client.search(BASE, Scope::WholeSubtree, "(cn=ada)", &[]);
    assert_eq!(found.names(), ["cn=Ada,dc=example,dc=com"]);
    assert_eq!(found.values("cn"), ["Ada"]);
    let dn = "cn=ada,dc=EXAMPLE,dc=com";
    let replace = (ChangeOperation::Replace, "description", &["first"][..]);
    assert_eq!(client.modify(dn, &[replace]).code, ResultCode::SUCCESS);
    assert_eq!(
        compare(&mut client, dn, "description", "FIRST"),
        ResultCode::COMPARE_TRUE
    );
    assert_eq!(
        compare(&mut client, dn, "description", "other"),
        ResultCode::COMPARE_FALSE
    );
    assert_eq!(
        compare(&mut client, dn, "mail", "x"),
        ResultCode::NO_SUCH_ATTRIBUTE
    );
    assert_eq!(
        rename(&mut client, dn, "cn=Lovelace", None),
        ResultCode::SUCCESS
    );
    assert!(
        client
            .search(BASE, Scope::WholeSubtree, "(cn=ada)", &[])
            .entries
            .is_empty()
    );
    let found = client.search(
        BASE,
        Scope::SingleLevel,
        "(cn=lovelace)",
        &["cn", "modifiersName"],
    );
    assert_eq!(found.names(), ["cn=Lovelace,dc=example,dc=com"]);
    assert_eq!(found.values("modifiersName"), [ADMIN]);
    let dn = "cn=Lovelace,dc=example,dc=com";
    assert_eq!(delete(&mut client, dn), ResultCode::SUCCESS);
    assert_eq!(delete(&mut client, dn), ResultCode::NO_SUCH_OBJECT);
    let gone = client
        .search(dn, Scope::BaseObject, "(objectClass=*)", &[])
        .result;
    assert_eq!(
        (gone.code, gone.matched.as_str()),
        (ResultCode::NO_SUCH_OBJECT, BASE)
    );
}

#[test]
fn refusals_carry_the_right_code() {
    let mut client = Client::admin();
    client.add_person("Ada");
    let person: &[(&str, &[&str])] = &[("objectClass", &["person"]), ("sn", &["x"])];
    let code = |result: protocol::LdapResult| result.code;
    let ada = "cn=Ada,dc=example,dc=com";
    assert_eq!(
        code(client.add(ada, person)),
        ResultCode::ENTRY_ALREADY_EXISTS
    );
    assert_eq!(
        code(client.add("cn=x,ou=no,dc=example,dc=com", person)),
        ResultCode::NO_SUCH_OBJECT
    );
    assert_eq!(
        code(client.add("cn=x,dc=org", person)),
        ResultCode::NO_SUCH_OBJECT
    );
    assert_eq!(
        code(client.add("nonsense", person)),
        ResultCode::INVALID_DN_SYNTAX
    );
    let x = "cn=x,dc=example,dc=com";
    let missing: &[(&str, &[&str])] = &[("objectClass", &["person"])];
    assert_eq!(
        code(client.add(x, missing)),
        ResultCode::OBJECT_CLASS_VIOLATION
    );
    let unknown: &[(&str, &[&str])] = &[("objectClass", &["person"]), ("noSuch", &["1"])];
    assert_eq!(
        code(client.add(x, unknown)),
        ResultCode::UNDEFINED_ATTRIBUTE_TYPE
    );
    let forbidden: &[(&str, &[&str])] = &[
        ("objectClass", &["person"]),
        ("sn", &["x"]),
        ("entryUUID", &["1"]),
    ];
    assert_ne!(code(client.add(x, forbidden)), ResultCode::SUCCESS);
    let add = ChangeOperation::Add;
    let delete_op = ChangeOperation::Delete;
    assert_eq!(
        code(client.modify(ada, &[(add, "sn", &["ada"])])),
        ResultCode::ATTRIBUTE_OR_VALUE_EXISTS
    );
    assert_eq!(
        code(client.modify(ada, &[(delete_op, "sn", &["no"])])),
        ResultCode::NO_SUCH_ATTRIBUTE
    );
    assert_eq!(
        code(client.modify(ada, &[(delete_op, "sn", &[])])),
        ResultCode::OBJECT_CLASS_VIOLATION
    );
    assert_eq!(
        code(client.modify(ada, &[(delete_op, "cn", &[])])),
        ResultCode::NOT_ALLOWED_ON_RDN
    );
    assert_eq!(
        code(client.modify(ada, &[(add, "ou", &["x"])])),
        ResultCode::OBJECT_CLASS_VIOLATION
    );
    assert_eq!(
        delete(&mut client, BASE),
        ResultCode::NOT_ALLOWED_ON_NON_LEAF
    );
}

#[test]
fn a_failed_change_of_several_changes_nothing() {
    let mut client = Client::admin();
    client.add_person("Ada");
    let ada = "cn=Ada,dc=example,dc=com";
    let before = client.directory.status().unwrap();
    let result = client.modify(
        ada,
        &[
            (ChangeOperation::Replace, "sn", &["changed"]),
            (ChangeOperation::Delete, "description", &["none"]),
        ],
    );
    assert_eq!(result.code, ResultCode::NO_SUCH_ATTRIBUTE);
    let after = client.directory.status().unwrap();
    assert_eq!(
        (before.digest, before.position),
        (after.digest, after.position)
    );
}

#[test]
fn increment_adds_to_every_value() {
    let mut client = Client::admin();
    let dn = "uid=a,dc=example,dc=com";
    let classes: &[&str] = &["account", "posixAccount"];
    let result = client.add(
        dn,
        &[
            ("objectClass", classes),
            ("cn", &["a"]),
            ("uidNumber", &["41"]),
            ("gidNumber", &["1"]),
            ("homeDirectory", &["/"]),
        ],
    );
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
    let increment = (ChangeOperation::Increment, "uidNumber", &["1"][..]);
    assert_eq!(client.modify(dn, &[increment]).code, ResultCode::SUCCESS);
    let found = client.search(BASE, Scope::WholeSubtree, "(uidNumber=42)", &["uidNumber"]);
    assert_eq!(found.values("uidNumber"), ["42"]);
    // An attribute emptied by a change before it cannot be incremented (RFC 4525 §2).
    let delete = (ChangeOperation::Delete, "uidNumber", &[][..]);
    let replace = (ChangeOperation::Replace, "uidNumber", &[][..]);
    let again = (ChangeOperation::Replace, "uidNumber", &["7"][..]);
    for emptied in [delete, replace] {
        let refused = client.modify(dn, &[emptied, increment, again]);
        assert_eq!(refused.code, ResultCode::NO_SUCH_ATTRIBUTE);
    }
}

#[test]
fn binds_and_what_they_open() {
    let mut client = Client::admin();
    let dn = "cn=Ada,dc=example,dc=com";
    let attributes: &[(&str, &[&str])] = &[
        ("objectClass", &["person"]),
        ("sn", &["x"]),
        ("userPassword", &["her secret"]),
    ];
    assert_eq!(client.add(dn, attributes).code, ResultCode::SUCCESS);
    assert_eq!(
        client.bind(dn, "wrong").code,
        ResultCode::INVALID_CREDENTIALS
    );
    assert_eq!(
        client.bind("cn=nobody,dc=example,dc=com", "x").code,
        ResultCode::INVALID_CREDENTIALS
    );
    assert_eq!(client.bind(dn, "").code, ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(client.bind(dn, "her secret").code, ResultCode::SUCCESS);
    let found = client.search(BASE, Scope::WholeSubtree, "(cn=ada)", &["*", "+"]);
    assert!(
        found.values("userPassword").is_empty(),
        "passwords are not shown"
    );
    assert_eq!(found.values("sn"), ["x"]);
    let hidden = client.search(BASE, Scope::WholeSubtree, "(userPassword=*)", &[]);
    assert!(hidden.entries.is_empty());
    let config = client
        .search("cn=config", Scope::WholeSubtree, "(objectClass=*)", &[])
        .result;
    assert_eq!(config.code, ResultCode::NO_SUCH_OBJECT);
    let denied = client.modify(dn, &[(ChangeOperation::Replace, "sn", &["y"])]);
    assert_eq!(denied.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let own = (
        ChangeOperation::Replace,
        "userPassword",
        &["new secret"][..],
    );
    assert_eq!(client.modify(dn, &[own]).code, ResultCode::SUCCESS);
    assert_eq!(
        client.bind(dn, "her secret").code,
        ResultCode::INVALID_CREDENTIALS
    );
    assert_eq!(client.bind(dn, "new secret").code, ResultCode::SUCCESS);
    let who = ExtendedRequest {
        name: oid::WHO_AM_I,
        value: None,
    };
    let answer = client.call(&Request::Extended(who), &[]);
    assert_eq!(
        answer.value.as_deref(),
        Some(&b"dn:cn=Ada,dc=example,dc=com"[..])
    );
}

#[test]
fn a_generated_password_opens_the_entry() {
    let mut client = Client::admin();
    client.add_person("Ada");
    let mut value = Vec::new();
    let asked = protocol::extended::PasswordModifyRequest {
        user_identity: Some("cn=Ada,dc=example,dc=com"),
        ..Default::default()
    };
    asked.encode(&mut value);
    let request = ExtendedRequest {
        name: oid::PASSWORD_MODIFY,
        value: Some(&value),
    };
    let answer = client.call(&Request::Extended(request), &[]);
    assert_eq!(
        answer.result.code,
        ResultCode::SUCCESS,
        "{}",
        answer.result.diagnostic
    );
    let value = answer.value.unwrap();
    let new = protocol::extended::PasswordModifyResponse::decode(&value).unwrap();
    let new = String::from_utf8(new.generated_password.unwrap().to_vec()).unwrap();
    assert_eq!(
        client.bind("cn=Ada,dc=example,dc=com", &new).code,
        ResultCode::SUCCESS
    );
}

#[test]
fn a_subtree_moves_with_its_root() {
    let mut client = Client::admin();
    for ou in ["a", "b"] {
        let dn = format!("ou={ou},{BASE}");
        let done = client.add(&dn, &[("objectClass", &["organizationalUnit"])]);
        assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    }
    for n in 0..20 {
        let dn = format!("cn={n},ou=a,{BASE}");
        let done = client.add(&dn, &[("objectClass", &["person"]), ("sn", &["x"])]);
        assert_eq!(done.code, ResultCode::SUCCESS);
    }
    let to = format!("ou=b,{BASE}");
    let from = format!("ou=a,{BASE}");
    assert_eq!(
        rename(&mut client, &from, "ou=a", Some(&from)),
        ResultCode::UNWILLING_TO_PERFORM
    );
    assert_eq!(
        rename(&mut client, &from, "ou=moved", Some(&to)),
        ResultCode::SUCCESS
    );
    let found = client.search(&to, Scope::WholeSubtree, "(sn=x)", &["entryDN"]);
    assert_eq!(found.entries.len(), 20);
    assert!(
        found
            .names()
            .iter()
            .all(|name| name.ends_with(",ou=moved,ou=b,dc=example,dc=com"))
    );
    assert!(found.values("entryDN")[0].ends_with(",ou=moved,ou=b,dc=example,dc=com"));
    let counts = client.search(
        &to,
        Scope::BaseObject,
        "(objectClass=*)",
        &["numSubordinates", "hasSubordinates"],
    );
    assert_eq!(
        (
            counts.values("numSubordinates"),
            counts.values("hasSubordinates")
        ),
        (vec!["1"], vec!["TRUE"])
    );
}

#[test]
fn paging_survives_a_restart_and_refuses_foreign_cookies() {
    let mut client = Client::admin();
    for n in 0..25 {
        client.add_person(&format!("p{n}"));
    }
    let page = |cookie: &[u8]| {
        let mut value = Vec::new();
        protocol::control::PagedResults { size: 10, cookie }.encode(&mut value);
        [OwnedControl {
            oid: oid::PAGED_RESULTS.into(),
            critical: true,
            value: Some(value),
        }]
    };
    let mut cookie = Vec::new();
    let mut names = Vec::new();
    for turn in 0..3 {
        let (scope, filter) = (Scope::WholeSubtree, "(objectClass=person)");
        let answer = client.search_with(BASE, scope, filter, &["1.1"], |_| (), &page(&cookie));
        assert_eq!(
            answer.result.code,
            ResultCode::SUCCESS,
            "{}",
            answer.result.diagnostic
        );
        names.extend(answer.names().iter().map(|name| (*name).to_owned()));
        let value = answer.controls[0].1.clone().unwrap();
        cookie = protocol::control::PagedResults::decode(&value)
            .unwrap()
            .cookie
            .to_vec();
        assert_eq!(cookie.is_empty(), turn == 2);
        if turn == 0 {
            let other = client.search_with(BASE, scope, "(cn=*)", &[], |_| (), &page(&cookie));
            assert_eq!(other.result.code, ResultCode::UNWILLING_TO_PERFORM);
            client = client.reopen();
            assert_eq!(client.bind(ADMIN, PASSWORD).code, ResultCode::SUCCESS);
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 25);
}

#[test]
fn limits_end_a_search_with_their_name() {
    let mut client = Client::admin();
    for n in 0..5 {
        client.add_person(&format!("p{n}"));
    }
    let set = |request: &mut protocol::SearchRequest<'_>| request.size_limit = 3;
    let found = client.search_with(BASE, Scope::WholeSubtree, "(sn=*)", &[], set, &[]);
    assert_eq!(found.entries.len(), 3);
    assert_eq!(found.result.code, ResultCode::SIZE_LIMIT_EXCEEDED);
    assert!(
        found.result.diagnostic.contains("3 entries"),
        "{}",
        found.result.diagnostic
    );
}

#[test]
fn aliases_are_followed_when_asked() {
    let mut client = Client::admin();
    client.add_person("Ada");
    let target = "cn=Ada,dc=example,dc=com";
    let alias = "cn=alias,dc=example,dc=com";
    let classes: &[&str] = &["alias", "extensibleObject"];
    let done = client.add(
        alias,
        &[("objectClass", classes), ("aliasedObjectName", &[target])],
    );
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let all = |deref| move |it: &mut protocol::SearchRequest<'_>| it.deref_aliases = deref;
    let base = Scope::BaseObject;
    let never = client.search_with(
        alias,
        base,
        "(objectClass=*)",
        &[],
        all(DerefAliases::Never),
        &[],
    );
    assert_eq!(never.names(), [alias]);
    let deref = all(DerefAliases::FindingBaseObject);
    let found = client.search_with(alias, base, "(objectClass=*)", &[], deref, &[]);
    assert_eq!(found.names(), [target]);
    let deref = all(DerefAliases::InSearching);
    let found = client.search_with(BASE, Scope::SingleLevel, "(cn=*)", &[], deref, &[]);
    assert_eq!(found.names(), [target]);
}

#[test]
fn referrals_are_named_in_every_operation() {
    let mut client = Client::admin();
    let dn = "ou=far,dc=example,dc=com";
    let classes: &[&str] = &["referral", "extensibleObject"];
    let url = "ldap://far.example/ou=far,o=elsewhere";
    let done = client.add(dn, &[("objectClass", classes), ("ref", &[url])]);
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let below = "cn=x,ou=far,dc=example,dc=com";
    let found = client
        .search(below, Scope::BaseObject, "(objectClass=*)", &[])
        .result;
    assert_eq!(found.code, ResultCode::REFERRAL);
    assert_eq!(
        found.referrals,
        ["ldap://far.example/cn=x,ou=far,o=elsewhere??base"]
    );
    let all = client.search(BASE, Scope::WholeSubtree, "(objectClass=domain)", &["1.1"]);
    assert_eq!(all.names(), [BASE]);
    assert_eq!(
        all.references,
        [["ldap://far.example/ou=far,o=elsewhere??sub"]]
    );
    assert_eq!(delete(&mut client, dn), ResultCode::REFERRAL);
    let request = Request::Delete(DeleteRequest { entry: below });
    let refused = client.call(&request, &[]).result;
    assert_eq!(refused.code, ResultCode::REFERRAL);
    assert_eq!(
        refused.referrals,
        ["ldap://far.example/cn=x,ou=far,o=elsewhere"]
    );
    let manage = [OwnedControl {
        oid: oid::MANAGE_DSA_IT.into(),
        critical: true,
        value: None,
    }];
    let all = client.search_with(
        BASE,
        Scope::SingleLevel,
        "(ref=*)",
        &["ref"],
        |_| (),
        &manage,
    );
    assert_eq!(all.values("ref"), [url]);
    let request = Request::Delete(DeleteRequest { entry: dn });
    assert_eq!(
        client.call(&request, &manage).result.code,
        ResultCode::SUCCESS
    );
}

#[test]
fn the_root_dse_and_the_subschema_are_read_like_entries() {
    let mut client = Client::new();
    let root = client.search("", Scope::BaseObject, "(objectClass=*)", &["+"]);
    assert_eq!(root.values("namingContexts"), [BASE]);
    assert_eq!(root.values("subschemaSubentry"), ["cn=Subschema"]);
    assert!(root.values("supportedFeatures").contains(&"1.3.6.1.1.14"));
    let plain = client.search("", Scope::BaseObject, "(objectClass=*)", &[]);
    assert_eq!(
        plain.entries[0].1.len(),
        1,
        "operational attributes only when asked"
    );
    let schema = client.search(
        "CN=subschema",
        Scope::BaseObject,
        "(objectClass=subschema)",
        &["attributeTypes"],
    );
    assert!(
        schema
            .values("attributeTypes")
            .iter()
            .any(|it| it.contains("'inetUserStatus'") || it.contains("'uid'"))
    );
}

#[test]
fn unknown_critical_controls_refuse_and_others_do_not() {
    let mut client = Client::admin();
    client.add_person("Ada");
    let control = |critical| {
        [OwnedControl {
            oid: "1.2.3.4".into(),
            critical,
            value: None,
        }]
    };
    let request = Request::Delete(DeleteRequest {
        entry: "cn=Ada,dc=example,dc=com",
    });
    let refused = client.call(&request, &control(true)).result;
    assert_eq!(refused.code, ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    assert_eq!(
        client.call(&request, &control(false)).result.code,
        ResultCode::SUCCESS
    );
}

#[test]
fn schema_and_indexes_change_while_the_directory_is_open() {
    let mut client = Client::admin();
    for n in 0..50 {
        client.add_person(&format!("p{n}"));
    }
    let done = client.add(
        "cn=sn,cn=indexes,cn=config",
        &[
            ("objectClass", &["pandoIndex"]),
            ("pandoIndexAttribute", &["sn"]),
            ("pandoIndexKind", &["equality", "substring"]),
        ],
    );
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let bad = client.add(
        "cn=bad,cn=indexes,cn=config",
        &[
            ("objectClass", &["pandoIndex"]),
            ("pandoIndexAttribute", &["noSuch"]),
            ("pandoIndexKind", &["equality"]),
        ],
    );
    assert_eq!(
        bad.code,
        ResultCode::CONSTRAINT_VIOLATION,
        "{}",
        bad.diagnostic
    );
    let found = client.search(BASE, Scope::WholeSubtree, "(sn=*49*)", &["1.1"]);
    assert_eq!(found.names(), ["cn=p49,dc=example,dc=com"]);
    let done = client.add(
        "cn=mine,cn=schema,cn=config",
        &[
            ("objectClass", &["pandoSchema"]),
            ("attributeTypes", &[SHOE_SIZE]),
            (
                "objectClasses",
                &["( 1.2.3.4.6 NAME 'walker' SUP top AUXILIARY MAY shoeSize )"],
            ),
        ],
    );
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let dn = "cn=p1,dc=example,dc=com";
    let add = ChangeOperation::Add;
    let done = client.modify(
        dn,
        &[
            (add, "objectClass", &["walker"]),
            (add, "shoeSize", &["42"]),
        ],
    );
    assert_eq!(done.code, ResultCode::SUCCESS, "{}", done.diagnostic);
    let mut client = client.reopen();
    let found = client.search(BASE, Scope::WholeSubtree, "(shoeSize=042)", &["1.1"]);
    assert!(
        found.entries.is_empty(),
        "042 is not an integer of RFC 4517"
    );
    let found = client.search(BASE, Scope::WholeSubtree, "(shoeSize=42)", &["1.1"]);
    assert_eq!(found.names(), [dn]);
}
