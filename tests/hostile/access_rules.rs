//! Access rules of the directory: what they give and keep, by every way to an entry.

use kit::client::{Entry, Modification, Outcome};
use kit::{Client, Pando, SUFFIX};
use protocol::{ResultCode, Scope};

const PEOPLE: &str = "ou=People,dc=example,dc=com";
pub const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
const GRACE: &str = "uid=grace,ou=People,dc=example,dc=com";
const HR: &str = "cn=hr,dc=example,dc=com";

/// Everybody binds, users read, except that grace is for hr alone and mail for its owner.
pub const RULES: &[&str] = &[
    "rule bind
on everything
for userPassword
let anyone authenticate",
    "rule grace
on subtree \"uid=grace,ou=People,dc=example,dc=com\"
let group \"cn=hr,dc=example,dc=com\" write
let anyone none",
    "rule mail
on subtree \"ou=People,dc=example,dc=com\"
for mail
let self write
let anyone none",
    "rule readable
on everything
let users read",
];

fn served() -> Pando {
    served_with(RULES)
}

/// A node with people, under these rules.
pub fn served_with(rules: &[&str]) -> Pando {
    let mut pando = Pando::init();
    pando.serve();
    let mut admin = pando.admin();
    for entry in kit::people::sample() {
        admin.add(&entry).expect_success();
    }
    let hr = kit::people::group("hr", &[SUFFIX]);
    admin
        .add(&Entry {
            name: HR.to_owned(),
            ..hr
        })
        .expect_success();
    set_rules(&pando, rules);
    pando
}

fn rule(number: usize, text: &str) -> Entry {
    Entry::of(
        &format!("cn=rule{number},cn=access,cn=config"),
        &[
            ("objectClass", &["pandoAccessRule"]),
            ("cn", &[&format!("rule{number}")]),
            ("pandoAccessText", &[text]),
            ("pandoAccessOrder", &[&number.to_string()]),
        ],
    )
}

fn set_rules(pando: &Pando, rules: &[&str]) {
    let mut admin = pando.admin();
    let attributes: &[(&str, &[&str])] = &[("objectClass", &["pandoConfig"]), ("cn", &["access"])];
    let container = Entry::of("cn=access,cn=config", attributes);
    admin.add(&container).expect_success();
    for (number, text) in rules.iter().enumerate() {
        admin.add(&rule(number, text)).expect_success();
    }
}

/// A client that is bound by a user's name; passwords are like the users' ids.
pub fn user(pando: &Pando, name: &str) -> Client {
    let mut client = Client::connect(pando.address());
    let uid = name.split(['=', ',']).nth(1).expect("a name has an RDN");
    client.bind(name, uid).expect_success();
    client
}

fn code(outcome: &Outcome) -> ResultCode {
    outcome.code
}

