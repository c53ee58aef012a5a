//! Access rules judged for subjects and kept between operations, while groups, entries and rules
//! change: each operation sees what a client of a new thread sees, and each decision is compared
//! with one made anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{Client, Found, success};
use protocol::{ChangeOperation, ResultCode, Scope};

const BASE: &str = "dc=example,dc=com";
const RULES: &str = "cn=access,cn=config";
const PEOPLE: [&str; 4] = ["ada", "bob", "cyd", "dan"];
const STEPS: usize = 80;

/// Numbers that follow from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((it ^ (it >> 31)) % end as u64) as usize
    }

    fn one<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len())]
    }
}

fn person(name: &str) -> String {
    format!("uid={name},ou=people,{BASE}")
}

fn group(name: &str) -> String {
    format!("cn={name},{BASE}")
}

/// A rule whose target and subjects depend on what the steps change.
fn rule(dice: &mut Dice) -> String {
    let targets = [
        "everything",
        "subtree \"ou=people,dc=example,dc=com\"",
        "one \"ou=people,dc=example,dc=com\"",
        "everything where (title=boss)",
        "subtree \"ou=people,dc=example,dc=com\" where (!(title=boss))",
        "pattern \"uid=*,ou=people,dc=example,dc=com\"",
        "subtree \"uid=ada,ou=people,dc=example,dc=com\"",
        "one \"ou=moved,dc=example,dc=com\"",
    ];
    let things = [
        "entry, children, all",
        "mail, sn",
        "title",
        "entry",
        "manager, description",
    ];
    let subjects = [
        "anyone",
        "users",
        "self",
        "not self",
        "manager",
        "owner of parent",
        "group \"cn=outer,dc=example,dc=com\"",
        "not group \"cn=inner,dc=example,dc=com\"",
        "group \"cn=inner,dc=example,dc=com\" by member",
        "having (title=boss)",
        "subtree \"ou=moved,dc=example,dc=com\"",
        "self or manager",
    ];
    let rights = ["read", "search", "compare", "none", "write", "disclose"];
    let ends = ["", "", " then continue", " then next rule"];
    let mut text = format!(
        "rule r\non {}\nfor {}",
        dice.one(&targets),
        dice.one(&things)
    );
    for _ in 0..=dice.below(2) {
        let right = dice.one(&rights);
        let end = match right {
            "none" => "",
            _ => dice.one(&ends),
        };
        text += &format!("\nlet {} {right}{end}", dice.one(&subjects));
    }
    text
}

fn directory() -> Client {
    let mut admin = Client::admin();
    let unit: &[(&str, &[&str])] = &[("objectClass", &["organizationalUnit", "extensibleObject"])];
    success(&admin.add(&format!("ou=people,{BASE}"), unit));
    success(&admin.add(&format!("ou=moved,{BASE}"), unit));
    for name in PEOPLE {
        let values: &[(&str, &[&str])] = &[
            ("objectClass", &["inetOrgPerson"]),
            ("cn", &[name]),
            ("sn", &[name]),
            ("mail", &["a@example.com"]),
            ("userPassword", &[name]),
        ];
        success(&admin.add(&person(name), values));
    }
    let members = [person("ada"), group("inner")];
    for (name, member) in [("inner", &members[0]), ("outer", &members[1])] {
        let values: &[(&str, &[&str])] =
            &[("objectClass", &["groupOfNames"]), ("member", &[member])];
        success(&admin.add(&group(name), values));
    }
    success(&admin.add(RULES, &[("objectClass", &["pandoConfig"])]));
    admin
}

fn put_rule(admin: &mut Client, number: usize, text: &str) -> ResultCode {
    let order = number.to_string();
    let values: &[(&str, &[&str])] = &[
        ("objectClass", &["pandoAccessRule"]),
        ("pandoAccessText", &[text]),
        ("pandoAccessOrder", &[&order]),
    ];
    let entry = format!("cn=r{number},{RULES}");
    admin.delete_with(&entry, &[]);
    admin.add(&entry, values).code
}

