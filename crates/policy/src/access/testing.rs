//! Random rules for tests: every construct of the language, over few names so that they meet.

use std::sync::LazyLock;

use crate::access::compile::without_idle;
use crate::access::right::{Right, RightWord};
use crate::access::rules::{
    About, Clause, Grant, Item, Reach, Rule, Target, Then, Things, ValueWord, Who,
};
use crate::access::words::{Use, Way};
use crate::secrets::Secrets;
use schema::Schema;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::standard);
static SECRETS: LazyLock<Secrets> = LazyLock::new(|| Secrets::of(&SCHEMA, &[]));

/// Entries of the small directory that random rules are about.
pub(crate) const ENTRIES: [&str; 9] = [
    "dc=example",
    "ou=People,dc=example",
    "uid=ada,ou=People,dc=example",
    "uid=bob,ou=People,dc=example",
    "cn=phone,uid=ada,ou=People,dc=example",
    "ou=Groups,dc=example",
    "cn=staff,ou=Groups,dc=example",
    "cn=config",
    "",
];

/// Attributes that random rules name.
pub(crate) const ATTRIBUTES: [&str; 8] = [
    "cn",
    "sn",
    "name",
    "mail",
    "member",
    "userPassword",
    "createTimestamp",
    "description",
];

/// A source of random numbers that follows from its seed (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((it ^ (it >> 31)) % end as u64) as usize
    }

    /// Returns true once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns one of the choices.
    pub(crate) fn one<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn some<T>(&mut self, most: usize, mut make: impl FnMut(&mut Dice) -> T) -> Vec<T> {
        (0..=self.below(most)).map(|_| make(self)).collect()
    }
}

/// Returns up to `most` random rules that compile under the standard schema.
pub(crate) fn rules(dice: &mut Dice, most: usize) -> Vec<Rule> {
    let mut rules = dice.some(most, rule);
    for (number, rule) in rules.iter_mut().enumerate() {
        rule.name = format!("r{number}");
        if matches!(rule.about, About::Uses(_) | About::EveryUse) {
            let rights = rule.clauses.iter_mut().flat_map(|it| &mut it.rights);
            rights.for_each(|it| it.items.clear());
        }
        without_idle(&SCHEMA, &SECRETS, std::slice::from_mut(rule));
        rule.clauses.retain(|it| !is_misplaced_none(it));
        if rule.clauses.is_empty() {
            rule.clauses.push(Clause {
                denies: false,
                subject: Who::Anyone,
                rights: vec![Grant::NONE],
                then: Then::Stop,
            });
        }
    }
    rules
}

/// Returns whether a clause has `none` where it has no effect.
fn is_misplaced_none(clause: &Clause) -> bool {
    let none = clause.rights.iter().any(|it| it.right == RightWord::None);
    none && (clause.rights != [Grant::NONE]
        || clause.denies
        || !matches!(clause.then, Then::Stop | Then::NextRule))
}

fn rule(dice: &mut Dice) -> Rule {
    // Captures need a pattern as the only target.
    let captures = dice.once_in(6);
    let targets = match captures {
        true => vec![Target::Pattern("uid=*,ou=People,dc=example".to_owned())],
        false => dice.some(3, target),
    };
    Rule {
        name: String::new(),
        within: None,
        targets,
        filter: dice.once_in(5).then(|| filter(dice)),
        about: about(dice),
        clauses: dice.some(4, |dice| clause(dice, captures)),
    }
}

fn filter(dice: &mut Dice) -> String {
    let filters = [
        "(cn=a)",
        "(&(sn=b)(!(mail=*)))",
        "(description=quote \\22 and # and \")",
    ];
    dice.one(&filters).to_owned()
}

fn target(dice: &mut Dice) -> Target {
    match dice.below(6) {
        0 | 1 => Target::Everything,
        2 => Target::Pattern(
            dice.one(&["**,dc=example", "cn=*", "uid=a*,ou=*,dc=example"])
                .to_owned(),
        ),
        _ => Target::Below {
            reach: dice.one(&Reach::ALL),
            dn: dice.one(&ENTRIES).to_owned(),
        },
    }
}

