//! Which rules somebody may write to whom a part of the directory was handed over.

use super::*;
use crate::access::facts::{Asker, Group, Identity, Origin, SubjectFacts};
use crate::access::parse::parse;
use crate::access::words::Ways;
use schema::Truth;

/// Bob looks after the people, with every right but those that are named nowhere.
const ABOVE: &str = "\
rule handed-over
on subtree \"ou=People,dc=example\"
for entry, children, all
let entry \"uid=bob,ou=People,dc=example\" write !description, administer, add, \
search description, authenticate, read entry

rule part
on one \"ou=Groups,dc=example\"
for entry, member
let entry \"uid=bob,ou=People,dc=example\" administer, search

rule all
on everything
for cn, uid, objectClass, entry
let users read
";

struct Nothing;

impl SubjectFacts for Nothing {
    fn matches(&self, _: &Name, _: &Filter) -> Truth {
        Truth::Undefined
    }

    fn is_member(&self, _: &Name, _: &Group) -> Truth {
        Truth::Undefined
    }
}

fn rules_of(who: &str) -> (Secrets, SubjectRules) {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let set = RuleSet::compile(&schema, &secrets, &parse(ABOVE).unwrap().rules).unwrap();
    let identity = Identity::Entry(schema.resolve_name(who).unwrap());
    let asker = Asker {
        acting: identity.clone(),
        real: identity,
        origin: Origin::Unknown,
        ways: Ways::UNKNOWN,
        minute: None,
    };
    (secrets, set.of_subject(asker, &Nothing))
}

fn written(text: &str) -> Result<Name, String> {
    let (secrets, bob) = rules_of("uid=bob,ou=People,dc=example");
    let rule = &parse(text).map_err(|error| error.to_string())?.rules[0];
    bob.require_writable(&bob, &secrets, rule)
}

const HEAD: &str = "rule x\nwithin \"ou=People,dc=example\"\n";

#[test]
fn what_lies_inside_and_is_held_may_be_written() {
    for text in [
        "on subtree \"ou=People,dc=example\"\nfor mail\nlet self write",
        "on children \"ou=People,dc=example\" where (cn=a)\nfor mail\nlet users read",
        "on entry \"uid=a,ou=People,dc=example\"\nfor entry\nlet users administer, add, read",
        "on one \"ou=x,ou=People,dc=example\"\nlet users search, none !cn",
        "on subtree \"ou=People,dc=example\"\nfor mail\nlet group \"cn=a,dc=b\" via tls read\n\
         let manager read then next rule\nlet having (uid=a) read",
    ] {
        let text = format!("{HEAD}{text}\n");
        let text = text.replace(", none !cn", "");
        assert_eq!(written(&text).map(|it| it.depth()), Ok(2), "{text}");
    }
    let smaller = "rule x\nwithin \"ou=x,ou=People,dc=example\"\n\
                   on subtree \"ou=x,ou=People,dc=example\"\nfor mail\nlet users read\n";
    assert_eq!(written(smaller).map(|it| it.depth()), Ok(3));
}

#[test]
fn what_goes_beyond_the_area_or_the_rights_is_refused() {
    let people = "on subtree \"ou=People,dc=example\"";
    for (text, said) in [
        // Places that are not provably inside.
        ("on everything\nfor mail\nlet users read", "at or below"),
        (
            "on pattern \"uid=*,ou=People,dc=example\"\nfor mail\nlet users read",
            "at or below",
        ),
        (
            "on subtree \"dc=example\"\nfor mail\nlet users read",
            "at or below",
        ),
        (
            "on subtree \"ou=People,dc=example\", entry \"\"\nfor mail\nlet users read",
            "at or below",
        ),
        (
            "on entry \"ou=OtherPeople,dc=example\"\nfor mail\nlet users read",
            "at or below",
        ),
        // Rights that bob lacks, each by itself and in wider words.
        (&format!("{people}\nlet users manage"), "you have yourself"),
        (
            &format!("{people}\nlet users everything"),
            "you have yourself",
        ),
        (&format!("{people}\nfor entry\nlet users proxy"), "proxy"),
        (&format!("{people}\nfor entry\nlet users delete"), "delete"),
        (
            &format!("{people}\nfor children\nlet users move-in"),
            "move-in",
        ),
        (
            &format!("{people}\nfor description\nlet users read"),
            "description",
        ),
        (
            &format!("{people}\nfor secrets\nlet users read"),
            "userPassword",
        ),
        (
            &format!("{people}\nfor userPassword\nlet self write"),
            "userPassword",
        ),
    ] {
        let text = format!("{HEAD}{text}\n");
        let refused = written(&text).expect_err(&text);
        assert!(refused.contains(said), "{text}: {refused}");
    }
}

