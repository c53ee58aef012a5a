//! Costs of rules of each kind.

use super::*;
use crate::access::parse::parse;
use crate::secrets::Secrets;
use schema::Schema;

fn costs(text: &str) -> Vec<RuleCost> {
    let schema = Schema::standard();
    let rules = parse(text).unwrap_or_else(|error| panic!("{error}")).rules;
    let set = RuleSet::compile(&schema, &Secrets::of(&schema, &[]), &rules);
    set.unwrap_or_else(|error| panic!("{error}")).costs()
}

/// The needs and the steps of the only clause, for this subject.
fn clause(subject: &str) -> (Vec<Need>, usize) {
    let mut costs = costs(&format!(
        "rule a\non pattern \"uid=*,dc=a\"\nlet {subject} read"
    ));
    let clause = costs.remove(0).clauses.remove(0);
    (clause.needs, clause.steps)
}

#[test]
fn conditions_need_facts_of_subjects_or_of_entries() {
    use Need::{Connection, Groups, Identity, Name, Names, SubjectEntry, Superior, Time};
    assert_eq!(clause("anyone"), (vec![], 1));
    for (subject, needs, steps) in [
        ("users", vec![Identity], 1),
        ("entry \"dc=a\"", vec![Identity], 1),
        ("pattern \"uid=a*,dc=a\"", vec![Identity], 1),
        ("group \"cn=g\"", vec![Groups], 1),
        ("having (cn=a)", vec![SubjectEntry], 1),
        (
            "users from 10.0.0.0/8 via tls",
            vec![Identity, Connection],
            1,
        ),
        ("users at \"Mon\"", vec![Identity, Time], 1),
        ("self", vec![Name], 2),
        ("pattern \"uid=$1,dc=b\"", vec![Name], 2),
        ("manager", vec![Names], 2),
        ("owner of parent", vec![Superior], 2),
        (
            "not (manager or self), group \"cn=g\"",
            vec![Groups, Name, Names],
            3,
        ),
    ] {
        assert_eq!(clause(subject), (needs, steps), "{subject}");
    }
}

#[test]
fn targets_are_told_by_the_place_the_name_or_the_values() {
    let target = |on: &str| {
        let cost = costs(&format!("rule a\non {on}\nlet users read")).remove(0);
        (cost.target.pace(), cost.target.steps)
    };
    assert_eq!(target("everything"), (None, 1));
    assert_eq!(target("children \"dc=a\""), (Some(Pace::Region), 1));
    let both = "one \"dc=a\", subtree \"dc=b\"";
    assert_eq!(target(both), (Some(Pace::Entry), 2));
    assert_eq!(
        target("everything where (&(cn=a)(sn=b))"),
        (Some(Pace::Entry), 3)
    );
}

/// Only rules about every entry that ask its values keep all searches from one answer.
#[test]
fn rules_that_divide_every_search_are_told() {
    let divides = |text: &str| {
        let costs = costs(text);
        costs.last().expect("a rule").divides_all
    };
    assert!(divides(
        "rule a\non everything where (cn=a)\nlet users read"
    ));
    assert!(divides("rule a\non subtree \"\"\nlet manager read"));
    assert!(divides("rule a\non everything\nlet owner of parent read"));
    for text in [
        "rule a\non everything\nlet self read\nlet group \"cn=g\" read",
        "rule a\non subtree \"dc=a\" where (cn=a)\nlet users read",
        "rule a\non everything where (cn=a)\nfor use sync\nlet users use",
        "rule a\non everything where (cn=a)\nfor children\nlet users add",
        "rule a\non everything\nlet users read\nrule b\non everything where (cn=a)\nlet users read",
    ] {
        assert!(!divides(text), "{text}");
    }
}

#[test]
fn steps_of_a_rule_are_those_of_its_parts() {
    let text = "rule a\non subtree \"dc=a\" where (cn=a)\nlet self read\nlet users search";
    let cost = costs(text).remove(0);
    assert_eq!(cost.steps(), 1 + 2 + 2 + 1);
    assert_eq!(cost.target.text, "on subtree \"dc=a\" where (cn=a)");
    assert_eq!(cost.clauses[0].text, "let self read");
}
