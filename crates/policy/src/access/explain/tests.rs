//! The text of explanations, and that what they say turns decisions does.

use super::*;
use crate::access::compile::RuleSet;
use crate::access::decide::tests::{asker, objects};
use crate::access::facts::Identity;
use crate::access::model::{Entry, World};
use crate::access::parse::parse;
use crate::access::print::print;
use crate::access::testing::{Dice, ENTRIES, rules};
use crate::access::words::Ways;
use crate::secrets::Secrets;

#[test]
fn an_explanation_says_what_decided_and_what_would_turn_it() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let text = "\
rule configuration
on subtree \"cn=config\"
let anyone none

rule phones
on everything
for telephoneNumber
let users read

rule mail
on everything
for mail
let entry \"uid=bob,ou=People,dc=example\" via tls write
let self, at \"Sun\" or anonymous write
let users only search then continue
let anyone none
";
    let set = RuleSet::compile(&schema, &secrets, &parse(text).unwrap().rules).unwrap();
    let world = World {
        schema: &schema,
        secrets: &secrets,
        seed: 0,
    };
    let entry = Entry {
        world: &world,
        name: schema.resolve_name("uid=ada,ou=People,dc=example").unwrap(),
    };
    let bob = Identity::Entry(schema.resolve_name(ENTRIES[3]).unwrap());
    let mut asker = asker(&mut Dice(1), &schema);
    (asker.real, asker.acting) = (bob.clone(), bob);
    asker.ways = Ways::of(&[]);
    let subject = set.of_subject(asker, &world);
    let mail = Question::about(Object::Attribute(schema.attribute_type("mail").unwrap()));
    let shown = |right| subject.explain(&entry, &world, mail, right).to_string();
    assert_eq!(
        shown(Right::Read),
        "\
read to mail of \"uid=ada,ou=people,dc=example\": refused
  rule configuration: does not match the entry
  rule phones: is not about it
  rule mail, let entry \"uid=bob,ou=People,dc=example\" via tls write: matches only if the subject \
         is: via tls
  rule mail, let self at \"Sun 00:00-24:00\" or anonymous write: matches only if the subject is: \
         anonymous
  rule mail, let users only search then continue: matches, and does not name the right
  rule mail, let anyone none: matches, and does not name the right  <- decides
would be different if the subject is: via tls
would be different if rule mail said otherwise in: let anyone none
"
    );
    let search = shown(Right::Search);
    assert!(search.starts_with("search to mail of \"uid=ada,ou=people,dc=example\": allowed\n"));
    let decides = "let users only search then continue: gives the right  <- decides\n";
    assert!(search.contains(decides), "{search}");
    assert!(
        search.contains("would be different if the subject is not: users\n"),
        "{search}"
    );
}

/// An explanation has the decision of `decide`, and names its place among the reasons.
#[test]
fn explanations_agree_with_decisions() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let objects = objects(&schema);
    let mut turned = 0;
    for seed in 0..400 {
        let dice = &mut Dice(seed);
        let rules = rules(dice, 4);
        let set = RuleSet::compile(&schema, &secrets, &rules).unwrap();
        let world = World {
            schema: &schema,
            secrets: &secrets,
            seed,
        };
        let subject = set.of_subject(asker(dice, &schema), &world);
        for _ in 0..10 {
            let entry = Entry {
                world: &world,
                name: schema.resolve_name(dice.one(&ENTRIES)).unwrap(),
            };
            let question = Question::about(dice.one(&objects));
            let right = dice.one(&Right::ALL);
            let explanation = subject.explain(&entry, &world, question, right);
            let text = || format!("seed {seed}\n{explanation}\n{}", print(&rules));
            assert_eq!(
                explanation.ruling,
                subject.decide(&entry, question, right),
                "{}",
                text()
            );
            if let Some(place) = explanation.ruling.place.filter(|it| it.clause.is_some()) {
                let named = explanation.reasons.iter().any(|it| it.place == place);
                assert!(named, "{}", text());
            }
            turned += usize::from(explanation.by_subject.is_some_and(|it| !it.is_empty()));
        }
    }
    assert!(turned > 400, "{turned} decisions can be turned");
}
