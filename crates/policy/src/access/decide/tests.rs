//! Compiled decisions against the plain model on random rules, and each kind of clause by itself.

use super::*;
use crate::access::facts::{Identity, Origin};
use crate::access::hours::WeekMinute;
use crate::access::model::{Entry, Model, World};
use crate::access::print::print;
use crate::access::rules::Rule;
use crate::access::testing::{ATTRIBUTES, Dice, ENTRIES, rules};
use crate::access::words::{Use, Way, Ways};
use crate::secrets::Secrets;
use schema::Schema;

/// Random rule sets of the test against the model.
const SETS: u64 = 3000;
/// Random questions to each of them.
const QUESTIONS: usize = 40;

/// Returns a random asker.
pub(crate) fn asker(dice: &mut Dice, schema: &Schema) -> Asker {
    let identity = |dice: &mut Dice| {
        let name = schema.resolve_name(dice.one(&ENTRIES[2..8])).unwrap();
        match dice.below(8) {
            0 => Identity::Anonymous,
            1 => Identity::Administrator(name),
            2 => Identity::Unknown,
            _ => Identity::Entry(name),
        }
    };
    let acting = identity(dice);
    let at = |text: &str| Origin::Address(text.parse().unwrap());
    let origins = [
        Origin::Socket,
        Origin::Unknown,
        at("10.1.2.3"),
        at("::ffff:127.0.0.1"),
    ];
    let ways = Ways::of(&[dice.one(&Way::ALL), dice.one(&Way::ALL)]);
    Asker {
        real: if dice.once_in(3) {
            identity(dice)
        } else {
            acting.clone()
        },
        acting,
        origin: dice.one(&origins),
        ways: match dice.once_in(4) {
            true => ways.unsure_of(&[dice.one(&Way::ALL)]),
            false => ways,
        },
        minute: (!dice.once_in(8)).then(|| WeekMinute::at(dice.below(10_080) as i64 * 60)),
    }
}

/// Returns the objects that random questions are about.
pub(crate) fn objects(schema: &Schema) -> Vec<Object> {
    let types = ATTRIBUTES
        .iter()
        .map(|it| schema.attribute_type(it).unwrap());
    let uses = [Use::Sync, Use::Sort].map(Object::Use);
    let parts = [Object::Entry, Object::Children];
    types
        .map(Object::Attribute)
        .chain(parts)
        .chain(uses)
        .collect()
}

/// Random rules in a random world, with a random asker.
struct Trial<'t> {
    seed: u64,
    rules: &'t [Rule],
    subject: &'t SubjectRules,
    world: &'t World<'t>,
    objects: &'t [Object],
}

impl Trial<'_> {
    /// Asks one random question of the compiled rules and of the model; returns whether the right
    /// is given.
    fn ask(&self, dice: &mut Dice) -> bool {
        let (schema, asker, world) = (self.world.schema, self.subject.asker(), self.world);
        let name = schema.resolve_name(dice.one(&ENTRIES)).unwrap();
        let entry = &Entry { world, name };
        let object = dice.one(self.objects);
        let own = asker.acting.name().map(|it| it.to_string().into_bytes());
        let values = [
            None,
            Some(b"uid=bob,ou=people,dc=example".to_vec()),
            Some(b"no name".to_vec()),
            own.clone(),
        ];
        let value = dice.one(&values);
        let member = Object::Attribute(schema.attribute_type("member").unwrap());
        let value = value.as_deref().filter(|_| object == member);
        let right = dice.one(&Right::ALL);
        let model = |right| {
            let model = Model {
                world,
                asker,
                entry,
                object,
                value,
                right,
            };
            model.allowed(self.rules)
        };
        let changes = matches!(right, Right::AddValue | Right::DeleteValue);
        let is_own = value.is_some() && value == own.as_deref();
        let expected = model(right) || (changes && is_own && model(Right::SelfValue));
        let question = Question { object, value };
        let found = self.subject.decide(entry, question, right).allowed;
        let all = self.subject.rights(entry, question).contains(right);
        assert_eq!(
            [found, all],
            [expected, model(right)],
            "seed {}: {right} to {object:?} {value:?} of {} by {asker:?}\n{}",
            self.seed,
            entry.name,
            print(self.rules)
        );
        expected
    }
}

#[test]
fn compiled_rules_decide_like_the_model() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let mut allowed = 0;
    for seed in 0..SETS {
        let dice = &mut Dice(seed);
        let rules = rules(dice, 4);
        let set = RuleSet::compile(&schema, &secrets, &rules);
        let set = set.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let world = World {
            schema: &schema,
            secrets: &secrets,
            seed,
        };
        let trial = Trial {
            seed,
            rules: &rules,
            subject: &set.of_subject(asker(dice, &schema), &world),
            world: &world,
            objects: &objects(&schema),
        };
        allowed += (0..QUESTIONS).filter(|_| trial.ask(dice)).count();
    }
    // The random questions must not all have the same answer.
    let all = SETS as usize * QUESTIONS;
    assert!(
        (all / 10..all * 9 / 10).contains(&allowed),
        "{allowed} of {all}"
    );
}