/// A random change by the administrator, which may be refused.
fn change(admin: &mut Client, dice: &mut Dice) -> String {
    let who = dice.one(&PEOPLE);
    let other = person(dice.one(&PEOPLE));
    let replace = |admin: &mut Client, entry: &str, attribute: &str, values: &[&str]| {
        admin.modify(entry, &[(ChangeOperation::Replace, attribute, values)]);
        format!("{attribute} of {entry} is {values:?}")
    };
    match dice.below(8) {
        0 => replace(admin, &person(who), "title", &["boss"]),
        1 => replace(admin, &person(who), "title", &[]),
        2 => replace(admin, &person(who), "manager", &[&other]),
        3 => replace(admin, &format!("ou=people,{BASE}"), "owner", &[&other]),
        4 => replace(admin, &group("inner"), "member", &[&other]),
        5 => {
            let inner = group("inner");
            let member = dice.one(&[inner.as_str(), other.as_str()]).to_owned();
            replace(admin, &group("outer"), "member", &[&member])
        }
        6 => {
            let (from, to) = match dice.below(2) {
                0 => ("people", "moved"),
                _ => ("moved", "people"),
            };
            let entry = format!("uid={who},ou={from},{BASE}");
            let superior = format!("ou={to},{BASE}");
            admin.rename_with(&entry, &format!("uid={who}"), Some(&superior), &[]);
            format!("{entry} moved below {superior}")
        }
        _ => {
            let (number, text) = (dice.below(4), rule(dice));
            put_rule(admin, number, &text);
            text
        }
    }
}

/// Everything that a client learns: entries, and whether compares and lookups are answered.
fn learned(client: &mut Client) -> (Vec<Found>, Vec<ResultCode>, Vec<usize>) {
    let all = client.search(BASE, Scope::WholeSubtree, "(objectClass=*)", &[]);
    let found = client.search(BASE, Scope::WholeSubtree, "(title=boss)", &["mail"]);
    let mut codes = vec![all.result.code, found.result.code];
    let mut counts = Vec::new();
    for name in PEOPLE {
        let entry = person(name);
        codes.push(client.compare(&entry, "sn", name).result.code);
        let base = client.search(&entry, Scope::BaseObject, "(mail=*)", &["1.1"]);
        codes.push(base.result.code);
        counts.push(base.entries.len());
    }
    let mut entries = all.entries;
    entries.extend(found.entries);
    (entries, codes, counts)
}

#[test]
fn what_is_kept_is_what_is_judged_anew() {
    #[cfg(debug_assertions)]
    state::view::compare_kept_rules();
    for seed in 0..4 {
        let dice = &mut Dice(seed);
        let mut admin = directory();
        for number in 0..4 {
            let text = rule(dice);
            assert_eq!(
                put_rule(&mut admin, number, &text),
                ResultCode::SUCCESS,
                "{text}"
            );
        }
        let bind = "rule bind\non everything\nfor userPassword\nlet anyone authenticate";
        assert_eq!(put_rule(&mut admin, 0, bind), ResultCode::SUCCESS);
        // Long-lived clients share a thread with nobody; each keeps what it has judged.
        let mut kept: Vec<(&str, Client)> = Vec::new();
        for name in ["ada", "bob"] {
            let mut client = admin.another();
            success(&client.bind(&person(name), name));
            kept.push((name, client));
        }
        kept.push(("", admin.another()));
        for step in 0..STEPS {
            let what = change(&mut admin, dice);
            for (name, client) in &mut kept {
                let mut fresh = admin.another();
                if !name.is_empty() {
                    let bound = [person(name), format!("uid={name},ou=moved,{BASE}")]
                        .iter()
                        .any(|it| fresh.bind(it, name).code == ResultCode::SUCCESS);
                    if !bound {
                        continue;
                    }
                }
                // The name of an account that moved ends its connections.
                let whoami = client.search("", Scope::BaseObject, "(objectClass=*)", &["1.1"]);
                if whoami.result.code == ResultCode::STRONGER_AUTH_REQUIRED {
                    *client = fresh;
                    continue;
                }
                assert_eq!(
                    learned(client),
                    learned(&mut fresh),
                    "seed {seed}, step {step}, as {name:?}: {what}"
                );
            }
        }
    }
}
