//! A plain model of access rules for tests: the semantics written down directly, which looks at
//! every rule as text for each single decision, and tries every way in which undefined facts could
//! turn out.

mod names;

use schema::{Name, Schema, Truth, TypeId};

use crate::access::facts::{Asker, EntryFacts, Group, Identity, Origin, SubjectFacts};
use crate::access::objects::Object;
use crate::access::right::Right;
use crate::access::rules::{About, Clause, Item, Rule, Target, Then, Things, ValueWord, Who};
use crate::access::words::Use;
use crate::secrets::Secrets;
use names::{fits, within};

/// The facts of a random world: every answer follows from the seed, and is asked about by text.
pub(crate) struct World<'w> {
    pub(crate) schema: &'w Schema,
    pub(crate) secrets: &'w Secrets,
    pub(crate) seed: u64,
}

impl World<'_> {
    fn answer(&self, question: &str) -> Truth {
        let digest = blake3::hash(format!("{} {question}", self.seed).as_bytes());
        match digest.as_bytes()[0] % 8 {
            0..=2 => Truth::True,
            3..=6 => Truth::False,
            _ => Truth::Undefined,
        }
    }

    fn name(&self, dn: &str) -> Name {
        self.schema.resolve_name(dn).unwrap()
    }

    fn group(&self, subject: &Name, group: &Name, by: Option<TypeId>) -> Truth {
        self.answer(&format!("{subject} in {group} by {by:?}"))
    }

    fn filter(&self, name: &Name, filter: &schema::Filter) -> Truth {
        self.answer(&format!("{name} matches {filter:?}"))
    }

    fn resolve(&self, filter: &str) -> schema::Filter {
        let octets = protocol::parse_filter(filter).unwrap();
        let mut reader = protocol::ber::Reader::new(&octets);
        let filter = protocol::Filter::decode(&mut reader, 32).unwrap();
        self.schema.resolve_filter(&filter)
    }

    fn attribute(&self, name: &str) -> TypeId {
        self.schema.attribute_type(name).unwrap()
    }
}

impl SubjectFacts for World<'_> {
    fn matches(&self, subject: &Name, filter: &schema::Filter) -> Truth {
        self.filter(subject, filter)
    }

    fn is_member(&self, subject: &Name, group: &Group) -> Truth {
        self.group(subject, &group.name, group.by)
    }
}

/// An entry of a random world.
pub(crate) struct Entry<'w> {
    pub(crate) world: &'w World<'w>,
    pub(crate) name: Name,
}

impl EntryFacts for Entry<'_> {
    fn name(&self) -> &Name {
        &self.name
    }

    fn matches(&self, filter: &schema::Filter) -> Truth {
        self.world.filter(&self.name, filter)
    }

    fn names(&self, attribute: TypeId, subject: &Name) -> Truth {
        let (name, world) = (&self.name, self.world);
        world.answer(&format!("{subject} is {attribute:?} of {name}"))
    }

    fn superior_names(&self, attribute: TypeId, subject: &Name) -> Truth {
        let (name, world) = (&self.name, self.world);
        world.answer(&format!("{subject} is {attribute:?} above {name}"))
    }
}

/// One question, asked of rules as they are spelled.
pub(crate) struct Model<'m> {
    pub(crate) world: &'m World<'m>,
    pub(crate) asker: &'m Asker,
    pub(crate) entry: &'m Entry<'m>,
    pub(crate) object: Object,
    pub(crate) value: Option<&'m [u8]>,
    pub(crate) right: Right,
}

/// What one way of turning out has led to.
#[derive(Clone, Copy, Default)]
struct So {
    granted: bool,
    denied: bool,
}