fn about(dice: &mut Dice) -> About {
    match dice.below(8) {
        0..=3 => About::Usual,
        4 => About::Uses(dice.some(2, |dice| dice.one(&Use::ALL))),
        5 => About::EveryUse,
        _ => About::Items(dice.some(4, item)),
    }
}

fn item(dice: &mut Dice) -> Item {
    match dice.below(6) {
        0 => Item::Not(things(dice)),
        1 => Item::Values {
            attribute: "member".to_owned(),
            value: match dice.once_in(2) {
                true => ValueWord::Own,
                false => ValueWord::Equal("UID=Bob, ou=People, dc=example".to_owned()),
            },
        },
        _ => Item::Only(things(dice)),
    }
}

fn things(dice: &mut Dice) -> Things {
    match dice.below(10) {
        0 => Things::All,
        1 => Things::User,
        2 => Things::Operational,
        3 => Things::Secrets,
        4 => Things::Entry,
        5 => Things::Children,
        6 => Things::Class(dice.one(&["person", "groupOfNames"]).to_owned()),
        _ => Things::Attribute(dice.one(&ATTRIBUTES).to_owned()),
    }
}

fn clause(dice: &mut Dice, captures: bool) -> Clause {
    Clause {
        denies: dice.once_in(4),
        subject: who(dice, captures, 3),
        rights: dice.some(3, grant),
        then: dice.one(&[
            Then::Stop,
            Then::Stop,
            Then::Continue,
            Then::NextRule,
            Then::Gather,
        ]),
    }
}

fn grant(dice: &mut Dice) -> Grant {
    let mut words: Vec<RightWord> = RightWord::all().collect();
    let wide = [
        RightWord::Everything,
        RightWord::Write,
        RightWord::One(Right::Manage),
    ];
    words.extend(wide.iter().cycle().take(20));
    Grant {
        only: dice.once_in(4),
        right: dice.one(&words),
        items: match dice.once_in(5) {
            true => dice.some(2, item),
            false => Vec::new(),
        },
    }
}

/// Returns a random condition, with others in it down to `depth_max` levels.
pub(crate) fn who(dice: &mut Dice, captures: bool, depth_max: u8) -> Who {
    let dn = |dice: &mut Dice| dice.one(&ENTRIES[..8]).to_owned();
    let kinds = if depth_max == 0 { 15 } else { 19 };
    if dice.once_in(5) {
        return Who::Anyone;
    }
    match dice.below(kinds) {
        0 => Who::Anyone,
        1 => Who::Anonymous,
        2 => Who::Users,
        3 => Who::Administrator,
        4 | 5 => Who::Own,
        6 => Who::Below {
            reach: dice.one(&Reach::ALL),
            dn: dn(dice),
        },
        7 if captures => Who::Pattern("uid=$1,ou=*,dc=example".to_owned()),
        7 => Who::Pattern("uid=*,ou=People,dc=example".to_owned()),
        8 => Who::Group {
            dn: dn(dice),
            by: dice.once_in(2).then(|| "member".to_owned()),
        },
        9 => Who::Named("manager".to_owned()),
        10 => Who::NamedAbove("owner".to_owned()),
        11 => Who::Having(filter(dice)),
        12 => Who::From("10.0.0.0/8".parse().unwrap()),
        13 => dice.one(&[
            Who::FromLocal,
            Who::At("Mon-Fri 08:00-18:00".parse().unwrap()),
        ]),
        14 => Who::Via(dice.one(&Way::ALL)),
        15 => Who::Real(Box::new(who(dice, captures, depth_max - 1))),
        16 => Who::Not(Box::new(who(dice, captures, depth_max - 1))),
        17 => Who::All(parts(dice, captures, depth_max - 1)),
        _ => Who::Any(parts(dice, captures, depth_max - 1)),
    }
}

fn parts(dice: &mut Dice, captures: bool, depth_max: u8) -> Vec<Who> {
    let mut parts = dice.some(2, |dice| who(dice, captures, depth_max));
    parts.push(who(dice, captures, depth_max));
    parts
}
