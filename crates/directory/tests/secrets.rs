//! Secret attributes: nobody but the administrator learns anything of their values, however the
//! question is put.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{Client, success};
use protocol::control::{
    DereferenceRequest, DereferenceSpecification, EntryCount, MatchedValues,
    MatchingEntryCountRequest, MatchingEntryCountResponse, PersistentSearch, SortKey, SortRequest,
};
use protocol::{ChangeOperation, Filter, OwnedControl, ResultCode, Scope, oid, parse_filter};

const BASE: &str = "dc=example,dc=com";
const ADA: &str = "uid=ada,dc=example,dc=com";
const EVE: &str = "uid=eve,dc=example,dc=com";
const NT_HASH: &str = "773C49B7E67F4858C6D550A5CF24719C";
const TREE: Scope = Scope::WholeSubtree;
/// Types of the standard schema, with a value each.
const STANDARD: [(&str, &str); 16] = [
    (
        "pwdHistory",
        "20260101000000Z#1.3.6.1.4.1.1466.115.121.1.40#5#clear",
    ),
    ("authPassword", "MD5$salt$hash"),
    ("sambaNTPassword", NT_HASH),
    ("sambaLMPassword", NT_HASH),
    ("sambaPasswordHistory", NT_HASH),
    ("sambaClearTextPassword", "clear"),
    ("sambaPreviousClearTextPassword", "clear"),
    ("krbPrincipalKey", "key"),
    ("krbMKey", "key"),
    ("krbExtraData", "data"),
    ("radiusTunnelPassword", "tunnel"),
    ("radiusClientSecret", "client"),
    ("dhcpKeySecret", "c2VjcmV0"),
    ("nisSecretKey", "secret key"),
    ("userPassword;x-app", "of an application"),
    ("userPassword", "{SSHA}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
];

/// A directory in which Ada has every secret there is, and the administrator's client of it.
fn with_secrets() -> Client {
    let mut admin = Client::admin();
    let account: [(&str, &[&str]); 4] = [
        (
            "objectClass",
            &["account", "simpleSecurityObject", "extensibleObject"],
        ),
        ("uid", &["ada"]),
        ("description", &["public"]),
        ("userPassword", &["ada"]),
    ];
    success(&admin.add(ADA, &account));
    let eve: [(&str, &[&str]); 3] = [
        ("objectClass", &["account", "simpleSecurityObject"]),
        ("uid", &["eve"]),
        ("userPassword", &["eve"]),
    ];
    success(&admin.add(EVE, &eve));
    for (attribute, value) in STANDARD {
        if !attribute.starts_with("pwd") && attribute != "userPassword" {
            let change = (ChangeOperation::Add, attribute, &[value][..]);
            success(&admin.modify(ADA, &[change]));
        }
    }
    admin
}

/// Nobody, and somebody else, and the owner of the secrets.
fn readers(admin: &Client) -> [Client; 3] {
    let (anonymous, mut other, mut owner) = (admin.another(), admin.another(), admin.another());
    success(&other.bind(EVE, "eve"));
    success(&owner.bind(ADA, "ada"));
    [anonymous, other, owner]
}

fn asserting(filter: &str) -> OwnedControl {
    let encoded = parse_filter(filter).unwrap();
    OwnedControl::with_value(oid::ASSERTION, true, |out| out.extend(&encoded))
}

fn count(client: &mut Client, filter: &str) -> (EntryCount, usize) {
    let asked = MatchingEntryCountRequest {
        debug_information: true,
        ..MatchingEntryCountRequest::default()
    };
    let oid = oid::MATCHING_ENTRY_COUNT_REQUEST;
    let control = OwnedControl::with_value(oid, true, |out| asked.encode(out));
    let answer = client.search_with(BASE, TREE, filter, &[], |_| (), &[control]);
    success(&answer.result);
    let value = answer.controls[0].1.clone().unwrap();
    let decoded = MatchingEntryCountResponse::decode(&value).unwrap();
    (decoded.count, decoded.debug_information.len())
}

/// Everything that may be asked about an attribute and its value.
fn learns_nothing(client: &mut Client, attribute: &str, value: &str) {
    for selection in [
        &["*", "+"][..],
        &[attribute],
        &["@sambaSamAccount", "@extensibleObject"],
    ] {
        let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", selection);
        let (_, attributes) = &found.entries[0];
        assert!(
            attributes.iter().all(|(name, _)| name != attribute),
            "{attribute}"
        );
    }
    for filter in [
        format!("({attribute}=*)"),
        format!("(!({attribute}=*))"),
        format!("({attribute}={value})"),
        format!("(!({attribute}={value}))"),
        format!("({attribute}={}*)", &value[..2]),
        format!("({attribute}:octetStringMatch:={value})"),
        format!("(&(uid=ada)(!({attribute}>={value})))"),
    ] {
        let found = client.search(BASE, TREE, &filter, &["1.1"]);
        assert_eq!(found.names(), [""; 0], "{filter}");
        assert_eq!(
            count(client, &filter),
            (EntryCount::Examined(0), 0),
            "{filter}"
        );
        let asserted = [asserting(&filter)];
        let found = client.search_with(ADA, TREE, "(uid=*)", &["1.1"], |_| (), &asserted);
        assert_eq!(found.result.code, ResultCode::ASSERTION_FAILED, "{filter}");
    }
    let found = client.search(
        BASE,
        TREE,
        &format!("(|(uid=ada)({attribute}={value}))"),
        &["1.1"],
    );
    assert_eq!(found.names(), [ADA]);
}

#[test]
fn standard_secrets_are_for_the_administrator() {
    let mut admin = with_secrets();
    for attribute in [
        "sambaNTPassword",
        "userPassword",
        "krbPrincipalKey",
        "radiusClientSecret",
    ] {
        let name = format!("cn={attribute},cn=indexes,cn=config");
        let kinds: &[&str] = match attribute {
            "sambaNTPassword" => &["equality", "presence", "substring"],
            _ => &["equality", "presence"],
        };
        let index = [
            ("objectClass", &["pandoIndex"][..]),
            ("pandoIndexAttribute", &[attribute]),
            ("pandoIndexKind", kinds),
        ];
        success(&admin.add(&name, &index));
    }
    for mut client in readers(&admin) {
        for (attribute, value) in STANDARD {
            learns_nothing(&mut client, attribute, value);
        }
        let denied = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
        let compared = client.compare(ADA, "sambaNTPassword", NT_HASH);
        assert_eq!(compared.result.code, denied);
        let change = (ChangeOperation::Replace, "sambaNTPassword", &[NT_HASH][..]);
        assert_eq!(client.modify(ADA, &[change]).code, denied);
    }
    let found = admin.search(BASE, TREE, &format!("(sambaNTPassword={NT_HASH})"), &["*"]);
    assert_eq!(found.values("sambaNTPassword"), [NT_HASH]);
    assert_eq!(found.values("krbPrincipalKey"), ["key"]);
}

#[test]
fn secrets_neither_sort_nor_match_nor_are_dereferenced() {
    let mut admin = with_secrets();
    let change = (ChangeOperation::Add, "seeAlso", &[ADA][..]);
    success(&admin.modify(
        BASE,
        &[
            (ChangeOperation::Add, "objectClass", &["extensibleObject"]),
            change,
        ],
    ));
    let mut anonymous = admin.another();
    let sorted = |client: &mut Client, attribute, reverse| {
        let keys = [SortKey {
            attribute,
            ordering_rule: None,
            reverse,
        }];
        let request = SortRequest { keys: keys.into() };
        let control = OwnedControl::with_value(oid::SORT_REQUEST, true, |out| request.encode(out));
        let found = client.search_with(BASE, TREE, "(uid=*)", &["1.1"], |_| (), &[control]);
        found.names().join(" ")
    };
    for (reverse, order) in [(false, [EVE, ADA]), (true, [ADA, EVE])] {
        // Entries without the key are the greatest.
        let order = order.join(" ");
        assert_ne!(sorted(&mut admin, "sambaNTPassword", reverse), order);
        let without = sorted(&mut anonymous, "serialNumber", reverse);
        assert_eq!(sorted(&mut anonymous, "sambaNTPassword", reverse), without);
    }

    let encoded = parse_filter("(sambaNTPassword=*)").unwrap();
    let items = vec![Filter::decode(&mut protocol::ber::Reader::new(&encoded), 1).unwrap()];
    let value = MatchedValues { items };
    let control = OwnedControl::with_value(oid::MATCHED_VALUES, true, |out| value.encode(out));
    let found = anonymous.search_with(ADA, TREE, "(uid=ada)", &["*"], |_| (), &[control]);
    assert!(
        found.entries[0]
            .1
            .iter()
            .all(|(_, values)| values.is_empty())
    );

    let wanted = vec!["sambaNTPassword", "uid"];
    let specifications = vec![DereferenceSpecification {
        attribute: "seeAlso",
        wanted,
    }];
    let value = DereferenceRequest { specifications };
    let control = OwnedControl::with_value(oid::DEREFERENCE, true, |out| value.encode(out));
    let base = Scope::BaseObject;
    let found = anonymous.search_with(BASE, base, "(dc=*)", &["*"], |_| (), &[control]);
    let value = found.entry_controls[0][0].1.clone().unwrap();
    let text = String::from_utf8_lossy(&value);
    assert!(
        text.contains("uid") && !text.contains("sambaNTPassword"),
        "{text}"
    );
}

#[test]
fn a_dynamic_group_tells_nothing_of_secrets() {
    let mut admin = with_secrets();
    for (cn, filter) in [
        ("all", "(uid=ada)"),
        ("samba", "(sambaNTPassword=*)"),
        ("not", "(&(uid=eve)(!(sambaNTPassword=*)))"),
        ("password", "(userPassword=*)"),
    ] {
        let url = format!("ldap:///{BASE}??sub?{filter}");
        let group = [
            ("objectClass", &["groupOfURLs"][..]),
            ("memberURL", &[&url]),
        ];
        success(&admin.add(&format!("cn={cn},{BASE}"), &group));
    }
    let mut anonymous = admin.another();
    for client in [&mut admin, &mut anonymous] {
        let groups = client.search(BASE, TREE, "(objectClass=groupOfURLs)", &["member"]);
        let members = groups.entries.iter().map(|(_, it)| it.len());
        assert_eq!(members.collect::<Vec<_>>(), [1, 0, 0, 0]);
        let found = client.search(ADA, Scope::BaseObject, "(uid=ada)", &["isMemberOf"]);
        assert_eq!(found.values("isMemberOf"), ["cn=all,dc=example,dc=com"]);
    }
}

#[test]
fn a_persistent_search_is_told_nothing_of_secrets() {
    let mut admin = with_secrets();
    let mut anonymous = admin.another();
    let value = PersistentSearch {
        change_types: 15,
        changes_only: false,
        return_entry_changes: false,
    };
    let control = [OwnedControl::with_value(
        oid::PERSISTENT_SEARCH,
        true,
        |out| value.encode(out),
    )];
    let (filter, select) = ("(|(sambaNTPassword=*)(uid=eve))", &["*"]);
    let found = anonymous.search_with(BASE, TREE, filter, select, |_| (), &control);
    assert_eq!(found.names(), [EVE]);
    for entry in [ADA, EVE] {
        let change = (ChangeOperation::Replace, "description", &["news"][..]);
        success(&admin.modify(entry, &[change]));
    }
    let (news, _) = anonymous.news();
    assert_eq!(news.names(), [EVE]);
}

/// An entry with secrets of a schema of its own, and what is told of it.
fn with_badges() -> Client {
    let mut admin = Client::admin();
    let syntax = "EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15";
    let types = [
        format!("( 1.2.3.4.1 NAME 'badgeSecret' {syntax} X-SECRET 'TRUE' )"),
        "( 1.2.3.4.2 NAME 'badgePin' SUP badgeSecret )".to_owned(),
        format!("( 1.2.3.4.3 NAME 'badgeNumber' {syntax} X-SECRET 'FALSE' )"),
        // Definition of Heimdal's hdb.schema, which marks no type as secret.
        format!("( 1.2.3.4.4 NAME ( 'badgeKey' 'KRB5KEY' ) {syntax} )"),
        "( 1.2.3.4.5 NAME 'badgeName' SUP name X-SECRET 'TRUE' )".to_owned(),
    ];
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let part = [
        ("objectClass", &["pandoSchema"][..]),
        ("attributeTypes", &types),
    ];
    success(&admin.add("cn=badges,cn=schema,cn=config", &part));
    let entry: [(&str, &[&str]); 8] = [
        ("objectClass", &["account", "extensibleObject"]),
        ("uid", &["ada"]),
        ("badgeSecret", &["one"]),
        ("badgePin", &["two"]),
        ("badgeNumber", &["three"]),
        ("badgeName", &["five"]),
        ("krb5key", &["four"]),
        ("cn", &["Ada"]),
    ];
    success(&admin.add(ADA, &entry));
    admin
}

fn shown_badges(client: &mut Client) -> Vec<String> {
    let found = client.search(ADA, Scope::BaseObject, "(objectClass=*)", &["*"]);
    let names = found.entries[0].1.iter().map(|(name, _)| name.clone());
    names.filter(|it| it.contains("badge")).collect()
}

fn found(client: &mut Client, filter: &str) -> usize {
    client.search(BASE, TREE, filter, &["1.1"]).entries.len()
}

#[test]
fn definitions_and_well_known_names_make_secrets() {
    let mut admin = with_badges();
    let mut anonymous = admin.another();
    assert_eq!(shown_badges(&mut anonymous), ["badgeNumber"]);
    assert_eq!(shown_badges(&mut admin).len(), 5);
    // A superior is searched without its secret subtypes.
    for (filter, of_admin, of_others) in [("(name=five)", 1, 0), ("(name=ada)", 1, 1)] {
        assert_eq!(found(&mut admin, filter), of_admin, "{filter}");
        assert_eq!(found(&mut anonymous, filter), of_others, "{filter}");
    }
}

#[test]
fn the_configuration_names_secrets_with_effect_at_once() {
    let mut admin = with_badges();
    let mut anonymous = admin.another();
    let mark = |client: &mut Client, operation, names: &[&str]| {
        client.modify("cn=config", &[(operation, "pandoSecretAttribute", names)])
    };
    let marked = ["badgeNumber", "cn"];
    success(&mark(&mut admin, ChangeOperation::Add, &marked));
    assert_eq!(shown_badges(&mut anonymous), [""; 0]);
    for filter in [
        "(badgeNumber=*)",
        "(!(badgeNumber=three))",
        "(cn=ada)",
        "(cn=*)",
    ] {
        assert_eq!(found(&mut anonymous, filter), 0, "{filter}");
    }
    let compared = anonymous.compare(ADA, "badgeNumber", "three").result.code;
    assert_eq!(compared, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    for wrong in ["badgeColour", "objectClass"] {
        let refused = mark(&mut admin, ChangeOperation::Add, &[wrong]);
        assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
        assert!(refused.diagnostic.contains(wrong), "{}", refused.diagnostic);
    }
    let public = ["badgeNumber"];
    success(&mark(&mut admin, ChangeOperation::Delete, &public));
    assert_eq!(shown_badges(&mut anonymous), ["badgeNumber"]);
    drop(anonymous);
    let admin = admin.reopen();
    assert_eq!(found(&mut admin.another(), "(cn=*)"), 0);
}

#[test]
fn counts_and_refusals_tell_nothing_of_the_configuration() {
    let admin = Client::admin();
    let mut anonymous = admin.another();
    for filter in [
        "(cn=indexes)",
        "(objectClass=pandoIndex)",
        "(entryDN=cn=indexes,cn=config)",
        "(entryDN:dnSubtreeMatch:=cn=indexes,cn=config)",
    ] {
        assert_eq!(
            count(&mut anonymous, filter),
            (EntryCount::Examined(0), 0),
            "{filter}"
        );
    }
    let rejecting = OwnedControl::new(oid::REJECT_UNINDEXED_SEARCH, true);
    let refused = anonymous.search_with("", TREE, "(objectClass=*)", &[], |_| (), &[rejecting]);
    assert_eq!(refused.result.code, ResultCode::UNWILLING_TO_PERFORM);
    let text = &refused.result.diagnostic;
    assert!(!text.contains("candidates"), "{text}");
}
