//! What holds in a region holds in each of its entries, on random rules.

use super::*;
use crate::access::compile::RuleSet;
use crate::access::decide::Question;
use crate::access::decide::tests::{asker, objects};
use crate::access::model::{Entry, World};
use crate::access::parse::parse;
use crate::access::print::print;
use crate::access::testing::{Dice, ENTRIES, rules};
use crate::secrets::Secrets;
use schema::{Schema, TypeId};

/// Random rule sets of the test.
const SETS: u64 = 1500;

pub(in crate::access) const SCOPES: [Scope; 4] = [
    Scope::BaseObject,
    Scope::SingleLevel,
    Scope::WholeSubtree,
    Scope::Subordinate,
];

#[test]
fn regions_agree_with_their_entries() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let objects = objects(&schema);
    let names = ENTRIES.map(|it| schema.resolve_name(it).unwrap());
    let (mut known, mut asked) = (0, 0);
    for seed in 0..SETS {
        let dice = &mut Dice(seed);
        let rules = rules(dice, 4);
        let set = RuleSet::compile(&schema, &secrets, &rules).unwrap();
        let world = World {
            schema: &schema,
            secrets: &secrets,
            seed,
        };
        let subject = set.of_subject(asker(dice, &schema), &world);
        let (base, scope) = (dice.one(&names), dice.one(&SCOPES));
        let region = subject.region(base.clone(), scope);
        let part = (dice.one(&names), dice.one(&SCOPES));
        check_part(&region, &part.0, part.1, &names);
        let right = dice.one(&Right::ALL);
        let held = region.held(right);
        for name in names.iter().filter(|it| reaches(region.reach, &base, it)) {
            let entry = Entry {
                world: &world,
                name: name.clone(),
            };
            for object in &objects {
                let member = schema.attribute_type("member").unwrap();
                let value = (*object == Object::Attribute(member) && dice.once_in(2))
                    .then_some(&b"uid=bob,ou=People,dc=example"[..]);
                let question = Question {
                    object: *object,
                    value,
                };
                let given = subject.rights(&entry, question).contains(right);
                asked += 1;
                if held.sometimes.contains(*object) {
                    continue;
                }
                known += 1;
                assert_eq!(
                    given,
                    held.always.contains(*object),
                    "seed {seed}: {right} to {object:?} {value:?} of {name} in {scope:?} of \
                     {base}\n{}",
                    print(&rules)
                );
            }
        }
    }
    assert!(known * 2 > asked, "{known} of {asked} known");
}

/// What is known of a part of a region is what is known of it by itself, or more.
fn check_part(region: &Region, base: &Name, scope: Scope, names: &[Name]) {
    let reach = area::reach_of(scope);
    let in_part = |it: &&Name| reaches(reach, base, it);
    let covered = region.covers(base, scope);
    let in_region = |it: &Name| reaches(region.reach, &region.base, it);
    assert!(!covered || names.iter().filter(in_part).all(in_region));
    let part = region.held_in(base, scope);
    assert_eq!(part.is_some(), covered);
    let Some(part) = part else { return };
    let alone = region.rules().region(base.clone(), scope);
    let right = Right::Read;
    assert_eq!(part.held(right), alone.held(right), "{base} {scope:?}");
}

#[test]
fn a_part_of_a_region_is_covered_by_it() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let set = RuleSet::compile(&schema, &secrets, &[]).unwrap();
    let world = World {
        schema: &schema,
        secrets: &secrets,
        seed: 1,
    };
    let subject = set.of_subject(asker(&mut Dice(1), &schema), &world);
    let name = |dn: &str| schema.resolve_name(dn).unwrap();
    let region = subject.region(name("dc=example"), Scope::Subordinate);
    assert!(region.covers(&name("ou=a,dc=example"), Scope::WholeSubtree));
    assert!(region.covers(&name("dc=example"), Scope::SingleLevel));
    assert!(!region.covers(&name("dc=example"), Scope::WholeSubtree));
    assert!(!region.covers(&name("dc=other"), Scope::BaseObject));
    assert!(region.held_in(&name(""), Scope::WholeSubtree).is_none());
}

/// A type that the rules do not know, as it was added later, is hidden.
#[test]
fn three_answers_tell_what_is_shown() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let text = "\
rule hidden
on subtree \"dc=hidden\"
let anyone none

rule some
on subtree \"dc=some\"
let manager read
let anyone none

rule rest
on everything
let anyone read
";
    let set = RuleSet::compile(&schema, &secrets, &parse(text).unwrap().rules).unwrap();
    let world = World {
        schema: &schema,
        secrets: &secrets,
        seed: 1,
    };
    let mut asker = asker(&mut Dice(1), &schema);
    asker.acting = crate::access::facts::Identity::Entry(Name::root());
    let subject = set.with_generation(7).of_subject(asker, &world);
    let shown = |dn: &str| {
        let region = subject.region(schema.resolve_name(dn).unwrap(), Scope::WholeSubtree);
        region.shown(Right::Read)
    };
    assert_eq!(shown("dc=hidden"), Shown::Nothing);
    assert_eq!(shown("dc=some"), Shown::Ask);
    assert_eq!(shown(""), Shown::Ask);
    let Shown::All { but } = shown("dc=example") else {
        panic!("everything is shown there");
    };
    assert_eq!((but.types(), but.generation()), (secrets.types(), 7));
    let cn = schema.attribute_type("cn").unwrap();
    assert!(!but.contains(cn) && but.contains(secrets.types()[0]));
    assert!(but.contains(TypeId(u16::MAX)));
}

#[test]
fn a_uniform_region_is_told_by_what_it_hides() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let text = "\
rule mine
on subtree \"ou=People,dc=example\"
for userPassword, mail
let self write
let anyone none

rule secrets
on everything
for secrets
let anyone none

rule rest
on everything where (objectClass=person)
let users write
let anyone none then next rule

rule others
on everything
let anyone read
";
    let set = RuleSet::compile(&schema, &secrets, &parse(text).unwrap().rules).unwrap();
    let world = World {
        schema: &schema,
        secrets: &secrets,
        seed: 1,
    };
    let mut asker = asker(&mut Dice(1), &schema);
    let ada = schema.resolve_name("uid=ada,ou=People,dc=example").unwrap();
    asker.acting = crate::access::facts::Identity::Entry(ada.clone());
    let subject = set.of_subject(asker, &world);
    let hidden = |base: &str, scope| {
        let base = schema.resolve_name(base).unwrap();
        match subject.region(base, scope).shown(Right::Read) {
            Shown::All { but } => Some(but.types().to_vec()),
            Shown::Nothing => Some(Vec::new()),
            Shown::Ask => None,
        }
    };
    let secret = secrets.types().to_vec();
    assert_eq!(
        hidden("ou=Groups,dc=example", Scope::WholeSubtree),
        Some(secret.clone())
    );
    assert_eq!(hidden("dc=example", Scope::SingleLevel), None);
    assert_eq!(hidden("ou=People,dc=example", Scope::WholeSubtree), None);
    let base = schema.resolve_name("ou=Groups,dc=example").unwrap();
    let region = subject.region(base, Scope::WholeSubtree);
    assert_eq!(region.open_rules(), [2]);
    let mail = Object::Attribute(schema.attribute_type("mail").unwrap());
    let held = subject.region(ada, Scope::BaseObject).held(Right::AddValue);
    assert!(
        held.always.contains(mail),
        "one's own entry is a region of its own"
    );
    let password = Object::Attribute(schema.attribute_type("userPassword").unwrap());
    assert!(held.always.contains(password));
}
