//! Two directories that differ only in entries and values that a subject may not see answer its
//! requests equally.

use kit::client::{Entry, Found, Modification, Outcome};
use kit::{Client, Pando, Random, SUFFIX};
use protocol::control::{SortKey, SortRequest, ViewTarget, VirtualListViewRequest};
use protocol::{OwnedControl, Scope, oid};

use crate::access_rules::{ADA, served_with, user};

/// Requests of a run.
const REQUESTS: usize = 1_500;

/// Users see their unit without salaries (`employeeNumber`) and what is below `ou=Secret`; people
/// whose `description` says so are hidden.
const RULES: &[&str] = &[
    "rule bind
on everything
for userPassword
let anyone authenticate",
    "rule secret
on subtree \"ou=Secret,dc=example,dc=com\"
let anyone none",
    "rule marked
on subtree \"ou=People,dc=example,dc=com\" where (description=hidden)
let anyone none",
    "rule salaries
on everything
for employeeNumber
let self read
let anyone none",
    "rule own
on everything
for description, title
let self write
let users read",
    "rule readable
on everything
let users read",
];

/// Filters, in some of which `*` stands for a random word.
const FILTERS: &[&str] = &[
    "(objectClass=*)",
    "(uid=*)",
    "(uid=hidden0)",
    "(cn=hidden*)",
    "(employeeNumber=1)",
    "(employeeNumber>=1)",
    "(!(employeeNumber=1))",
    "(|(employeeNumber=1)(uid=ada))",
    "(&(objectClass=person)(!(employeeNumber=*)))",
    "(description=hidden)",
    "(!(description=hidden))",
    "(mail=hidden1@example.com)",
    "(memberOf=cn=staff,ou=Secret,dc=example,dc=com)",
    "(isMemberOf=cn=staff,ou=Secret,dc=example,dc=com)",
    "(member:1.2.840.113556.1.4.1941:=uid=ada,ou=People,dc=example,dc=com)",
    "(member=uid=ada,ou=People,dc=example,dc=com)",
    "(numSubordinates>=4)",
    "(hasSubordinates=TRUE)",
    "(seeAlso:dn:=uid=ada)",
    "(entryDN=uid=hidden0,ou=People,dc=example,dc=com)",
];
const BASES: &[&str] = &[
    "",
    SUFFIX,
    "ou=People,dc=example,dc=com",
    ADA,
    "uid=hidden0,ou=People,dc=example,dc=com",
    "uid=hidden9,ou=People,dc=example,dc=com",
    "ou=Secret,dc=example,dc=com",
    "cn=staff,ou=Secret,dc=example,dc=com",
    "cn=none,ou=Secret,dc=example,dc=com",
    "ou=Groups,dc=example,dc=com",
];
const SELECTIONS: &[&[&str]] = &[
    &["*"],
    &["1.1"],
    &["cn", "mail", "employeeNumber"],
    &["*", "numSubordinates", "hasSubordinates"],
    &["memberOf", "isMemberOf", "entryDN"],
];
const ATTRIBUTES: &[&str] = &["uid", "cn", "employeeNumber", "description", "mail"];

/// The two directories: the second has other hidden entries, salaries and groups.
fn worlds() -> [Pando; 2] {
    let mut worlds = [served_with(RULES), served_with(RULES)];
    for (number, world) in worlds.iter_mut().enumerate() {
        let mut admin = world.admin();
        admin.add(&kit::people::unit("Secret")).expect_success();
        for visible in 0..5 {
            let mut person = kit::people::person(&format!("seen{visible}"));
            let salary = format!("{}", (visible * 7 + number * 3) % 5);
            person.push("employeeNumber", salary.into_bytes());
            admin.add(&person).expect_success();
        }
        for hidden in 0..3 + 4 * number {
            let mut person = kit::people::person(&format!("hidden{}", hidden + 2 * number));
            person.push("description", b"hidden".to_vec());
            admin.add(&person).expect_success();
        }
        let member = [ADA, "uid=seen1,ou=People,dc=example,dc=com"][number];
        let group = Entry {
            name: "cn=staff,ou=Secret,dc=example,dc=com".to_owned(),
            ..kit::people::group("staff", &[member])
        };
        admin.add(&group).expect_success();
        let outer = kit::people::group("outer", &[&group.name]);
        admin
            .add(&Entry {
                attributes: outer.attributes,
                name: format!("cn=outer,ou=Secret,{SUFFIX}"),
            })
            .expect_success();
    }
    worlds
}

