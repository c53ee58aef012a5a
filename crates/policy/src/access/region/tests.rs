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
use schema::Schema;

/// Random rule sets of the test.
const SETS: u64 = 1500;

const SCOPES: [Scope; 4] = [
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
        let region = subject.region(&base, scope);
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
        subject.region(&base, scope).all_but(Right::Read)
    };
    let secret = secrets.types().to_vec();
    assert_eq!(
        hidden("ou=Groups,dc=example", Scope::WholeSubtree),
        Some(secret.clone())
    );
    assert_eq!(hidden("dc=example", Scope::SingleLevel), None);
    assert_eq!(hidden("ou=People,dc=example", Scope::WholeSubtree), None);
    let base = schema.resolve_name("ou=Groups,dc=example").unwrap();
    let region = subject.region(&base, Scope::WholeSubtree);
    assert_eq!(region.open_rules(), [2]);
    let mail = Object::Attribute(schema.attribute_type("mail").unwrap());
    let held = subject
        .region(&ada, Scope::BaseObject)
        .held(Right::AddValue);
    assert!(
        held.always.contains(mail),
        "one's own entry is a region of its own"
    );
    let password = Object::Attribute(schema.attribute_type("userPassword").unwrap());
    assert!(held.always.contains(password));
}