#[test]
fn what_takes_or_tells_something_is_refused() {
    let people = "on subtree \"ou=People,dc=example\"";
    for (text, said) in [
        // What takes something from somebody.
        (&format!("{people}\nfor mail\ndeny users read"), "deny"),
        (&format!("{people}\nfor use sync\nlet users use"), "uses"),
        // Questions about what bob may not search by.
        (
            &format!("{people} where (userPassword=a)\nfor mail\nlet users read"),
            "userPassword",
        ),
        (
            &format!("{people}\nfor mail\nlet having (mail=a*) read"),
            "mail",
        ),
        (
            &format!("{people}\nfor mail\nlet manager of parent read"),
            "manager",
        ),
        (
            &format!("{people}\nfor mail\nlet group \"dc=example\" by member read"),
            "member",
        ),
        (
            &format!("{people} where (:caseIgnoreMatch:=a)\nfor mail\nlet users read"),
            "filter",
        ),
    ] {
        let text = format!("{HEAD}{text}\n");
        let refused = written(&text).expect_err(&text);
        assert!(refused.contains(said), "{text}: {refused}");
    }
}

#[test]
fn only_a_whole_area_that_is_administered_counts() {
    let rule = |area: &str| {
        let within = match area {
            "-" => String::new(),
            dn => format!("within \"{dn}\"\n"),
        };
        let target = if area == "-" {
            "ou=People,dc=example"
        } else {
            area
        };
        format!("rule x\n{within}on subtree \"{target}\"\nfor cn\nlet users read\n")
    };
    for area in [
        "-",
        "",
        "dc=example",
        "ou=Groups,dc=example",
        "cn=a,ou=Groups,dc=example",
    ] {
        let refused = written(&rule(area)).expect_err(area);
        assert!(refused.contains("within"), "{area}: {refused}");
    }
    assert!(written(&rule("ou=People,dc=example")).is_ok());

    let (_, bob) = rules_of("uid=bob,ou=People,dc=example");
    let (_, ada) = rules_of("uid=ada,ou=People,dc=example");
    assert!(bob.may_administer() && !ada.may_administer());
    let rule = parse(&rule("ou=People,dc=example"))
        .unwrap()
        .rules
        .remove(0);
    assert!(bob.governed(&rule).is_some() && ada.governed(&rule).is_none());
}

#[test]
fn rules_of_larger_areas_come_first_and_are_printed_with_their_area() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let rule = |name: &str, area: &str| {
        format!(
            "rule {name}\nwithin \"{area}\"\non subtree \"ou=b,dc=a\"\nfor mail\nlet users read\n"
        )
    };
    let compiled = |text: &str| {
        let rules = parse(text).unwrap().rules;
        RuleSet::compile(&schema, &secrets, &rules).map_err(|error| error.to_string())
    };
    let above = "rule above\non everything\nlet users read then next rule\n";
    let (all, large, small) = (
        rule("all", ""),
        rule("large", "dc=a"),
        rule("small", "ou=b,dc=a"),
    );
    assert!(compiled(&format!("{above}{all}{large}{small}")).is_ok());
    for text in [
        format!("{all}{above}"),
        format!("{small}{large}"),
        format!("{large}{all}"),
    ] {
        let refused = compiled(&text).unwrap_err();
        assert!(refused.contains("larger areas"), "{refused}");
    }
    assert_eq!(parse(&small).unwrap().rules[0].to_string(), small);
    let indented = small
        .replace("\nwithin", "\n  within")
        .replace("\non", "\n  on");
    assert_eq!(parse(&indented).unwrap().rules[0].to_string(), small);
}