#[test]
fn entries_and_attributes_are_kept_by_every_way() {
    let pando = served();
    let mut ada = user(&pando, ADA);
    // By name, by filter, by region.
    let found = ada.search(GRACE, Scope::BaseObject, "(objectClass=*)", &[]);
    assert_eq!(found.outcome.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(found.outcome.matched, PEOPLE);
    for filter in [
        "(uid=grace)",
        "(mail=grace@example.com)",
        "(mail=*)",
        "(mail=g*)",
    ] {
        let found = ada.search(SUFFIX, Scope::WholeSubtree, filter, &["1.1"]);
        let names: Vec<&str> = found.entries.iter().map(|it| it.name.as_str()).collect();
        let own = filter == "(mail=*)";
        assert_eq!(names, if own { vec![ADA] } else { vec![] }, "{filter}");
    }
    let found = ada.search(SUFFIX, Scope::WholeSubtree, "(objectClass=person)", &["*"]);
    assert!(found.entries.iter().all(|it| it.name != GRACE));
    assert!(found.entries.len() > 1);
    for entry in &found.entries {
        assert_eq!(
            entry.values("mail").is_empty(),
            entry.name != ADA,
            "{}",
            entry.name
        );
        assert!(entry.values("userPassword").is_empty());
    }
    // By compare, by a write, by an add above and below.
    assert_eq!(
        code(&ada.compare(GRACE, "cn", "grace")),
        ResultCode::NO_SUCH_OBJECT
    );
    let change = [Modification::replace("description", &["x"])];
    for name in [GRACE, "uid=nobody,ou=People,dc=example,dc=com"] {
        let refused = ada.modify(name, &change);
        assert_eq!(
            refused.code,
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "{refused}"
        );
    }
    assert_eq!(
        code(&ada.delete(GRACE)),
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS
    );
    // Subordinates are counted only where all may be seen.
    let units = ada.search(
        PEOPLE,
        Scope::BaseObject,
        "(objectClass=*)",
        &["numSubordinates"],
    );
    assert!(units.entries[0].values("numSubordinates").is_empty());
    // What the rules give.
    let own = [Modification::replace("mail", &["new@example.com"])];
    ada.modify(ADA, &own).expect_success();
    assert_eq!(
        code(&ada.modify(ADA, &change)),
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS
    );
}

#[test]
fn who_is_anonymous_gets_nothing_and_may_bind() {
    let pando = served();
    let mut nobody = Client::connect(pando.address());
    for base in [SUFFIX, ADA, "uid=nobody,dc=example,dc=com"] {
        let found = nobody.search(base, Scope::WholeSubtree, "(objectClass=*)", &[]);
        assert_eq!(found.outcome.code, ResultCode::NO_SUCH_OBJECT, "{base}");
        assert_eq!(found.outcome.matched, "", "{base}");
    }
    assert_eq!(
        code(&nobody.bind(GRACE, "wrong")),
        ResultCode::INVALID_CREDENTIALS
    );
    nobody.bind(GRACE, "grace").expect_success();
    assert!(
        nobody
            .who_am_i()
            .eq_ignore_ascii_case(&format!("dn:{GRACE}"))
    );
}

#[test]
fn a_group_counts_from_its_change_on() {
    let pando = served();
    let mut ada = user(&pando, ADA);
    assert!(ada.read(GRACE).is_none());
    let mut admin = pando.admin();
    admin
        .modify(HR, &[Modification::add("member", &[ADA])])
        .expect_success();
    assert!(ada.read(GRACE).is_some());
    let change = [Modification::replace("description", &["seen"])];
    ada.modify(GRACE, &change).expect_success();
    admin
        .modify(HR, &[Modification::delete("member", &[ADA])])
        .expect_success();
    assert!(ada.read(GRACE).is_none());
    assert_eq!(
        code(&ada.modify(GRACE, &change)),
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS
    );
}

#[test]
fn a_rule_without_meaning_is_refused_and_changes_nothing() {
    let pando = served();
    let mut admin = pando.admin();
    for (text, said) in [
        ("rule x\non everything\nlet usrs read", "usrs"),
        (
            "rule x\non everything\nfor noSuchType\nlet users read",
            "noSuchType",
        ),
        ("# nothing", "one rule"),
    ] {
        let refused = admin.add(&rule(9, text));
        assert_ne!(refused.code, ResultCode::SUCCESS);
        assert!(refused.diagnostic.contains(said), "{refused}");
    }
    assert!(user(&pando, ADA).read(GRACE).is_none());
}

#[test]
fn adding_moving_and_deleting_ask_about_both_places() {
    let rules = [
        "rule bind
on everything
for userPassword
let anyone authenticate",
        "rule desk
on subtree \"ou=People,dc=example,dc=com\"
for children, entry, all
let entry \"uid=ada,ou=People,dc=example,dc=com\" write, add, delete, rename, move-out",
        "rule readable
on everything
let users read",
    ];
    let pando = served_with(&rules);
    let mut ada = user(&pando, ADA);
    let mut admin = pando.admin();
    let outside = kit::people::unit("Elsewhere");
    assert_eq!(
        code(&ada.add(&outside)),
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS
    );
    admin.add(&outside).expect_success();
    let mut new = kit::people::person("new");
    new.push("userPassword", b"new".to_vec());
    // The password of the new entry is a secret, which no rule gives.
    assert_eq!(code(&ada.add(&new)), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    new.attributes.retain(|(name, _)| name != "userPassword");
    ada.add(&new).expect_success();
    let moved = ada.rename(&new.name, "uid=new", true, Some(&outside.name));
    assert_eq!(moved.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    ada.rename(&new.name, "uid=newer", true, None)
        .expect_success();
    ada.delete(&format!("uid=newer,{PEOPLE}")).expect_success();
}
