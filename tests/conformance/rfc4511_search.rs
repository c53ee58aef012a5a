//! RFC 4511 §4.5: search.

use kit::{Entry, SUFFIX};
use protocol::{DerefAliases, ResultCode, Scope};

use crate::{ADA, GRACE, PEOPLE, control, uids, with_people};

const EVERYTHING: &str = "(objectClass=*)";
const MANAGE_DSA_IT: &str = "2.16.840.1.113730.3.4.2";

/// §4.5.1.1: the base object must exist.
#[test]
fn s4_5_1_1_base_must_exist() {
    let (_subject, mut client) = with_people();
    let found = client.search(
        "ou=Nowhere,dc=example,dc=com",
        Scope::WholeSubtree,
        EVERYTHING,
        &[],
    );
    found.outcome.expect(ResultCode::NO_SUCH_OBJECT);
    let found = client.search("no name", Scope::WholeSubtree, EVERYTHING, &[]);
    found.outcome.expect(ResultCode::INVALID_DN_SYNTAX);
}

/// §4.5.1.2: baseObject, singleLevel, wholeSubtree.
#[test]
fn s4_5_1_2_scopes() {
    let (_subject, mut client) = with_people();
    let mut count = |base: &str, scope| {
        client
            .search(base, scope, EVERYTHING, &["1.1"])
            .entries
            .len()
    };
    assert_eq!(count(PEOPLE, Scope::BaseObject), 1);
    assert_eq!(count(PEOPLE, Scope::SingleLevel), 3);
    assert_eq!(count(PEOPLE, Scope::WholeSubtree), 4);
    assert_eq!(count(SUFFIX, Scope::WholeSubtree), 6);
    assert_eq!(count(ADA, Scope::SingleLevel), 0);
}

fn alias(name: &str, target: &str) -> Entry {
    Entry::of(
        name,
        &[
            ("objectClass", &["top", "alias", "extensibleObject"]),
            ("cn", &["countess"]),
            ("aliasedObjectName", &[target]),
        ],
    )
}

/// §4.5.1.3: aliases are dereferenced as asked: never, searching, finding the base, always.
#[test]
fn s4_5_1_3_aliases() {
    let (_subject, mut client) = with_people();
    let name = "cn=countess,ou=Groups,dc=example,dc=com";
    client.add(&alias(name, ADA)).expect_success();
    let mut find = |base: &str, deref| {
        let found = client.search_with(
            base,
            Scope::WholeSubtree,
            EVERYTHING,
            &["1.1"],
            &[],
            |request| request.deref_aliases = deref,
        );
        found.outcome.clone().expect_success();
        found.names()
    };
    let groups = "ou=groups,dc=example,dc=com".to_owned();
    let ada = ADA.to_lowercase();
    assert_eq!(
        find(&groups, DerefAliases::Never),
        [name.to_lowercase(), groups.clone()]
    );
    assert_eq!(find(&groups, DerefAliases::FindingBaseObject).len(), 2);
    assert_eq!(
        find(&groups, DerefAliases::InSearching),
        [groups.clone(), ada.clone()]
    );
    assert_eq!(
        find(&groups, DerefAliases::Always),
        [groups.clone(), ada.clone()]
    );
    assert_eq!(find(name, DerefAliases::Never), [name.to_lowercase()]);
    let ada_alone = std::slice::from_ref(&ada);
    assert_eq!(find(name, DerefAliases::FindingBaseObject)[..], *ada_alone);
    assert_eq!(find(name, DerefAliases::Always)[..], *ada_alone);
}

/// §4.5.1.4: a size limit of the client is kept, and reported when it was hit.
#[test]
fn s4_5_1_4_size_limit() {
    let (_subject, mut client) = with_people();
    let mut search = |limit| {
        client.search_with(
            PEOPLE,
            Scope::SingleLevel,
            EVERYTHING,
            &["1.1"],
            &[],
            |request| {
                request.size_limit = limit;
            },
        )
    };
    let found = search(2);
    assert_eq!(found.entries.len(), 2);
    found.outcome.expect(ResultCode::SIZE_LIMIT_EXCEEDED);
    let found = search(3);
    assert_eq!(found.entries.len(), 3);
    found.outcome.expect_success();
}

/// §4.5.1.6: types only, no values.
#[test]
fn s4_5_1_6_types_only() {
    let (_subject, mut client) = with_people();
    let scope = Scope::BaseObject;
    let found = client.search_with(ADA, scope, EVERYTHING, &["mail", "sn"], &[], |request| {
        request.types_only = true;
    });
    let entry = found.only();
    assert!(entry.has("mail") && entry.has("sn"));
    assert!(
        entry.attributes.iter().all(|(_, values)| values.is_empty()),
        "{entry:?}"
    );
}

/// §4.5.1.7: a filter that evaluates to Undefined selects nothing, and neither does its negation.
#[test]
fn s4_5_1_7_undefined_selects_nothing() {
    let (_subject, mut client) = with_people();
    for filter in [
        "(noSuchType=1)",
        "(!(noSuchType=1))",
        "(noSuchType=*)",
        "(!(noSuchType=*))",
    ] {
        let found = client.search(SUFFIX, Scope::WholeSubtree, filter, &[]);
        found.outcome.clone().expect_success();
        assert_eq!(found.entries.len(), 0, "{filter}");
    }
}

