//! Each kind of clause by itself: what it gives, and which place of the rules is named for it.

use super::*;
use crate::access::facts::{Group, Identity, Origin};
use crate::access::parse::parse;
use crate::access::words::{Way, Ways};
use crate::secrets::Secrets;
use schema::{Filter, Name, Schema, TypeId};

/// A world in which `uid=ada` is in every group, matches every filter and is named by every
/// attribute; of all others these are unknown.
pub(super) struct Facts(pub(super) Schema);

impl Facts {
    fn of(&self, name: &Name) -> Truth {
        match *name == self.0.resolve_name("uid=ada,dc=a").unwrap() {
            true => Truth::True,
            false => Truth::Undefined,
        }
    }
}

impl SubjectFacts for Facts {
    fn matches(&self, subject: &Name, _: &Filter) -> Truth {
        self.of(subject)
    }

    fn is_member(&self, subject: &Name, _: &Group) -> Truth {
        self.of(subject)
    }
}

pub(super) struct Thing<'f>(pub(super) &'f Facts, pub(super) Name);

impl EntryFacts for Thing<'_> {
    fn name(&self) -> &Name {
        &self.1
    }

    fn matches(&self, _: &Filter) -> Truth {
        self.0.of(&self.1)
    }

    fn names(&self, _: TypeId, subject: &Name) -> Truth {
        self.0.of(subject)
    }

    fn superior_names(&self, _: TypeId, subject: &Name) -> Truth {
        self.0.of(subject)
    }
}

/// Decides whether `who` may do something to `cn` of `uid=ada,dc=a`, and returns the place that
/// decides as `rule.clause`.
#[track_caller]
fn check(rules: &str, who: &str, right: Right, allowed: bool, place: &str) {
    let facts = Facts(Schema::standard());
    let secrets = Secrets::of(&facts.0, &[]);
    let rules = parse(rules).unwrap_or_else(|error| panic!("{error}")).rules;
    let set = RuleSet::compile(&facts.0, &secrets, &rules).unwrap_or_else(|it| panic!("{it}"));
    let name = |dn: &str| facts.0.resolve_name(dn).unwrap();
    let acting = match who {
        "" => Identity::Anonymous,
        dn => Identity::Entry(name(dn)),
    };
    let asker = Asker {
        acting,
        real: Identity::Entry(name("cn=app,dc=a")),
        origin: Origin::Address("10.0.0.9".parse().unwrap()),
        ways: Ways::of(&[Way::Tls, Way::Scram]),
        minute: Some(crate::access::hours::WeekMinute::at(0)),
    };
    let subject = set.of_subject(asker, &facts);
    let entry = Thing(&facts, name("uid=ada,dc=a"));
    let object = Object::Attribute(facts.0.attribute_type("cn").unwrap());
    let ruling = subject.decide(&entry, Question::about(object), right);
    let found = ruling.place.map_or(String::new(), |it| match it.clause {
        Some(clause) => format!("{}.{clause}", rules[it.rule].name),
        None => format!("{}.end", rules[it.rule].name),
    });
    assert_eq!((ruling.allowed, found.as_str()), (allowed, place), "{who}");
}

/// Checks for whom a clause with this subject is: for ada, bob and nobody, as `y`, `n`, or `-` when
/// it is not known.
#[track_caller]
fn matches(subject: &str, truth: &str) {
    for (who, expected) in ["uid=ada,dc=a", "uid=bob,dc=a", ""]
        .into_iter()
        .zip(truth.chars())
    {
        let gives = format!("rule a\non everything\nlet {subject} read\nlet anyone none");
        let takes = format!("rule a\non everything\nlet {subject} none\nlet anyone read");
        let given = expected == 'y';
        let place = if given { "a.0" } else { "a.1" };
        check(&gives, who, Right::Read, given, place);
        let left = expected == 'n';
        let place = if left { "a.1" } else { "a.0" };
        check(&takes, who, Right::Read, left, place);
    }
}

#[test]
fn subjects_match_whom_they_mean() {
    for (subject, truth) in [
        ("anyone", "yyy"),
        ("anonymous", "nny"),
        ("users", "yyn"),
        ("administrator", "nnn"),
        ("self", "ynn"),
        ("entry \"UID=Bob,DC=A\"", "nyn"),
        ("one \"dc=a\"", "yyn"),
        ("children \"uid=ada,dc=a\"", "nnn"),
        ("subtree \"uid=ada,dc=a\"", "ynn"),
        ("pattern \"uid=*b,dc=a\"", "nyn"),
        ("not self", "nyy"),
        ("self or anonymous", "yny"),
        ("users, not self", "nyn"),
        ("from 10.0.0.0/8", "yyy"),
        ("from local", "nnn"),
        ("via tls via scram", "yyy"),
        ("via simple", "nnn"),
        ("at \"Thu\"", "yyy"),
        ("at \"Fri\"", "nnn"),
        ("real entry \"cn=app,dc=a\"", "yyy"),
        ("real self", "nnn"),
    ] {
        matches(subject, truth);
    }
}

