//! Kept decisions are those of the plain walk, on random rules.

use super::*;
use crate::access::compile::RuleSet;
use crate::access::condition::reaches;
use crate::access::decide::tests::{asker, objects};
use crate::access::model::{Entry, World};
use crate::access::print::print;
use crate::access::region::tests::SCOPES;
use crate::access::rules::Reach;
use crate::access::testing::{Dice, ENTRIES, rules};
use crate::secrets::Secrets;
use protocol::Scope;
use schema::{Name, Schema};

/// Random rule sets of each test.
const SETS: u64 = 1000;

fn reach_of(scope: Scope) -> Reach {
    match scope {
        Scope::BaseObject => Reach::Entry,
        Scope::SingleLevel => Reach::One,
        Scope::WholeSubtree => Reach::Subtree,
        Scope::Subordinate => Reach::Children,
    }
}

/// Outlooks as operations use them: numbers for what was seen.
struct Numbered {
    outlook: Outlook,
    all: Vec<Seen>,
    /// Walks over the rules so far.
    walks: usize,
}

impl Numbered {
    fn seen(&mut self, entry: &dyn EntryFacts) -> Seen {
        let (seen, trail) = match self.outlook.seen(entry) {
            Found::Known(number) => return self.all[number as usize].clone(),
            Found::Walked(seen, trail) => (seen, trail),
        };
        self.walks += 1;
        let known = self.all.iter().position(|it| *it == seen);
        let number = known.unwrap_or(self.all.len());
        if number == self.all.len() {
            self.all.push(seen.clone());
        }
        if let Some(trail) = trail {
            self.outlook.learn(&trail, number as u32);
        }
        seen
    }
}

#[test]
fn kept_decisions_are_those_of_a_walk() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let objects = objects(&schema);
    let names = ENTRIES.map(|it| schema.resolve_name(it).unwrap());
    let (mut walks, mut asked, mut left_out) = (0, 0, 0);
    for seed in 0..SETS {
        let dice = &mut Dice(seed);
        let rules = rules(dice, 6);
        let set = RuleSet::compile(&schema, &secrets, &rules).unwrap();
        let of_seed = |seed| World {
            schema: &schema,
            secrets: &secrets,
            seed,
        };
        let subject = set.of_subject(asker(dice, &schema), &of_seed(seed));
        let (base, scope) = (dice.one(&names), dice.one(&SCOPES));
        // Half of those of one level are without the entries that targets name.
        let (outlook, apart) = match scope {
            Scope::SingleLevel if seed % 2 == 0 => subject.outlook_below(base.clone()),
            scope => (subject.region(base.clone(), scope).outlook(), Vec::new()),
        };
        let mut numbered = Numbered {
            outlook,
            all: Vec::new(),
            walks: 0,
        };
        let is_inside = |it: &Name| reaches(reach_of(scope), &base, it);
        assert!(apart.iter().all(is_inside));
        left_out += apart.len();
        let inside = |it: &&Name| is_inside(it) && !apart.contains(it);
        // Entries change from round to round: other facts hold of each.
        for round in 0..6 {
            let world = of_seed(seed + SETS * (round % 3));
            for name in names.iter().filter(inside) {
                let entry = Entry {
                    world: &world,
                    name: name.clone(),
                };
                let context = || format!("seed {seed}: {name} in {base}\n{}", print(&rules));
                let seen = numbered.seen(&entry);
                let discloses =
                    subject.decide(&entry, Question::about(Object::Entry), Right::Disclose);
                assert_eq!(seen.discloses, discloses.allowed, "{}", context());
                for (right, held) in [(Right::Read, &seen.read), (Right::Search, &seen.search)] {
                    let plain = subject.objects_of(&entry, right);
                    let differs = |it: &&Object| held.contains(**it) != plain.contains(**it);
                    let of_entries = |it: &&Object| {
                        matches!(it, Object::Entry | Object::Attribute(_)) && differs(it)
                    };
                    let wrong = objects.iter().find(of_entries);
                    assert_eq!(wrong, None, "{right}: {}", context());
                }
                let (object, right) = (dice.one(&objects), dice.one(&Right::ALL));
                assert_eq!(
                    numbered.outlook.decide(&entry, object, right),
                    subject.decide(&entry, Question::about(object), right),
                    "{right} to {object:?}: {}",
                    context()
                );
                asked += 1;
            }
        }
        walks += numbered.walks;
        assert!(!numbered.outlook.is_uniform() || numbered.walks <= 1);
    }
    assert!(walks * 3 < asked, "{walks} walks for {asked} entries");
    assert!(left_out > 5, "{left_out} entries were left out");
}