/// Everything of a result but what is random in every directory.
fn told(outcome: &Outcome) -> String {
    let controls: Vec<&str> = outcome
        .controls
        .iter()
        .map(|(oid, _)| oid.as_str())
        .collect();
    format!(
        "{} {:?} {:?} {controls:?}",
        outcome.code, outcome.matched, outcome.diagnostic
    )
}

fn found(found: &Found) -> String {
    format!(
        "{:?} {:?} {}",
        found.entries,
        found.references,
        told(&found.outcome)
    )
}

fn sorted(random: &mut Random) -> Vec<OwnedControl> {
    let attribute = *random.pick(ATTRIBUTES);
    let key = SortKey {
        attribute,
        ordering_rule: None,
        reverse: random.chance(50),
    };
    let mut value = Vec::new();
    SortRequest { keys: vec![key] }.encode(&mut value);
    let mut controls = vec![OwnedControl {
        oid: oid::SORT_REQUEST.into(),
        critical: false,
        value: Some(value),
    }];
    if random.chance(50) {
        let mut value = Vec::new();
        VirtualListViewRequest {
            before_count: 0,
            after_count: random.below(4) as u32,
            target: ViewTarget::ByOffset {
                offset: 1 + random.below(4) as u32,
                content_count: 0,
            },
            context_id: None,
        }
        .encode(&mut value);
        controls.push(OwnedControl {
            oid: oid::VIRTUAL_LIST_VIEW_REQUEST.into(),
            critical: false,
            value: Some(value),
        });
    }
    controls
}

/// One random request, the same for equal seeds.
fn ask(client: &mut Client, random: &mut Random) -> String {
    let base = *random.pick(BASES);
    let filter = *random.pick(FILTERS);
    let value = random.below(6).to_string();
    match random.below(10) {
        0..6 => {
            let scope = *random.pick(&[Scope::BaseObject, Scope::SingleLevel, Scope::WholeSubtree]);
            let select = random.pick(SELECTIONS);
            let mut controls = match random.chance(30) {
                true => sorted(random),
                false => Vec::new(),
            };
            if random.chance(10) {
                controls.push(OwnedControl {
                    oid: oid::ASSERTION.into(),
                    critical: true,
                    value: protocol::parse_filter(filter).ok(),
                });
            }
            let answer = client.search_with(base, scope, filter, select, &controls, |_| {});
            format!("search {base} {scope:?} {filter}: {}", found(&answer))
        }
        6 => {
            let attribute = *random.pick(ATTRIBUTES);
            let answer = client.compare(base, attribute, &value);
            format!("compare {base} {attribute}: {}", told(&answer))
        }
        7 => {
            let attribute = *random.pick(ATTRIBUTES);
            let answer = client.modify(base, &[Modification::replace(attribute, &[&value])]);
            format!("modify {base} {attribute}: {}", told(&answer))
        }
        8 => format!("delete {base}: {}", told(&client.delete(base))),
        _ => {
            let uid = format!("hidden{}", random.below(9));
            let added = client.add(&kit::people::person(&uid));
            let superior = format!("ou=Secret,{SUFFIX}");
            let moved = client.rename(base, "uid=other", true, Some(&superior));
            format!("add {uid}: {}; move {base}: {}", told(&added), told(&moved))
        }
    }
}

#[test]
fn they_answer_equally() {
    let worlds = worlds();
    let seed = Random::announced("two worlds").number();
    let mut clients = worlds.each_ref().map(|it| user(it, ADA));
    let mut randoms = [Random::new(seed), Random::new(seed)];
    let mut entries = 0;
    for request in 0..REQUESTS {
        let [first, second] = [0, 1].map(|at| ask(&mut clients[at], &mut randoms[at]));
        assert_eq!(first, second, "seed {seed}, request {request}");
        entries += first.matches("Entry").count();
    }
    assert!(entries > 100, "{entries} entries were seen");
}