/// What cannot be found out counts against the subject, whether the clause gives or takes.
#[test]
fn unknown_facts_count_against_the_subject() {
    for subject in [
        "group \"cn=g\"",
        "manager",
        "owner of parent",
        "having (cn=a)",
    ] {
        let known = |who: &str, gives: &str, allowed: bool, place: &str| {
            let rules = format!("rule a\non everything\n{gives}");
            check(&rules, who, Right::Read, allowed, place);
        };
        let gives = format!("let {subject} read");
        known("uid=ada,dc=a", &gives, true, "a.0");
        known("uid=bob,dc=a", &gives, false, "a.end");
        known("", &gives, false, "a.end");
        let takes = format!("let {subject} none\nlet anyone read");
        known("uid=ada,dc=a", &takes, false, "a.0");
        known("uid=bob,dc=a", &takes, false, "a.0");
        known("", &takes, true, "a.1");
        let negated = format!("let not {subject} read");
        known("uid=bob,dc=a", &negated, false, "a.end");
        known("", &negated, true, "a.0");
    }
}

#[test]
fn clauses_stop_continue_hand_on_and_gather() {
    let ada = "uid=ada,dc=a";
    let mut rules = "rule a\non everything\nlet users read\nlet anyone write".to_owned();
    check(&rules, ada, Right::AddValue, false, "a.0");
    check(&rules, "", Right::AddValue, true, "a.1");
    rules = "rule a\non everything\nlet users read then continue\nlet self only write".to_owned();
    check(&rules, ada, Right::AddValue, true, "a.1");
    check(&rules, ada, Right::Read, true, "a.0");
    check(&rules, "uid=bob,dc=a", Right::Read, true, "a.0");
    check(&rules, "", Right::Read, false, "a.end");
    rules += "\nrule b\non everything\nlet anyone read";
    check(&rules, "", Right::Read, false, "a.end");
    rules = "rule a\non everything\nlet users read then next rule\nlet anyone write\n\
             rule b\non everything\ndeny self read then continue\nlet users compare"
        .to_owned();
    check(&rules, ada, Right::Read, false, "b.0");
    check(&rules, ada, Right::Compare, true, "b.1");
    check(&rules, "uid=bob,dc=a", Right::Read, true, "a.0");
    rules = "rule a\non everything\ndeny self read then gather\n\
             rule b\non everything\nlet anyone read then gather"
        .to_owned();
    check(&rules, ada, Right::Read, false, "a.0");
    check(&rules, ada, Right::Search, true, "b.0");
    check(&rules, "", Right::Read, true, "b.0");
    check(
        "rule a\non entry \"dc=b\"\nlet anyone read",
        ada,
        Right::Read,
        false,
        "",
    );
}

#[test]
fn rights_hold_for_the_attributes_they_name() {
    let rules =
        "rule a\non everything\nfor cn, sn, mail\nlet users read sn, write cn, only search mail";
    check(rules, "uid=ada,dc=a", Right::AddValue, true, "a.0");
    let rules = "rule a\non everything\nlet users read sn, write name, !cn";
    check(rules, "uid=ada,dc=a", Right::AddValue, false, "a.0");
    let rules = "rule a\non everything\nfor !cn\nlet users read\nrule b\non everything\n\
                 let users search";
    check(rules, "uid=ada,dc=a", Right::Read, false, "b.0");
    check(rules, "uid=ada,dc=a", Right::Search, true, "b.0");
}

/// Returns the error of a rule.
fn wrong(text: &str) -> String {
    let schema = Schema::standard();
    let read = parse(text).unwrap();
    let set = RuleSet::compile(&schema, &Secrets::of(&schema, &[]), &read.rules);
    let error = set.expect_err(text);
    format!("{} | {error}", error.in_text(&read).in_file("f"))
}

#[test]
fn names_without_a_meaning_are_refused_where_they_stand() {
    assert_eq!(
        wrong("rule a\non everything\nfor cn, telefoneNumber\nlet users read"),
        "f:3:1: expected an attribute type, got \"telefoneNumber\"; did you mean \
         \"telephoneNumber\"? | access rule a, for: expected an attribute type, got \
         \"telefoneNumber\"; did you mean \"telephoneNumber\"?"
    );
    let clause = |text: &str| {
        let error = wrong(&format!("rule a\non everything\n  let users read\n{text}"));
        error.split_once(" | ").unwrap().0.to_owned()
    };
    assert_eq!(
        clause("let anyon read"),
        "f:4:1: expected an attribute type, got \"anyon\""
    );
    assert_eq!(
        clause("let cn read"),
        "f:4:1: expected an attribute type with names as values, got \"cn\""
    );
    for text in [
        "let pattern \"uid=$1\" read",
        "let entry \"nope=a\" read",
        "let having (nope=a) read",
        "let users read @nope",
        "let users read cn value self",
        "let users add-value entry",
        "let users read, use",
        "let users none then continue",
        "let users read, none",
        "let users none cn",
        "let users only none",
        "deny users none",
        "let users self-value cn",
        "let users read children",
        "deny users read userPassword, secrets",
    ] {
        assert!(clause(text).starts_with("f:4:1: expected"), "{text}");
    }
    for target in [
        "pattern \"uid=$1\"",
        "entry \"a\"",
        "everything where (nope=*)",
    ] {
        let error = wrong(&format!("rule a\non {target}\nlet users read"));
        assert!(error.starts_with("f:2:1: "), "{error}");
    }
}