/// A rule about one entry, or one subtree, is no question about the entries beside it.
#[test]
fn entries_beside_targets_are_not_asked_about_them() {
    let schema = Schema::standard();
    let mut text = String::new();
    for n in 0..50 {
        text += &format!(
            "rule part-{n}\non subtree \"ou=part{n},dc=example\"\nlet users write\n\
             rule team-{n}\non pattern \"cn=*,ou=team{n},dc=example\"\nlet users write\n"
        );
    }
    text += "rule rest\non everything\nlet users read\n";
    let rules = crate::access::parse::parse(&text).unwrap().rules;
    let set = RuleSet::compile(&schema, &Secrets::of(&schema, &[]), &rules).unwrap();
    let world = World {
        schema: &schema,
        secrets: &Secrets::of(&schema, &[]),
        seed: 1,
    };
    let subject = set.of_subject(asker(&mut Dice(1), &schema), &world);
    let base = schema.resolve_name("dc=example").unwrap();
    let (outlook, apart) = subject.outlook_below(base.clone());
    assert!(outlook.is_uniform());
    assert_eq!(apart.len(), 50);
    assert!(apart.iter().all(|it| it.parent().as_ref() == Some(&base)));
}

/// Rules judged for a subject are as good as judged anew while their facts are the same.
#[test]
fn a_subject_whose_facts_hold_still_has_the_same_rights() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let objects = objects(&schema);
    let (mut held, mut changed) = (0, 0);
    for seed in 0..SETS {
        let dice = &mut Dice(seed);
        let rules = rules(dice, 4);
        let set = RuleSet::compile(&schema, &secrets, &rules).unwrap();
        let asker = asker(dice, &schema);
        let worlds = [seed, seed + SETS].map(|seed| World {
            schema: &schema,
            secrets: &secrets,
            seed,
        });
        let subjects = [0, 1].map(|at| set.of_subject(asker.clone(), &worlds[at]));
        assert!(subjects[0].still_hold(&worlds[0]));
        if !subjects[0].still_hold(&worlds[1]) {
            changed += 1;
            continue;
        }
        held += usize::from(subjects[0].questions() > 0);
        for name in ENTRIES {
            let entry = Entry {
                world: &worlds[1],
                name: schema.resolve_name(name).unwrap(),
            };
            for object in &objects {
                let question = Question::about(*object);
                let rights = [0, 1].map(|at| subjects[at].rights(&entry, question));
                assert_eq!(rights[0], rights[1], "seed {seed}: {object:?} of {name}");
            }
        }
    }
    assert!(held > 20 && changed > 100, "{held} held, {changed} changed");
}

/// Facts that many rules share are asked for once, and what no answer turns not at all.
#[test]
fn entries_are_asked_for_what_tells_them_apart() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let text = "\
rule a
on everything where (objectClass=person)
for homePhone
let self read
let anyone none
rule b
on everything where (objectClass=person)
for mobile
let self read
let anyone none
rule c
on everything where (objectClass=device)
for mail
let anyone read
rule d
on everything
let anyone read";
    let rules = crate::access::parse::parse(text).unwrap().rules;
    let set = RuleSet::compile(&schema, &secrets, &rules).unwrap();
    let world = World {
        schema: &schema,
        secrets: &secrets,
        seed: 1,
    };
    let base = schema.resolve_name("ou=People,dc=example").unwrap();
    let name = schema.resolve_name("uid=ada,ou=People,dc=example").unwrap();
    let asker = crate::access::facts::Asker {
        acting: crate::access::facts::Identity::Entry(name.clone()),
        ..asker(&mut Dice(1), &schema)
    };
    let subject = set.of_subject(asker, &world);
    let outlook = subject.region(base, Scope::SingleLevel).outlook();
    let entry = Entry {
        world: &world,
        name,
    };
    let Found::Walked(_, Some(trail)) = outlook.seen(&entry) else {
        panic!("nothing is known yet");
    };
    let mut expected = Trail::default();
    let matches = entry.matches(rules_filter(&set));
    expected.push(Fact::Target(0), matches);
    if matches != Truth::False {
        expected.push(Fact::Subject(0, 0), Truth::True);
    }
    assert_eq!(trail, expected);
    assert!(!outlook.is_uniform());
}

fn rules_filter(set: &RuleSet) -> &schema::Filter {
    set.inner.rules[0].filter.as_ref().expect("it has one")
}