impl Model<'_> {
    /// Returns whether the right is given, whatever the undefined facts are.
    pub(crate) fn allowed(&self, rules: &[Rule]) -> bool {
        self.rules(rules, So::default())
    }

    fn rules(&self, rules: &[Rule], so: So) -> bool {
        let Some((rule, rest)) = rules.split_first() else {
            return so.granted && !so.denied;
        };
        let matches = both(self.about(&rule.about), self.target(rule));
        let inside = || self.clauses(rule, &rule.clauses, rest, so);
        let past = || self.rules(rest, so);
        match matches {
            Truth::True => inside(),
            Truth::False => past(),
            Truth::Undefined => inside() && past(),
        }
    }

    fn clauses(&self, rule: &Rule, clauses: &[Clause], rest: &[Rule], so: So) -> bool {
        let Some((clause, below)) = clauses.split_first() else {
            return match rule.clauses.iter().any(|it| it.then == Then::Gather) {
                true => self.rules(rest, so),
                false => so.granted && !so.denied,
            };
        };
        let past = || self.clauses(rule, below, rest, so);
        let taken = |effect: bool| {
            let mut so = so;
            match (effect, clause.denies, clause.then) {
                (false, _, _) => (),
                (true, false, _) => so.granted = true,
                (true, true, Then::Gather) => so.denied = true,
                (true, true, _) => so.granted = false,
            }
            match clause.then {
                Then::Stop => so.granted && !so.denied,
                Then::NextRule => self.rules(rest, so),
                Then::Continue | Then::Gather => self.clauses(rule, below, rest, so),
            }
        };
        let inside = || match self.effect(clause) {
            Truth::True => taken(true),
            Truth::False => taken(false),
            Truth::Undefined => taken(true) && taken(false),
        };
        match self.who(&clause.subject, &self.asker.acting) {
            Truth::True => inside(),
            Truth::False => past(),
            Truth::Undefined => inside() && past(),
        }
    }

    fn effect(&self, clause: &Clause) -> Truth {
        let all = clause.rights.iter().map(|grant| {
            let changes = [Right::AddValue, Right::DeleteValue];
            let rights = match clause.denies || grant.only {
                true => grant.right.exactly(),
                false => grant.right.with_lower(),
            };
            let own = clause.denies
                && self.right == Right::SelfValue
                && changes.iter().any(|it| rights.contains(*it));
            let on = match grant.items.is_empty() {
                true => Truth::True,
                false => self.items(&grant.items),
            };
            both((own || rights.contains(self.right)).into(), on)
        });
        all.fold(Truth::False, either)
    }

    fn about(&self, about: &About) -> Truth {
        match about {
            About::Usual => {
                let open = |it| !self.world.secrets.contains(it);
                match self.object {
                    Object::Attribute(id) => open(id).into(),
                    Object::Use(_) => Truth::False,
                    Object::Entry | Object::Children => Truth::True,
                }
            }
            About::Items(items) => self.items(items),
            About::Uses(uses) => uses.iter().any(|it| self.object == Object::Use(*it)).into(),
            About::EveryUse => Use::ALL
                .iter()
                .any(|it| self.object == Object::Use(*it))
                .into(),
        }
    }

    fn items(&self, items: &[Item]) -> Truth {
        let mut meant = Truth::False;
        if items.iter().all(|it| matches!(it, Item::Not(_))) {
            meant = self.things(&Things::All);
        }
        for item in items {
            let more = match item {
                Item::Not(_) => Truth::False,
                Item::Only(things) => self.things(things),
                Item::Values { attribute, value } => {
                    let attribute = Things::Attribute(attribute.clone());
                    both(self.things(&attribute), self.value(value))
                }
            };
            meant = either(meant, more);
        }
        for item in items {
            if let Item::Not(things) = item
                && self.things(things) == Truth::True
            {
                return Truth::False;
            }
        }
        meant
    }

    fn things(&self, things: &Things) -> Truth {
        let world = self.world;
        let Object::Attribute(id) = self.object else {
            let entry = self.object == Object::Entry && *things == Things::Entry;
            let children = self.object == Object::Children && *things == Things::Children;
            return (entry || children).into();
        };
        let secret = world.secrets.contains(id);
        let operational = world.schema.type_of(id).operational();
        let named = |by: TypeId| {
            let meant = !secret || world.secrets.contains(by);
            world.schema.is_subtype(id, by) && meant
        };
        let meant = match things {
            Things::Attribute(name) => named(world.attribute(name)),
            Things::Class(name) => {
                let class = world.schema.object_class(name).unwrap();
                let class = world.schema.class_of(class);
                let mut of = class.all_must.iter().chain(&class.all_may);
                of.any(|it| named(*it) && !world.secrets.contains(*it))
            }
            Things::All => !secret,
            Things::User => !secret && !operational,
            Things::Operational => !secret && operational,
            Things::Secrets => secret,
            Things::Entry | Things::Children => false,
        };
        meant.into()
    }

    /// Values of `member` alone are told apart.
    fn value(&self, word: &ValueWord) -> Truth {
        let Some(given) = self.value else {
            return Truth::Undefined;
        };
        let resolve = |it: &str| self.world.schema.resolve_name(it).ok();
        let given = std::str::from_utf8(given).ok().and_then(resolve);
        // What is no name may stand for any.
        let Some(given) = given else {
            return match (word, &self.asker.acting) {
                (ValueWord::Own, Identity::Anonymous) => Truth::False,
                _ => Truth::Undefined,
            };
        };
        match (word, &self.asker.acting) {
            (ValueWord::Equal(value), _) => (Some(given) == resolve(value)).into(),
            (ValueWord::Own, Identity::Unknown) => Truth::Undefined,
            (ValueWord::Own, acting) => (Some(&given) == acting.name()).into(),
        }
    }

    fn target(&self, rule: &Rule) -> Truth {
        let name = &self.entry.name;
        let matches = rule.targets.iter().any(|target| match target {
            Target::Everything => true,
            Target::Below { reach, dn } => within(*reach, &self.world.name(dn), name),
            Target::Pattern(pattern) => fits(pattern, &name.to_string(), ""),
        });
        let filter = rule.filter.as_deref();
        let filter = filter.map(|it| self.entry.matches(&self.world.resolve(it)));
        both(matches.into(), filter.unwrap_or(Truth::True))
    }

    fn who(&self, who: &Who, identity: &Identity) -> Truth {
        let world = self.world;
        let name = identity.name();
        let unknown = *identity == Identity::Unknown;
        let named = |test: &dyn Fn(&Name) -> Truth| match name {
            _ if unknown => Truth::Undefined,
            Some(name) => test(name),
            None => Truth::False,
        };
        match who {
            Who::Anyone => Truth::True,
            Who::Anonymous if unknown => Truth::Undefined,
            Who::Anonymous => name.is_none().into(),
            Who::Users => named(&|_| Truth::True),
            Who::Administrator => named(&|_| matches!(identity, Identity::Administrator(_)).into()),
            Who::Own => named(&|it| (it == &self.entry.name).into()),
            Who::Below { reach, dn } => named(&|it| within(*reach, &world.name(dn), it).into()),
            Who::Pattern(pattern) => named(&|it| {
                let own = self.entry.name.to_string();
                let captured = own.strip_prefix("uid=").and_then(|it| it.split(',').next());
                fits(pattern, &it.to_string(), captured.unwrap_or("")).into()
            }),
            Who::Group { dn, by } => {
                let by = by.as_deref().map(|it| world.attribute(it));
                named(&|it| world.group(it, &world.name(dn), by))
            }
            Who::Named(attribute) => named(&|it| self.entry.names(world.attribute(attribute), it)),
            Who::NamedAbove(attribute) => {
                named(&|it| self.entry.superior_names(world.attribute(attribute), it))
            }
            Who::Having(filter) => named(&|it| world.filter(it, &world.resolve(filter))),
            Who::From(network) => match self.asker.origin {
                Origin::Address(address) => network.contains(address).into(),
                Origin::Socket => Truth::False,
                Origin::Unknown => Truth::Undefined,
            },
            Who::FromLocal => match self.asker.origin {
                Origin::Address(address) => address.to_canonical().is_loopback().into(),
                Origin::Socket => Truth::True,
                Origin::Unknown => Truth::Undefined,
            },
            Who::Via(way) => self.asker.ways.truth(*way),
            Who::At(hours) => match self.asker.minute {
                Some(minute) => hours.contains(minute).into(),
                None => Truth::Undefined,
            },
            Who::Real(inner) => self.who(inner, &self.asker.real),
            Who::Not(inner) => match self.who(inner, identity) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Undefined => Truth::Undefined,
            },
            Who::All(parts) => {
                let parts = parts.iter().map(|it| self.who(it, identity));
                parts.fold(Truth::True, both)
            }
            Who::Any(parts) => {
                let parts = parts.iter().map(|it| self.who(it, identity));
                parts.fold(Truth::False, either)
            }
        }
    }
}

fn both(one: Truth, other: Truth) -> Truth {
    match (one, other) {
        (Truth::False, _) | (_, Truth::False) => Truth::False,
        (Truth::True, Truth::True) => Truth::True,
        _ => Truth::Undefined,
    }
}

fn either(one: Truth, other: Truth) -> Truth {
    match (one, other) {
        (Truth::True, _) | (_, Truth::True) => Truth::True,
        (Truth::False, Truth::False) => Truth::False,
        _ => Truth::Undefined,
    }
}