/// §4.5.1.7: And, Or and Not over three values.
#[test]
fn s4_5_1_7_three_valued_logic() {
    let (_subject, mut client) = with_people();
    assert_eq!(uids(&mut client, "(|(noSuchType=1)(uid=ada))"), ["ada"]);
    assert_eq!(uids(&mut client, "(&(noSuchType=1)(uid=ada))"), [""; 0]);
    assert_eq!(
        uids(&mut client, "(!(&(noSuchType=1)(uid=nobody)))").len(),
        3
    );
    assert_eq!(
        uids(&mut client, "(&(uid=*)(!(|(noSuchType=1)(uid=nobody))))"),
        [""; 0]
    );
}

/// §4.5.1.7: an assertion value that does not fit the syntax makes the filter Undefined.
#[test]
fn s4_5_1_7_bad_assertion_value_is_undefined() {
    let (_subject, mut client) = with_people();
    let scope = Scope::WholeSubtree;
    for filter in ["(seeAlso=no name)", "(!(seeAlso=no name))"] {
        let found = client.search(SUFFIX, scope, filter, &["1.1"]);
        found.outcome.clone().expect_success();
        assert_eq!(found.entries.len(), 0, "{filter}");
    }
}

/// §4.5.1.7: an absent attribute makes an assertion False, its negation True.
#[test]
fn s4_5_1_7_absent_attribute_is_false() {
    let (_subject, mut client) = with_people();
    assert_eq!(uids(&mut client, "(&(uid=*)(!(description=*)))"), ["grace"]);
    assert_eq!(
        uids(&mut client, "(&(uid=*)(!(description=Wrote*)))"),
        ["edsger", "grace"]
    );
}

/// §4.5.1.7.2: substrings keep their order.
#[test]
fn s4_5_1_7_2_substrings() {
    let (_subject, mut client) = with_people();
    assert_eq!(uids(&mut client, "(cn=ed*ge*r)"), ["edsger"]);
    assert_eq!(uids(&mut client, "(cn=ge*ed*)"), [""; 0]);
    assert_eq!(uids(&mut client, "(cn=*GER)"), ["edsger"]);
    assert_eq!(uids(&mut client, "(cn=*da)"), ["ada"]);
    // Pieces may not overlap.
    assert_eq!(uids(&mut client, "(cn=ad*da)"), [""; 0]);
}

/// §4.5.1.7.3, .4: ordering filters.
#[test]
fn s4_5_1_7_3_greater_or_equal() {
    let (_subject, mut client) = with_people();
    assert_eq!(
        uids(&mut client, "(&(uid=*)(createTimestamp>=20200101000000Z))").len(),
        3
    );
    assert_eq!(
        uids(&mut client, "(&(uid=*)(createTimestamp<=20200101000000Z))").len(),
        0
    );
}

/// §4.5.1.7.5: present.
#[test]
fn s4_5_1_7_5_present() {
    let (_subject, mut client) = with_people();
    assert_eq!(uids(&mut client, "(description=*)"), ["ada", "edsger"]);
    // A supertype is present when a subtype is.
    assert_eq!(
        uids(&mut client, "(&(name=*)(uid=*))"),
        ["ada", "edsger", "grace"]
    );
}

/// §4.5.1.7.7: extensible matches with and without type and `:dn`.
#[test]
fn s4_5_1_7_7_extensible() {
    let (_subject, mut client) = with_people();
    assert_eq!(
        uids(&mut client, "(givenName:caseExactMatch:=Ada)"),
        ["ada"]
    );
    assert_eq!(uids(&mut client, "(givenName:2.5.13.5:=ada)"), [""; 0]);
    assert_eq!(uids(&mut client, "(:caseExactMatch:=Ada)"), ["ada"]);
    assert_eq!(
        uids(&mut client, "(&(uid=*)(ou:dn:=People))"),
        ["ada", "edsger", "grace"]
    );
    assert_eq!(uids(&mut client, "(&(uid=*)(ou:=People))"), [""; 0]);
    // An unknown rule makes the assertion Undefined.
    assert_eq!(uids(&mut client, "(cn:1.2.3.4.5:=ada)"), [""; 0]);
    assert_eq!(uids(&mut client, "(!(cn:1.2.3.4.5:=ada))"), [""; 0]);
}

/// §4.5.1.8: an empty list and `*` mean all user attributes, and no operational ones.
#[test]
fn s4_5_1_8_all_user_attributes() {
    let (_subject, mut client) = with_people();
    for select in [&[][..], &["*"][..]] {
        let found = client.search(ADA, Scope::BaseObject, EVERYTHING, select);
        let entry = found.only();
        assert!(entry.has("mail") && entry.has("objectClass"));
        assert!(
            !entry.has("createTimestamp") && !entry.has("entryUUID"),
            "{entry:?}"
        );
    }
}

/// §4.5.1.8: operational attributes come when named, also beside `*`.
#[test]
fn s4_5_1_8_operational_attributes_by_name() {
    let (_subject, mut client) = with_people();
    let select = ["*", "createTimestamp"];
    let found = client.search(ADA, Scope::BaseObject, EVERYTHING, &select);
    let entry = found.only();
    assert!(entry.has("mail") && entry.has("createTimestamp") && !entry.has("creatorsName"));
}

/// §4.5.1.8: `1.1` alone means no attributes; beside others it means nothing.
#[test]
fn s4_5_1_8_no_attributes() {
    let (_subject, mut client) = with_people();
    let found = client.search(ADA, Scope::BaseObject, EVERYTHING, &["1.1"]);
    assert!(found.only().attributes.is_empty());
    let found = client.search(ADA, Scope::BaseObject, EVERYTHING, &["1.1", "mail"]);
    assert!(found.only().has("mail"));
}

/// §4.5.1.8: an attribute asked for twice comes once; unknown ones are ignored.
#[test]
fn s4_5_1_8_repeated_and_unknown_names() {
    let (_subject, mut client) = with_people();
    let select = [
        "mail",
        "MAIL",
        "mail",
        "noSuchType",
        "0.9.2342.19200300.100.1.3",
    ];
    let found = client.search(ADA, Scope::BaseObject, EVERYTHING, &select);
    assert_eq!(found.only().attributes.len(), 1);
}

/// §4.5.1.8: subtypes of a requested type are returned.
#[test]
fn s4_5_1_8_subtypes() {
    let (_subject, mut client) = with_people();
    let found = client.search(ADA, Scope::BaseObject, EVERYTHING, &["name"]);
    let entry = found.only();
    assert!(entry.has("cn") && entry.has("sn") && entry.has("givenName"));
    assert!(!entry.has("mail"));
}

fn referral() -> Entry {
    Entry::of(
        "ou=Branch,dc=example,dc=com",
        &[
            ("objectClass", &["top", "referral", "extensibleObject"]),
            ("ou", &["Branch"]),
            (
                "ref",
                &["ldap://other.example.com/ou=Branch,dc=example,dc=com"],
            ),
        ],
    )
}

/// §4.5.3: entries held elsewhere become continuation references.
#[test]
fn s4_5_3_continuation_references() {
    let (_subject, mut client) = with_people();
    let manage = [control(MANAGE_DSA_IT, true, None)];
    client.add_with(&referral(), &manage).expect_success();
    let found = client.search(SUFFIX, Scope::WholeSubtree, "(uid=ada)", &["uid"]);
    found.outcome.clone().expect_success();
    assert_eq!(found.only().text("uid"), "ada");
    assert_eq!(found.references.len(), 1, "{found:?}");
    let url = found.references[0][0].to_lowercase();
    assert!(
        url.starts_with("ldap://other.example.com/ou=branch,dc=example,dc=com"),
        "{url}"
    );
    // §4.5.3.1: at one level the scope of the continuation is base.
    let found = client.search(SUFFIX, Scope::SingleLevel, "(ou=Branch)", &["ou"]);
    assert!(
        found.references[0][0].to_lowercase().ends_with("??base"),
        "{found:?}"
    );
}

/// §4.1.10: an operation on or below a referral object is referred.
#[test]
fn s4_1_10_referral() {
    let (_subject, mut client) = with_people();
    let manage = [control(MANAGE_DSA_IT, true, None)];
    client.add_with(&referral(), &manage).expect_success();
    let below = "cn=x,ou=Branch,dc=example,dc=com";
    let outcome = client
        .search(below, Scope::BaseObject, EVERYTHING, &[])
        .outcome;
    let outcome = outcome.expect(ResultCode::REFERRAL);
    let url = outcome.referrals[0].to_lowercase();
    assert!(
        url.starts_with("ldap://other.example.com/cn=x,ou=branch,"),
        "{url}"
    );
    client.delete(below).expect(ResultCode::REFERRAL);
    client
        .compare("ou=Branch,dc=example,dc=com", "ou", "x")
        .expect(ResultCode::REFERRAL);
}

/// RFC 3296 §3: ManageDsaIT treats referral objects as entries.
#[test]
fn rfc3296_s3_manage_dsa_it() {
    let (_subject, mut client) = with_people();
    let manage = [control(MANAGE_DSA_IT, true, None)];
    client.add_with(&referral(), &manage).expect_success();
    let scope = Scope::WholeSubtree;
    let found = client.search_with(SUFFIX, scope, "(ou=Branch)", &["ref"], &manage, |_| {});
    assert!(found.references.is_empty());
    assert!(
        found
            .only()
            .text("ref")
            .starts_with("ldap://other.example.com/")
    );
}

/// §4.11: an abandoned operation has no response, and the session goes on.
#[test]
fn s4_11_abandon() {
    let (_subject, mut client) = with_people();
    client.send(&protocol::Request::Abandon(4711), &[]);
    let found = client.search(GRACE, Scope::BaseObject, EVERYTHING, &["uid"]);
    assert_eq!(found.only().text("uid"), "grace");
}
